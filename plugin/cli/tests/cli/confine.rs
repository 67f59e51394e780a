//! `berth plan --confine` and the cluster's `confine=`: whether the tasks of a plan can leave their CPUs.

use crate::plan_json::plan;
use std::fs;

use serde_json::Value;

/// The plan on a cluster whose plugstack.conf has these words behind task_berth.so.
fn on_cluster(settings: &str, requested: &[&str], variables: &[(&str, &str)]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slurm.conf");
    let conf = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nTaskPlugin=task/berth\n\
                PlugStackConfig=plugstack.conf\nPartitionName=main Nodes=ALL Default=YES\n\
                NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n";
    fs::write(&path, conf).unwrap();
    let line = format!("optional task_berth.so {settings}\n");
    fs::write(folder.path().join("plugstack.conf"), line).unwrap();
    let cluster = [
        "--slurm=24.11",
        "--explain",
        "--cluster",
        path.to_str().unwrap(),
    ];
    plan(&[&cluster[..], requested].concat(), variables)
}

/// Whether the plan of these words under these settings is confined, and says so, with such a note or none.
#[track_caller]
fn decides(site: &str, requested: &[&str], (is_confined, note): (bool, &str)) {
    let plan = on_cluster(site, requested, &[]);
    let case = format!("{site} {requested:?}: {plan:#}");
    assert_eq!(plan["confined"] == true, is_confined, "{case}");
    assert_eq!(plan.get("confined").is_some(), is_confined, "{case}");
    let explained = plan["explanation"].to_string();
    assert_eq!(
        explained.contains("cannot leave them"),
        is_confined,
        "{case}"
    );
    let notes = plan["notes"].to_string();
    let has = notes.contains("onfine");
    assert_eq!(has, !note.is_empty(), "{case}");
    assert!(notes.contains(note), "{case}");
    let says_site = plan["assumed"].to_string().contains("confine=task");
    assert_eq!(says_site, site.contains("confine=task"), "{case}");
}

#[test]
fn the_step_decides_unless_the_site_forces() {
    let whole = ["-n1", "-c16", "--cpu-bind=none"];
    //   confine=, options: confined, words of the notes
    for (site, requested, is_confined, note) in [
        ("", &["-n2"][..], false, ""),
        ("", &["-n2", "--confine=task"], true, ""),
        ("", &["-n2", "--berth-confine=task"], true, ""),
        ("confine=task", &["-n2"], true, ""),
        ("confine=task", &["-n2", "--confine=off"], false, ""),
        ("confine=task", &["-n2", "--binding=linear:1"], true, ""),
        ("compat=affinity confine=task", &["-n2"], true, ""),
        (
            "confine=task,force",
            &["-n2", "--confine=off"],
            true,
            "confines every bound task",
        ),
        (
            "confine=task binding=off",
            &["-n2", "--confine=off"],
            true,
            "",
        ),
        ("confine=task", &whole, false, ""),
        (
            "",
            &[whole.as_slice(), &["--confine=task"]].concat(),
            false,
            "confines nothing",
        ),
        (
            "confine=tsak",
            &["-n2"],
            false,
            "one of off, task, task,force; confine=off is in force",
        ),
    ] {
        decides(site, requested, (is_confined, note));
    }
}
