//! The settings of a cluster that is asked about: its plugstack.conf.

use std::fs;

use crate::plan_json::{plan, rule_and_site};
use serde_json::Value;

/// The plan's rules where the cluster's plugstack.conf has these words behind task_berth.so.
fn with_settings(words: &str, requested: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slurm.conf");
    let conf = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK\n\
                TaskPlugin=task/cgroup,task/berth\nPlugStackConfig=other.conf\n\
                NodeName=n[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n\
                PartitionName=main Nodes=ALL Default=YES\n";
    fs::write(&path, conf).unwrap();
    let line = format!("include *.d/*\noptional other.so\noptional task_berth.so {words}\n");
    fs::write(folder.path().join("other.conf"), line).unwrap();
    let before = [
        "--slurm=22.05",
        "--cluster",
        path.to_str().unwrap(),
        "-n2",
        "-c2",
    ];
    let plan = plan(&[&before[..], requested].concat(), &[]);
    (rule_and_site(&plan).1, plan)
}

#[test]
fn a_cluster_s_plugstack_conf_has_its_settings() {
    let site = |words: &str, requested: &[&str]| with_settings(words, requested).0;
    let affinity = site("compat=affinity fixes=+third-level", &[]);
    assert!(
        affinity.contains("compat=affinity fixes=+third-level"),
        "{affinity}"
    );
    assert!(
        affinity.contains("CR_CORE_DEFAULT_DIST_BLOCK"),
        "{affinity}"
    );
    assert!(site("binding_default=linear:1", &[]).contains("binding_default=linear:1"));
    let (_, plan) = with_settings(
        "binding_default=linear:1 nodes=n2 binding=off",
        &["-w", "n1"],
    );
    assert_eq!(rule_and_site(&plan).0, "binding:linear:1");
    assert_eq!(plan["assumed"][0]["by"], "found");
    let source = plan["assumed"][0]["source"].as_str().unwrap();
    assert!(source.ends_with("other.conf"), "{source}");
    let (_, plan) = with_settings(
        "binding_default=linear:1 nodes=n2 binding=off",
        &["-w", "n2"],
    );
    assert!(!rule_and_site(&plan).0.contains("binding"), "{plan}");
    // Nodes with other settings are named, and words that cannot be read too.
    let (_, plan) = with_settings("compat=affinity nodes=n2 compat=berth", &["-N2"]);
    assert!(
        plan["notes"]
            .to_string()
            .contains("other settings for n2 than for n1"),
        "{plan}"
    );
    let (site, plan) = with_settings("compat=affinty", &[]);
    assert!(site.contains("compat=affinity"), "{site}");
    assert!(
        plan["notes"].to_string().contains("compat=affinty"),
        "{plan}"
    );
}

#[test]
fn a_cluster_s_settings_decide_about_cpusets() {
    let chosen = |words: &str| {
        let (_, plan) = with_settings(words, &["--cpuset=MAX_RADIUS=2"]);
        plan["cpusets"].to_string()
    };
    assert!(chosen("").contains("best_fit"), "{}", chosen(""));
    assert!(chosen("cpuset_best=off").contains("first_fit"));
    // The job does not own these CPUs.
    let others = ["--cpuset=CPU_LIST=12-15"];
    let (_, plan) = with_settings("cpuset_fail=unbound", &others);
    assert!(rule_and_site(&plan).0.contains("cpuset"), "{plan}");
}
