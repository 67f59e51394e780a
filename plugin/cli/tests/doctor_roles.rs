//! `berth doctor` judges what berth is in slurmd: a task plugin without its line in plugstack.conf has not the masks
//! that the administrator expects.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The verdict about plugstack.conf and its text, where slurmd has announced these roles.
fn spank_plugin(state: &Path, is_task_plugin: bool, is_spank_plugin: bool) -> (String, String) {
    let words = json!({
        "berth": env!("CARGO_PKG_VERSION"), "command_line": ["slurmd"], "slurm": "24.11.5",
        "is_task_plugin": is_task_plugin, "is_spank_plugin": is_spank_plugin,
    });
    let node = state.join("n1");
    fs::create_dir_all(&node).unwrap();
    fs::write(node.join("slurmd.json"), words.to_string()).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["doctor", "--format=json", "--state-dir"])
        .arg(state)
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["what"] == "SPANK plugin");
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
