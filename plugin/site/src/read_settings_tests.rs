//! The settings of whole plugstack.conf lines, readable and not.

use std::path::{Path, PathBuf};

use berth_placement::{CpusetFail, Fixes, SiteConfine};

use crate::facts_text::hold;
use crate::read_settings::{self, Complaint};
use crate::settings::{Notes, Quarantine, Settings};

fn read(words: &str) -> (Settings, Vec<Complaint>) {
    let words: Vec<_> = words.split(' ').filter(|word| !word.is_empty()).collect();
    read_settings::read(&words, |list| match list {
        "" | "bad[" => Err("the list cannot be read".into()),
        list => Ok(list == "here"),
    })
}

#[test]
fn every_key_is_read() {
    let (settings, complaints) = read(
        "compat=affinity binding=off binding_default=linear:2 binding_fail=refuse notes=log \
         command=/opt/bin/berth state_dir=/var/lib/berth strict=on \
         shadow=on counters=off cpusets=/etc/slurm/cpusets.conf cpuset_best=off \
         cpuset_fail=unbound confine=task,force quarantine=extern",
    );
    assert_eq!(complaints, []);
    assert_eq!(settings.fixes, Fixes::NONE);
    assert!(!settings.binding && settings.refuse_failed_binding && settings.strict);
    assert!(settings.shadow && !settings.counters);
    assert_eq!(
        settings.binding_default.map(|binding| binding.to_string()),
        Some("linear:2".into())
    );
    assert_eq!(settings.notes, Notes::Log);
    let file = settings.cpusets.as_deref();
    assert_eq!(file, Some(Path::new("/etc/slurm/cpusets.conf")));
    assert!(!settings.cpuset_best && settings.cpuset_fail == CpusetFail::Unbound);
    assert_eq!(settings.confine, SiteConfine::Force);
    assert_eq!(settings.quarantine, Quarantine::Extern);
    assert_eq!(settings.state_dir, PathBuf::from("/var/lib/berth"));
    assert_eq!(read("").0, Settings::default());
}

#[test]
fn what_cannot_be_read_is_cautious_and_loud() {
    hold(include_str!("read_settings_tests.txt"), |_, question| {
        let (words, as_if) = question.split_once(" as ").unwrap();
        let (settings, complaints) = read(words);
        let as_if = as_if.trim_start_matches("nothing");
        assert_eq!(settings, read(as_if).0, "{words}");
        let [complaint] = complaints.as_slice() else {
            panic!("{words}: {complaints:?}");
        };
        match complaint.is_unknown_key {
            true => format!("unknown key: {}", complaint.text),
            false => complaint.text.clone(),
        }
    });
}

#[test]
fn fixes_hold_wherever_compat_stands() {
    let one = Fixes::NONE.with(berth_placement::Fix::ThirdLevel, true);
    for words in [
        "compat=affinity fixes=+third-level",
        "fixes=+third-level compat=affinity",
    ] {
        assert_eq!(read(words).0.fixes, one, "{words}");
    }
}

#[test]
fn keys_behind_nodes_hold_there_only() {
    let elsewhere = "strict=on nodes=there binding=off compat=afinity nodes=all notes=off";
    let (settings, complaints) = read(elsewhere);
    assert!(settings.strict && settings.binding);
    assert_eq!((settings.notes, settings.fixes), (Notes::Off, Fixes::ALL));
    assert_eq!(complaints, []);
}
