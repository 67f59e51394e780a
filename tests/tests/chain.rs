//! The whole chain on machines we do not have: slurmd believes in a synthetic
//! topology, and what its launch hook wrote is what `berth plan` says for the same
//! request. Only telling the kernel is left out, for want of the CPUs.

use std::process::Command;

use berth_tests::{Cluster, command};

/// srun's options; `berth plan` takes the same.
const REQUESTS: [&str; 24] = [
    "-n4 --hint=compute_bound",
    "-n2 --hint=memory_bound",
    "-n4 --hint=multithread",
    "-n4 --hint=nomultithread",
    "-n2 --hint=nomultithread -c2",
    "-n4 --cpu-bind=threads -m block:block:cyclic",
    "-n8 --cpu-bind=cores -m block:block",
    "-n8 --cpu-bind=cores -m plane=2",
    "-n8",
    "-n4 -c2",
    "-n4 -c2 --cpu-bind=threads -m block:fcyclic",
    "-n3 --cpu-bind=sockets",
    "-n2 --cpu-bind=ldoms -m block:block",
    "-n2 --cpu-bind=threads",
    "-n4 --threads-per-core=1",
    "-n4 --ntasks-per-core=1",
    "-n4 --ntasks-per-socket=1",
    "-n4 --cpu-bind=map_cpu:3,1",
    "-n4 --cpu-bind=mask_cpu:0x3,0xc",
    "-n2 --cpu-bind=rank_ldom",
    "-n2 --cpu-bind=map_ldom:1",
    "-n2 --binding=linear:2",
    "-n3 --binding=linear:1 --threads-per-core=1",
    "-n2 --binding=host:linear:3",
];

/// The masks in the launch message, as the task finds them in its environment.
/// The job has the whole node; what of it the step gets is slurmctld's choice.
fn slurm(cluster: &Cluster, request: &str) -> String {
    let mut words = vec!["-Q", "--exclusive", "srun"];
    words.extend(request.split(' '));
    words.extend(["-l", "/bin/sh", "-c", "echo $SLURM_CPU_BIND_LIST"]);
    let printed = cluster.run("salloc", &words).expect_ok();
    let first = printed
        .lines()
        .find_map(|line| line.trim().strip_prefix("0: "));
    first.unwrap_or_default().to_string()
}

/// The cores that slurmctld gave the last step: they decide half of the answer.
fn cores_of_last_step(cluster: &Cluster) -> String {
    let log = cluster.slurmd_log();
    let line = log
        .lines()
        .rfind(|line| line.contains("berth: step="))
        .unwrap();
    let cores = line.split_once(" cores=").unwrap().1;
    cores.split(' ').next().unwrap().to_string()
}

fn plan(machine: &str, cores: &str, request: &str) -> String {
    let output = Command::new(command())
        .args([
            "plan",
            "--machine",
            machine,
            "--format",
            "masks",
            "--cores",
            cores,
        ])
        .args(request.split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "{machine}: {request}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.trim();
    // Behind the kind stands what the task's environment has.
    text.strip_prefix("map_cpu:").unwrap_or(text).to_string()
}

fn compare(machine: &str, sockets: &str) {
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("HWLOC_SYNTHETIC", machine)
        .up();
    let requests = [&[sockets], &REQUESTS[..]].concat();
    for request in requests {
        let masks = slurm(&cluster, request);
        let cores = cores_of_last_step(&cluster);
        assert_eq!(
            plan(machine, &cores, request),
            masks,
            "{machine}: {request}, cores {cores}"
        );
    }
}

#[test]
fn the_papers_machine() {
    compare(
        "pack:4 numa:1 core:2 pu:1",
        "-n8 -B 4:2 --distribution=block:cyclic",
    );
}

#[test]
fn two_sockets_with_hardware_threads() {
    compare("pack:2 numa:1 core:4 pu:2", "-n8 -B 2:4:2");
}

#[test]
fn two_numa_nodes_a_socket_and_other_numbers() {
    compare(
        "pack:2 numa:2 core:2 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
        "-n4 -B 2:2:1 -m cyclic:cyclic",
    );
}

#[test]
fn the_papers_masks() {
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("HWLOC_SYNTHETIC", "pack:4 core:2 pu:1")
        .up();
    let block = slurm(&cluster, "-n8 -B 4:2 --distribution=block:cyclic");
    assert_eq!(block, "0x01,0x04,0x10,0x40,0x02,0x08,0x20,0x80");
    drop(cluster);
    // Cyclic core numbering: the paper's p0 has CPUs 0 and 4, p1 1 and 5, …
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env(
            "HWLOC_SYNTHETIC",
            "pack:4 core:2 pu:1(indexes=0,4,1,5,2,6,3,7)",
        )
        .up();
    let cyclic = slurm(&cluster, "-n8 -B 4:2 --distribution=block:cyclic");
    assert_eq!(cyclic, "0x01,0x02,0x04,0x08,0x10,0x20,0x40,0x80");
}
