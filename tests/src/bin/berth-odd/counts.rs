//! How slurmd, slurmctld and berth count this machine, printed.

use std::process::Command;

use berth_tests::{Cluster, command};

/// Words of a log that tell how the machine was counted.
const TELLING: [&str; 9] = [
    "CPUs:",
    "CPUs=",
    "not multiple",
    "berth: ready",
    "berth: hwloc",
    "counts",
    "efficiency cores",
    "no step's cgroup",
    "Thread count",
];

/// Whether slurmd's log and `berth doctor` name the CPUs that slurmd leaves out.
pub fn tell_ecores(cluster: &Cluster) -> bool {
    let doctor = Command::new(command())
        .args(["doctor", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output();
    let doctor = doctor.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let told = "leaves out the efficiency cores (CPUs";
    cluster.slurmd_log().contains(told) && doctor.is_ok_and(|text| text.contains(told))
}

/// The node's words for slurm.conf, as slurmctld has it.
pub fn shape(cluster: &Cluster) -> String {
    let shown = cluster.scontrol(&["-o", "show", "node"]).stdout;
    let wanted = ["Sockets=", "CoresPerSocket=", "ThreadsPerCore="];
    let words = shown
        .split(' ')
        .filter(|word| wanted.iter().any(|key| word.starts_with(key)));
    words.collect::<Vec<_>>().join(" ")
}

/// Prints the counts.
pub fn show(cluster: &Cluster) {
    let conf = std::fs::read_to_string(cluster.folder().join("etc/slurm.conf")).unwrap_or_default();
    for line in conf.lines().filter(|line| line.starts_with("NodeName=")) {
        println!("slurm.conf: {line}");
    }
    let shown = cluster.scontrol(&["-o", "show", "node"]).stdout;
    let wanted = [
        "CPUTot=",
        "CPUEfctv=",
        "Sockets=",
        "CoresPerSocket=",
        "ThreadsPerCore=",
    ];
    let words = shown
        .split(' ')
        .filter(|word| wanted.iter().any(|key| word.starts_with(key)));
    println!("slurmctld: {}", words.collect::<Vec<_>>().join(" "));
    cluster.srun(&["true"]);
    for (name, log) in [
        ("slurmd", cluster.slurmd_log()),
        ("slurmctld", cluster.slurmctld_log()),
    ] {
        let telling = |line: &&str| TELLING.iter().any(|word| line.contains(word));
        for line in log.lines().filter(telling) {
            println!("{name}: {line}");
        }
    }
    let topo = Command::new(command())
        .args(["topo", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output();
    let topo = topo.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    for line in topo.unwrap_or_default().lines().take(8) {
        println!("berth topo: {line}");
    }
}
