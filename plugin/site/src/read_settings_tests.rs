//! The settings of whole plugstack.conf lines, readable and not.

use std::path::{Path, PathBuf};

use berth_placement::{CpusetFail, Fixes, SiteConfine};

use crate::read_settings::{self, Complaint};
use crate::settings::{Notes, Quarantine, Settings};

fn read(words: &str) -> (Settings, Vec<Complaint>) {
    let words: Vec<_> = words.split(' ').filter(|word| !word.is_empty()).collect();
    read_settings::read(&words, |list| match list {
        "bad[" => Err("the list cannot be read".into()),
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
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_cannot_be_read_is_cautious_and_loud() {
    let same = "";
    //   the line, the same settings as, what the complaint says is allowed and in force
    for (words, as_if, says, force) in [
        (
            "confine=task confine=force",
            same,
            "one of off, task, task,force",
            "confine=off is",
        ),
        (
            "quarantine=on quarantine=yes",
            same,
            "one of off, on, extern",
            "quarantine=off is",
        ),
        (
            "compat=afinity",
            "compat=affinity",
            "one of berth, affinity",
            "compat=affinity is",
        ),
        (
            "compat=afinity compat=berth",
            "compat=affinity",
            "afinity",
            "compat=affinity is",
        ),
        (
            "compat=",
            "compat=affinity",
            "one of berth, affinity",
            "compat=affinity is",
        ),
        (
            "compat",
            "compat=affinity",
            "one of berth, affinity",
            "compat=affinity is",
        ),
        (
            "compta=berth",
            "compat=affinity",
            "nearest is compat",
            "compat=affinity is",
        ),
        (
            "COMPAT=affinity",
            "compat=affinity",
            "no such key",
            "compat=affinity is",
        ),
        (
            "affinity",
            "compat=affinity",
            "no such key",
            "compat=affinity is",
        ),
        (
            "compat=bert fixes=+third-level",
            "compat=affinity fixes=+third-level",
            "one of berth, affinity",
            "compat=affinity fixes=+third-level is",
        ),
        (
            "binding=none",
            "binding=off",
            "one of on, off",
            "binding=off is",
        ),
        ("strict=yes", "strict=on", "one of off, on", "strict=on is"),
        (
            "binding_default=linear:2 binding_default=linear:x",
            same,
            "expected",
            "no binding_default is",
        ),
        (
            "binding_default=striding:2:0",
            same,
            "(1 to 65536)",
            "no binding_default is",
        ),
        (
            "binding_fail=refuse binding_fail=fail",
            same,
            "unbound, refuse",
            "binding_fail=unbound is",
        ),
        ("shadow=yes", same, "one of off, on", "shadow=off is"),
        (
            "notes=log notes=loud",
            "notes=log",
            "user, log, off",
            "notes=log is",
        ),
        (
            "state_dir=run",
            same,
            "absolute path",
            "state_dir=/run/berth is",
        ),
        ("command=berth", same, "absolute path", "no command is"),
        ("counters=no", same, "one of on, off", "counters=on is"),
        (
            "cpusets=/a cpusets=cpusets.conf",
            same,
            "absolute path",
            "no cpusets is",
        ),
        (
            "cpuset_best=off cpuset_best=no",
            same,
            "one of on, off",
            "cpuset_best=on is",
        ),
        (
            "cpuset_fail=unbound cpuset_fail=wait:300",
            same,
            "refuse or unbound; no step waits",
            "cpuset_fail=refuse is",
        ),
        ("fixes=+no-such", same, "smt-neighbours", "compat=berth is"),
        (
            "compat=affinity fixes=+no-such,+third-level",
            "compat=affinity fixes=+third-level",
            "+no-such",
            "compat=affinity fixes=+third-level is",
        ),
        (
            "stat_dir=/x",
            same,
            "nearest is state_dir",
            "berth ignores this word",
        ),
        (
            "frobnicate=1",
            same,
            "the keys are compat",
            "berth ignores this word",
        ),
    ] {
        let (settings, complaints) = read(words);
        assert_eq!(settings, read(as_if).0, "{words}");
        let [complaint] = complaints.as_slice() else {
            panic!("{words}: {complaints:?}");
        };
        let text = &complaint.text;
        assert!(
            text.contains(says) && text.contains(force),
            "{words}: {text}"
        );
        assert_eq!(
            complaint.is_unknown_key,
            force.contains("ignores"),
            "{words}"
        );
    }
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
    let elsewhere = "strict=on nodes=there binding=off compat=afinity nodes=here notes=off";
    let (settings, complaints) = read(elsewhere);
    assert!(settings.strict && settings.binding);
    assert_eq!((settings.notes, settings.fixes), (Notes::Off, Fixes::ALL));
    assert_eq!(complaints, []);
}

#[test]
fn a_wrong_node_list_drops_nothing_in_silence() {
    for (words, as_if, says) in [
        (
            "nodes=bad[ binding=off notes=log nodes=here strict=on",
            "strict=on",
            "apply on no node: binding=off notes=log; correct the list",
        ),
        (
            "nodes=bad[ compat=berth",
            "compat=affinity",
            "apply on no node: compat=berth; compat=affinity is in force",
        ),
        (
            "nodes=bad[ compta=affinity",
            "compat=affinity",
            "compat=affinity is in force",
        ),
        ("strict=on nodes=bad[", "strict=on", "no word follows it"),
    ] {
        let (settings, complaints) = read(words);
        assert_eq!(settings, read(as_if).0, "{words}");
        assert_eq!(complaints.len(), 1, "{words}");
        let text = &complaints[0].text;
        assert!(
            text.starts_with("plugstack.conf: nodes=bad[: the list cannot"),
            "{text}"
        );
        assert!(text.contains(says), "{text}");
    }
}
