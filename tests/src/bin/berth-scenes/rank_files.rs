//! A rank file of `--binding=pe:` or of `berth plan` binds each rank as Open MPI reads it, and as it
//! was planned: in a job that owns the node, in one with a part of it, and in one that sees no
//! more than its part.

use std::collections::BTreeSet;
use std::fs;

use berth_tests::Cluster;

use crate::launchers::{installed, script};
use crate::tools::{cpus, lists};
use crate::{Outcome, berth, jobs};

/// Says its rank and its CPUs.
const RANK: &str = "#!/bin/sh\n\
    echo rank $OMPI_COMM_WORLD_RANK $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)\n";

/// Open MPI's words for a rank file, by its release.
fn with(file: &str) -> Result<String, String> {
    // "mpirun.openmpi (OpenRTE) 4.1.4", "mpirun.openmpi (Open MPI) 5.0.7".
    let old = installed("mpirun.openmpi")?.contains(") 4.");
    let words = ["--map-by rankfile:file=", "--rankfile "];
    Ok(format!("{}{file}", words[usize::from(old)]))
}

/// A line of a script. The host is called as its node: else mpirun starts a daemon in a further
/// step, which has its own cores.
fn mpirun(cluster: &Cluster, ranks: usize, how: &str) -> String {
    let rank = cluster.folder().join("etc/rank");
    fs::write(&rank, RANK).expect("a program");
    format!(
        "unshare --uts sh -c 'hostname $SLURMD_NODENAME; export OMPI_ALLOW_RUN_AS_ROOT=1 \
         OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; mpirun.openmpi -n {ranks} {how} sh {}' 2>&1",
        rank.display()
    )
}

/// The ranks' CPUs, in their order.
fn ranks(printed: &str) -> Vec<BTreeSet<u32>> {
    let lines = printed
        .lines()
        .filter_map(|line| line.strip_prefix("rank "));
    let mut found: Vec<(u32, _)> = lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(rank, list)| Some((rank.parse().ok()?, cpus(list))))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, cpus)| cpus).collect()
}

#[track_caller]
fn bound(cluster: &Cluster, options: &[&str], sets: &[&str]) {
    let how = with("$BERTH_RANKFILE").expect("it is installed");
    let text = mpirun(cluster, sets.len(), &how) + "\nrm -r ${BERTH_RANKFILE%/*}";
    let printed = script(cluster, options, &text);
    assert_eq!(ranks(&printed), lists(sets), "{options:?} {printed}");
}

#[track_caller]
fn planned(cluster: &Cluster) {
    let text = format!(
        "ask=\"{} plan -w $SLURMD_NODENAME -n 3 -c 4 --cpu-bind=cores -m block:cyclic\"\n\
         $ask --format rankfile > /tmp/ranks; $ask --format cpus | sed 's/^/plan /'\n{}",
        berth_tests::command().display(),
        mpirun(cluster, 3, &with("/tmp/ranks").expect("it is installed"))
    );
    let printed = script(cluster, &["-n3", "-c4", "--exclusive"], &text);
    let plan = printed
        .lines()
        .filter_map(|line| line.strip_prefix("plan "));
    let plan: Vec<_> = plan.map(cpus).collect();
    assert_eq!(plan.len(), 3, "{printed}");
    assert_eq!(ranks(&printed), plan, "{printed}");
}

fn on(cluster: &Cluster) {
    let four = ["0-3", "4-7", "8-11", "12-15"];
    bound(
        cluster,
        &["--exclusive", "-n4", "--binding=pe:linear:2"],
        &four,
    );
    let striding = ["--exclusive", "-n2", "--binding=pe:striding:2:2"];
    bound(cluster, &striding, &["0-1,4-5", "2-3,6-7"]);
    planned(cluster);
    // Beside another job: neither the first cores nor all of one socket.
    let words = ["-n6", "--output=/dev/null", "--wrap=sleep 300"];
    cluster.run("sbatch", &words).expect_ok();
    let running = || (cluster.run("squeue", &["-h", "-t", "R"]).expect_ok() != "").then_some(());
    cluster.wait_for("the other job runs", running);
    bound(
        cluster,
        &["-n2", "-c4", "--binding=pe:linear:2"],
        &["4-7", "10-13"],
    );
    cluster.run("scancel", &["-u", "root"]);
    cluster.wait_idle();
}

pub fn open_mpi() -> Outcome {
    with("")?;
    on(&berth());
    on(&jobs::with_cgroups()?.up());
    Ok(())
}
