//! `berth doctor` judges what slurmd has announced: a task plugin without its line in plugstack.conf has not the masks
//! that the administrator expects, and a slurmd that counts has written its counters when it started.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::run::berth;
use serde_json::{Value, json};

/// The verdict about plugstack.conf and its text, where slurmd has announced these roles.
fn spank_plugin(state: &Path, is_task_plugin: bool, is_spank_plugin: bool) -> (String, String) {
    let words = json!({ "is_task_plugin": is_task_plugin, "is_spank_plugin": is_spank_plugin });
    judged(state, "SPANK plugin", words)
}

/// The verdict of a check and its text, where slurmd has announced these words among others.
fn judged(state: &Path, what: &str, mut words: Value) -> (String, String) {
    words["berth"] = json!(env!("CARGO_PKG_VERSION"));
    words["command_line"] = json!(["slurmd"]);
    words["slurm"] = json!("24.11.5");
    for role in ["is_task_plugin", "is_spank_plugin"] {
        if words[role].is_null() {
            words[role] = json!(true);
        }
    }
    let node = state.join("n1");
    fs::create_dir_all(&node).unwrap();
    fs::write(node.join("slurmd.json"), words.to_string()).unwrap();
    let state = state.to_str().unwrap();
    let done = berth(&["doctor", "--format=json", "--state-dir", state], "");
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["what"] == what);
    let check = check.unwrap_or_else(|| panic!("{checks:#?}"));
    let text = |name: &str| check[name].as_str().unwrap().to_owned();
    (text("verdict"), text("text"))
}

#[test]
fn a_task_plugin_without_its_line_in_plugstack_conf_is_wrong() {
    let state = tempfile::tempdir().unwrap();
    if fs::metadata(state.path()).unwrap().uid() != 0 {
        // Only a file of root's is read.
        return;
    }
    let (verdict, text) = spank_plugin(state.path(), true, false);
    assert_eq!(verdict, "wrong", "{text}");
    assert!(text.contains("compat=berth is in force"), "{text}");
    assert_eq!(spank_plugin(state.path(), true, true).0, "ok");
    // Another plugin binds there.
    assert_eq!(spank_plugin(state.path(), false, false).0, "note");
}

#[test]
fn counters_that_slurmd_could_not_write_are_a_note() {
    let state = tempfile::tempdir().unwrap();
    if fs::metadata(state.path()).unwrap().uid() != 0 {
        // Only a file of root's is read.
        return;
    }
    let of = |settings: &str| judged(state.path(), "counters", json!({ "settings": settings }));
    let (verdict, text) = of("compat=affinity");
    assert_eq!(verdict, "note", "{text}");
    assert!(text.contains("slurmd's log"), "{text}");
    let (verdict, text) = of("compat=affinity counters=off");
    assert_eq!((verdict.as_str(), text.as_str()), ("ok", "counters=off"));
}
