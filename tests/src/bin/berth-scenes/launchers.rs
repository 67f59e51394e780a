//! Launchers inside: never everything on one core, never refused for a mask the user did not write.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use berth_tests::Cluster;

use crate::tools::{Task, all_cpus, in_allocation, lists, me, tasks};
use crate::{Outcome, berth};

/// Ranks of another launcher: all there, and not all on one core.
#[track_caller]
fn spread(tasks: &[Task], ranks: usize, said: &str) {
    assert_eq!(tasks.len(), ranks, "{said}");
    let union: BTreeSet<u32> = tasks.iter().flat_map(|task| task.cpus.clone()).collect();
    assert!(union.len() >= ranks, "{ranks} ranks on {union:?}: {said}");
}

/// What a script's launcher printed; under emulation that takes longer than other jobs.
#[track_caller]
pub fn script(cluster: &Cluster, options: &[&str], text: &str) -> String {
    let (file, output) = (
        cluster.folder().join("etc/script"),
        cluster.folder().join("log/script.out"),
    );
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("a script");
    let (file, to) = (
        file.to_string_lossy(),
        format!("--output={}", output.display()),
    );
    cluster.run("sbatch", &[options, &["--wait", &to, &file]].concat());
    fs::read_to_string(&output).unwrap_or_default()
}

/// What it says of itself.
pub fn installed(program: &str) -> Result<String, String> {
    match Command::new(program).arg("--version").output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => Err(format!("{program} is not installed")),
    }
}

pub fn open_mpi() -> Outcome {
    installed("mpirun.openmpi")?;
    let cluster = berth();
    let me = me();
    let as_root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    let text = format!("{as_root}\nmpirun.openmpi -n 8 {me} probe 2>&1");
    for options in [&["--exclusive", "-n8"][..], &["-n8", "-c2"], &["-n8"]] {
        let printed = script(&cluster, options, &text);
        spread(&tasks(&printed), 8, &format!("{options:?} {printed}"));
    }
    // In a step of one task, whose slots are too few. The host is called as its node there: an mpirun
    // that finds only other names starts its daemon with an srun, which waits for this very step.
    let text = format!(
        "{as_root}\nsrun -n1 -c4 unshare --uts sh -c \
         'hostname $SLURMD_NODENAME; mpirun.openmpi -n 4 --oversubscribe {me} probe' 2>&1"
    );
    let printed = script(&cluster, &["--exclusive", "-n8"], &text);
    spread(&tasks(&printed), 4, &printed);
    cluster.wait_idle();
    Ok(())
}

pub fn mpich() -> Outcome {
    installed("mpirun.mpich")?;
    let cluster = berth();
    for options in [&["--exclusive", "-n8"][..], &["-n8", "-c2"], &["-n8"]] {
        let printed = script(
            &cluster,
            options,
            &format!("mpirun.mpich -n 8 {} probe 2>&1", me()),
        );
        spread(&tasks(&printed), 8, &format!("{options:?} {printed}"));
    }
    cluster.wait_idle();
    Ok(())
}

/// srun with every way of telling MPI its ranks that this Slurm has.
pub fn mpi_types() -> Outcome {
    let cluster = berth();
    let list = cluster.srun(&["--mpi=list"]);
    let said = list.stdout + &list.stderr;
    let has = |kind: &&str| said.split_whitespace().any(|word| word == *kind);
    let kinds: Vec<&str> = ["none", "pmi2", "cray_shasta", "pmix"]
        .into_iter()
        .filter(has)
        .collect();
    assert!(kinds.contains(&"pmi2"), "{said}");
    let want = lists(&["0-1", "2-3", "4-5", "6-7"]);
    for kind in kinds.into_iter().filter(|kind| *kind != "cray_shasta") {
        let request = format!("--mpi={kind} -n4 -c2 --cpu-bind=cores -m block:block");
        let options = ["-n4", "-c2", "--exclusive"];
        let printed = in_allocation(
            &cluster,
            &options,
            &format!("srun {request} $probe || echo failed"),
        );
        if kind == "pmix" && printed.contains("failed") {
            // Its library may be missing, under every task plugin.
            continue;
        }
        assert_eq!(all_cpus(&tasks(&printed)), want, "{kind}: {printed}");
    }
    Ok(())
}
