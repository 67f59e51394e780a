//! `berth plan` under rules of the site: what slurmd and Slurm's cgroups leave of a machine.

use std::process::Command;

struct Done {
    stdout: String,
    stderr: String,
}

/// Options in one text, without blanks inside them.
fn plan(options: &str) -> Done {
    let output = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("plan")
        .args(options.split_whitespace())
        .output()
        .expect("berth starts");
    Done {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// One sibling of sixteen CPUs is offline, so slurmd counts one thread of each core.
#[test]
fn constrained_steps_keep_to_what_slurmd_counts() {
    let line = "--machine ../../tests/topologies/sibling-offline.xml --format cpus -n 4 -c 2 \
                --cpu-bind=cores";
    let free = plan(line);
    assert_eq!(free.stdout, "0-1\n8-9\n2-3\n10-11\n", "{}", free.stderr);
    let constrained = plan(&format!("{line} --constrain-cores"));
    assert_eq!(constrained.stdout, "0,2\n8,10\n4,6\n12,14\n");
    let affinity = |more| plan(&format!("{line} --compat affinity{more}")).stdout;
    assert_eq!(affinity(""), affinity(" --constrain-cores"));
}

#[test]
fn efficiency_cores_are_left_out_as_by_slurmd() {
    let line = "--machine ../../tests/topologies/hybrid-2x6.xml --cores all --format cpus --cpu-bind=cores";
    for (slurm, cores, left_out) in [
        ("22.05", "0-1,2-3,4,5,6,7", false),
        ("23.02", "0-1,2-3,8-9,10-11", true),
        ("26.05", "0-1,2-3,8-9,10-11", true),
    ] {
        let tasks = cores.split(',').count();
        let done = plan(&format!("{line} --slurm {slurm} -m block:block -n {tasks}"));
        assert_eq!(done.stdout.trim().replace('\n', ","), cores, "{slurm}");
        let is_noted = done.stderr.contains("efficiency cores (CPUs 4-7,12-15)");
        assert_eq!(is_noted, left_out, "{slurm}: {}", done.stderr);
    }
    // What is left are the performance cores, although the kinds cannot be told apart any more.
    let kind = |kind: &str| plan(&format!("{line} -m block:block -n 4 --core-kind={kind}"));
    assert_eq!(kind("performance").stdout, "0-1\n2-3\n8-9\n10-11\n");
    let refused = kind("efficiency");
    assert!(
        refused.stderr.contains("no such cores that Slurm knows"),
        "{}",
        refused.stderr
    );
    let all = plan(&format!("{line} --allow-ecores -m block:block -n 12"));
    assert_eq!(all.stdout.lines().count(), 12);
    assert!(!all.stderr.contains("efficiency"), "{}", all.stderr);
}

/// `--cluster FILE` has both rules from its slurm.conf and the cgroup.conf beside that.
#[test]
fn the_files_of_a_cluster_say_both() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("slurm.conf");
    let write = |settings: &str, cgroup: &str| {
        let shape = match settings.contains("ecores") {
            true => "CoresPerSocket=6 ThreadsPerCore=1",
            false => "CoresPerSocket=4 ThreadsPerCore=1",
        };
        let text = format!(
            "{settings}\nNodeName=n1 Sockets=2 {shape}\nPartitionName=main Nodes=n1 Default=YES\n"
        );
        std::fs::write(&conf, text).unwrap();
        std::fs::write(folder.path().join("cgroup.conf"), cgroup).unwrap();
    };
    let cluster = format!("--cluster {} --cores all --format cpus", conf.display());
    let siblings = format!(
        "--machine ../../tests/topologies/sibling-offline.xml {cluster} -n 4 -c 2 --cpu-bind=cores"
    );
    write("TaskPlugin=task/cgroup,task/berth", "ConstrainCores=yes\n");
    let done = plan(&siblings);
    assert_eq!(done.stdout, "0,2\n8,10\n4,6\n12,14\n", "{}", done.stderr);
    write("TaskPlugin=task/berth", "ConstrainCores=yes\n");
    assert_eq!(plan(&siblings).stdout, "0-1\n8-9\n2-3\n10-11\n");
    write("TaskPlugin=task/cgroup,task/berth", "ConstrainCores=no\n");
    assert_eq!(plan(&siblings).stdout, "0-1\n8-9\n2-3\n10-11\n");
    let hybrid = format!(
        "--machine ../../tests/topologies/hybrid-2x6.xml {cluster} -n 12 -m block:block --cpu-bind=cores"
    );
    write("TaskPlugin=task/berth\nSlurmdParameters=allow_ecores", "");
    let all = plan(&hybrid);
    assert_eq!(all.stdout.lines().count(), 12, "{}", all.stderr);
    assert!(!all.stderr.contains("efficiency"), "{}", all.stderr);
}

/// The sockets of a `--cluster` are what its slurmds call so.
#[test]
fn the_files_of_a_cluster_say_what_a_socket_is() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("slurm.conf");
    let of = |settings: &str, node: &str| {
        let shape = "Sockets=4 CoresPerSocket=3 ThreadsPerCore=2";
        let text = format!(
            "TaskPlugin=task/berth\n{settings}\nNodeName=n1 {shape} {node}\nPartitionName=main Nodes=n1 Default=YES\n"
        );
        std::fs::write(&conf, text).unwrap();
        let machine = "--machine ../../tests/topologies/l3-groups.xml";
        let line = format!("{machine} --cluster {} -n 4", conf.display());
        plan(&format!("{line} --cpu-bind=sockets")).stdout
    };
    let of_cluster = of("SlurmdParameters=l3cache_as_socket", "");
    assert!(
        of_cluster.contains("l3-groups.xml (S:C:T 4:3:2)"),
        "{of_cluster}"
    );
    assert!(of_cluster.contains("socket=l3"), "{of_cluster}");
    assert_eq!(of("", "Parameters=l3cache_as_socket"), of_cluster);
    // Then the machine is another than the nodes.
    let other = of("", "");
    assert!(other.contains("CPUs numbered in blocks"), "{other}");
}
