//! `shadow=on` on a real cluster: what was applied stays, what would differ is logged.

use std::process::Command;

use berth_tests::Cluster;

fn cluster(settings: &str) -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let builder = Cluster::builder().plugstack(Some(settings));
    Some(builder.set("SlurmdDebug=verbose").up())
}

/// The text behind `name=` up to the next blank, or to the closing quote.
fn field<'a>(line: &'a str, name: &str, end: char) -> &'a str {
    let (_, rest) = line.split_once(name).unwrap_or_else(|| panic!("{line}"));
    rest.split(end).next().unwrap_or_default()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn a_difference_is_logged_and_changes_nothing() {
    let wrapped = ["-n2", "--cpu-bind=map_ldom:0,9"];
    let Some(plain) = cluster("compat=affinity") else {
        return;
    };
    let masks = plain.task_masks(&wrapped);
    drop(plain);
    let Some(cluster) = cluster("compat=affinity shadow=on") else {
        return;
    };
    assert_eq!(cluster.task_masks(&wrapped), masks);
    cluster
        .srun(&["-n2", "--cpu-bind=cores", "true"])
        .expect_ok();

    let log = cluster.slurmd_log();
    assert!(
        log.contains("berth: shadow: step=2.0 same slurmd="),
        "{log}"
    );
    let differs: Vec<_> = log
        .lines()
        .filter(|line| line.contains(" differs "))
        .collect();
    let [line] = differs[..] else { panic!("{log}") };
    assert!(
        line.contains("berth: shadow: step=1.0 differs slurmd=")
            && line.contains(" fixes=missing-ldom "),
        "{line}"
    );
    assert_eq!(field(line, " other=", ' '), "refused");

    let plan = field(line, "plan=\"", '"').replacen(
        "berth",
        &berth_tests::command().display().to_string(),
        1,
    );
    let run = |compat: &str| {
        let text = format!("{plan} {compat} --format masks");
        Command::new("bash")
            .args(["-c", &text])
            .output()
            .expect("bash")
    };
    let other = run("");
    assert!(!other.status.success(), "{other:?}");
    let applied = run("--compat affinity");
    let said = String::from_utf8_lossy(&applied.stdout);
    assert!(
        applied.status.success() && said.trim() == field(line, " applied=", ' '),
        "{applied:?} {line}"
    );

    let file = cluster.folder().join("shadow.log");
    std::fs::write(&file, &log).expect("a copy of the log");
    let mut sum = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/shadow-sum"));
    let sum = sum.arg(&file).output().expect("shadow-sum");
    let said = String::from_utf8_lossy(&sum.stdout);
    assert!(
        said.starts_with("2 steps, 1 difference\nmissing-ldom 1\n"),
        "{sum:?}"
    );

    cluster.restart_slurmd();
    let log = cluster.slurmd_log();
    for count in ["1 steps, 1 differ", "2 steps, 1 differ"] {
        let says = format!("berth: shadow: {count} slurmd=");
        assert!(log.contains(&says), "{says}: {log}");
    }
    // A count that was logged after a step is not logged again at the end.
    cluster.srun(&["-n2", "true"]).expect_ok();
    cluster.restart_slurmd();
    let log = cluster.slurmd_log();
    assert_eq!(log.matches("berth: shadow: 1 steps, ").count(), 2, "{log}");
}
