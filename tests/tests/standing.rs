//! `berth plan` knows where it runs: on a node with berth it follows the rules that slurmd announced,
//! inside a job it plans on the job's own cores, and what it says beforehand is what slurmd's launch
//! hook writes. The machine is pretended, so that it is the same everywhere.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use berth_tests::{Cluster, Done, command};
use serde_json::Value;

const MACHINE: &str = "pack:2 core:4 pu:2";
/// Somebody who is nobody in particular.
const USER: u32 = 65534;
/// Prints the masks of a step's launch message.
const MASKS: &str = "-l /bin/sh -c 'echo masks $SLURM_CPU_BIND_LIST'";

fn cluster(arguments: &str) -> Cluster {
    let cluster = Cluster::builder()
        .plugstack(Some(arguments))
        .env("HWLOC_SYNTHETIC", MACHINE)
        .set("TaskPluginParam=autobind=threads")
        .up();
    // Other users must find its files.
    fs::set_permissions(cluster.folder(), Permissions::from_mode(0o755)).unwrap();
    cluster
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// The facts of a kind: value, how it is known, source.
fn facts(plan: &Value, what: &str) -> Vec<[String; 3]> {
    let facts = plan["assumed"].as_array().unwrap().iter();
    let of_kind = facts.filter(|fact| fact["what"] == what);
    let text = |fact: &Value, name: &str| fact[name].as_str().unwrap_or_default().to_string();
    of_kind
        .map(|fact| ["value", "by", "source"].map(|name| text(fact, name)))
        .collect()
}

#[test]
fn the_sites_rules_hold_on_its_node_for_every_user() {
    let cluster = cluster("compat=affinity fixes=+third-level");
    // The tree may lie where nobody else comes to.
    let own = cluster.folder().join("berth");
    fs::copy(command(), &own).unwrap();
    for user in [0, USER] {
        let mut ask = cluster.program(own.to_str().unwrap());
        ask.args(["plan", "-n3", "--format=json"])
            .uid(user)
            .gid(user);
        let plan = json(&Done::from(ask.output().unwrap()).expect_ok());
        let [value, by, source] = &facts(&plan, "site")[0];
        assert_eq!(
            value,
            "compat=affinity fixes=+third-level, Slurm 22.05, autobind=threads"
        );
        assert_eq!(by, "found");
        assert!(source.starts_with("slurmd of "), "{source}");
        assert_eq!(plan["machine"]["cores_per_socket"], 4);
    }
    // An option is stronger, and another machine is not this node.
    let says = |options: &[&str]| {
        let arguments = [&["plan", "-n3", "--format=json"], options].concat();
        json(
            &cluster
                .run(command().to_str().unwrap(), &arguments)
                .expect_ok(),
        )
    };
    let typed = says(&["--compat=berth", "--autobind=none"]);
    let words = facts(&typed, "site");
    assert_eq!(words[0][0], "compat=berth, autobind=none");
    assert_eq!(words[1][0], "Slurm 22.05");
    let elsewhere = says(&["--machine", MACHINE]);
    assert_eq!(facts(&elsewhere, "site")[0][1], "assumed");
    // Every command finds the state directory.
    let status = cluster.run(command().to_str().unwrap(), &["status"]);
    assert!(status.expect_ok().contains("8 cores"));
}

/// srun's options of jobs that share the node, and some that do not fit it.
const LINES: [&str; 18] = [
    "-n1",
    "-n3",
    "-n4 -c2",
    "-n2 -c3",
    "-n5",
    "-n4 --cpu-bind=cores",
    "-n3 --cpu-bind=threads -m block:block",
    "-n4 -m block:fcyclic --cpu-bind=threads",
    "-n6 --hint=nomultithread",
    "-n2 --hint=memory_bound",
    "-n4 --ntasks-per-socket=2",
    "-n4 --ntasks-per-core=1",
    "-B 2:2:1 -n4",
    "-n2 -c4 --exact --cpu-bind=sockets",
    "-n7 -c2 --cpu-bind=cores",
    "-n3 --binding=linear:1",
    "-n16",
    "-n2 --cpu-bind=map_cpu:0,1",
];

/// What the plan says before the line is submitted is what slurmd's launch hook writes.
#[test]
fn before_it_is_submitted_a_line_is_planned_as_it_will_run() {
    let cluster = cluster("");
    let berth = command().to_string_lossy().into_owned();
    for line in LINES {
        let whole = format!("srun -p main --mem=0 -t 5 {line} ./app > out");
        let asked = ["plan", "--format=json", whole.as_str()];
        let plan = json(&cluster.run(&berth, &asked).expect_ok());
        let script = format!("srun {line} {MASKS}");
        let printed = cluster.run("/bin/sh", &["-c", &script]).expect_ok();
        let masks = masks(&printed);
        let planned = plan["nodes"][0]["masks"].as_str();
        // Behind the kind stands what the task's environment has.
        let planned = planned.map(|text| text.strip_prefix("map_cpu:").unwrap_or(text));
        assert_eq!(planned, masks, "{line}: {plan}");
    }
    for line in [
        "srun -n17 true",
        "srun -B 4:1 true",
        "srun -p nowhere -n1 true",
    ] {
        let asked = cluster.run(&berth, &["plan", line]);
        assert_eq!(asked.code, Some(1), "{line}: {}", asked.stdout);
    }
}

/// The masks of a step's launch message, of its first task.
fn masks(printed: &str) -> Option<&str> {
    let mut lines = printed.lines();
    let masks = lines.find_map(|line| line.trim().strip_prefix("0: masks"));
    masks.map(str::trim).filter(|masks| !masks.is_empty())
}

/// The node's `CpuBind=` and the user's `BERTH_BINDING` count in a plan as in srun, outside of a job and
/// inside.
#[test]
fn the_node_s_and_the_user_s_defaults_hold() {
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("HWLOC_SYNTHETIC", MACHINE)
        .node("CpuBind=threads")
        .set("TaskPluginParam=sockets")
        .up();
    let berth = command().to_string_lossy().into_owned();
    let default = [("BERTH_BINDING", "linear:1")];
    for (line, variables, says) in [
        ("-n3", &[][..], "CpuBind=threads of the job's nodes"),
        (
            "-n3 --cpu-bind=cores",
            &[],
            "CpuBind=threads of the job's nodes",
        ),
        ("-n2 -c4", &default, "BERTH_BINDING=linear:1"),
        ("-n2 -c4 --binding=none", &default, "CpuBind=threads"),
        ("-n2 -c4 --binding=linear:2", &default, "CpuBind=threads"),
    ] {
        let asked: Vec<_> = ["plan", "--format=json"]
            .into_iter()
            .chain(line.split(' '))
            .collect();
        let plan = json(&cluster.run_with(&berth, &asked, variables).expect_ok());
        assert!(plan["assumed"].to_string().contains(says), "{line}: {plan}");
        let script = format!("srun {line} {MASKS}");
        let printed = cluster
            .run_with("/bin/sh", &["-c", &script], variables)
            .expect_ok();
        assert_eq!(
            plan["nodes"][0]["masks"].as_str(),
            masks(&printed),
            "{line}: {plan}"
        );
    }
    inside_a_job(&cluster, &berth);
}

/// An option of salloc goes before the user's default, and salloc's default does not.
fn inside_a_job(cluster: &Cluster, berth: &str) {
    for (job, rule) in [
        ("--binding=linear:2", "binding:linear:2"),
        ("-t5", "binding:linear:1"),
    ] {
        let inside =
            format!("export BERTH_BINDING=linear:1; {berth} plan --format json; srun {MASKS}");
        let words = ["-Q", "-n2", "-c4", job, "/bin/sh", "-c", &inside];
        let printed = cluster.run_with("salloc", &words, &[("BERTH_BINDING", "linear:3")]);
        let printed = printed.expect_ok();
        let (document, told) = printed.rsplit_once("\n}\n").unwrap();
        let plan = json(&format!("{document}}}"));
        assert_eq!(plan["rules"]["2"], rule, "{job}: {plan}");
        assert_eq!(
            plan["nodes"][0]["masks"].as_str(),
            masks(told),
            "{job}: {plan}"
        );
    }
}

#[test]
fn a_job_is_planned_on_its_own_cores() {
    let cluster = cluster("");
    let berth = command().to_string_lossy().into_owned();
    for (job, step) in [
        ("-n3 -c2", "-n3"),
        ("-n2 -c3", "-n2 --cpu-bind=threads"),
        ("-n4", "-n2 --cpu-bind=cores -m block:block"),
        ("-n5 -c2", "-n5 -c2"),
    ] {
        let script = format!("{berth} plan {step} --format json 2>&1; srun {step} {MASKS}");
        let mut words = vec!["-Q"];
        words.extend(job.split(' '));
        words.extend(["/bin/sh", "-c", &script]);
        let printed = cluster.run("salloc", &words).expect_ok();
        let (document, told) = printed.rsplit_once("\n}\n").unwrap();
        let plan = json(&format!("{document}}}"));
        let [value, by, source] = &facts(&plan, "allocation")[0];
        assert_eq!(by, "found", "{job}: {value} ({source})");
        assert!(source.contains("scontrol show job"), "{source}");
        let masks = masks(told);
        assert_eq!(plan["nodes"][0]["masks"].as_str(), masks, "{job}, {step}");
    }
    // A variable alone makes no job.
    let variables = [("SLURM_JOB_ID", "999999")];
    let asked = ["plan", "-n1", "--format=json"];
    let plan = json(&cluster.run_with(&berth, &asked, &variables).expect_ok());
    let [_, by, source] = &facts(&plan, "allocation")[0];
    assert_eq!(by, "assumed");
    assert!(
        source.contains("job 999999 does not show its cores"),
        "{source}"
    );
    // --step needs a cgroup that shows it.
    let refused = cluster.run(&berth, &["plan", "--step"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("no cgroup here"),
        "{}",
        refused.stderr
    );
}
