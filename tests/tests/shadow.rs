//! `shadow=on` on a real cluster: what is applied stays, the log says what would change, the
//! `berth plan` line in it shows that, and `ci/shadow-sum` adds it up.

use std::path::Path;
use std::process::Command;

use berth_tests::{Cluster, command};

fn shell(script: &str) -> String {
    let path = command().parent().unwrap().display().to_string();
    let output = Command::new("/bin/sh")
        .args(["-c", script])
        .env("PATH", format!("{path}:/usr/bin:/bin"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_other_behaviour_is_logged_and_not_applied() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return berth_tests::skip("needs two CPUs");
    }
    let machine = "pack:1 core:1 pu:2";
    let builder = Cluster::builder().env("HWLOC_SYNTHETIC", machine);
    let cluster = builder
        .set("SlurmdDebug=verbose")
        .plugstack(Some("compat=affinity shadow=on"))
        .up();
    let alike = ["-n2", "--cpu-bind=threads"];
    assert_eq!(cluster.task_masks(&alike), ["0x1", "0x2"]);
    let empty = ["-n2", "--cpu-bind=mask_cpu:0x1,0x0"];
    for _ in 0..2 {
        assert_eq!(
            cluster.task_masks(&empty),
            ["0x1", "0x3"],
            "as task/affinity"
        );
    }
    cluster.wait_idle();

    let log = cluster.slurmd_log();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("shadow: step="))
        .collect();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[0].ends_with(" same"), "{lines:#?}");
    let differs = " differs fixes=empty-mask applied=1,3 other=refused plan=\"berth plan -n 2";
    assert!(lines[1].contains(differs), "{lines:#?}");

    let (_, plan) = lines[1].split_once("plan=\"").unwrap();
    let plan = plan.trim_end_matches('"');
    let ask = format!("{plan} --machine '{machine}' --format masks");
    assert_eq!(shell(&format!("{ask} --compat affinity")), "1,3");
    assert_eq!(shell(&format!("{ask} || echo refused")), "refused");

    let sum = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/shadow-sum");
    let log = cluster.folder().join("log");
    let sum = shell(&format!("{} {}/slurmd-*.log", sum.display(), log.display()));
    let first: Vec<_> = sum.lines().take(3).map(str::trim).collect();
    assert_eq!(
        first,
        [
            "3 steps, 2 differences",
            "2 by empty-mask",
            "these would change:"
        ]
    );
    assert!(sum.contains("2 x berth plan -n 2"), "{sum}");
}
