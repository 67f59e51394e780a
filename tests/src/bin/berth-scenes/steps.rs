//! Several steps in one allocation, several programs in one step.

use std::fs;

use berth_tests::Cluster;

use crate::tools::{all_cpus, assert_disjoint, in_allocation, lists, me, tasks};
use crate::{Outcome, berth};

/// Four steps that take a part of the allocation each.
pub fn exact_at_once() -> Outcome {
    let cluster = berth();
    let script =
        "for step in 1 2 3 4; do srun --exact -n2 -c2 --cpu-bind=cores $probe 15 & done; wait";
    let printed = in_allocation(&cluster, &["--exclusive"], script);
    let tasks = tasks(&printed);
    assert_eq!(tasks.len(), 8, "{printed}");
    assert!(tasks.iter().all(|task| task.cpus.len() == 2), "{tasks:#?}");
    assert_disjoint(&tasks);
    Ok(())
}

/// Two steps that share everything are placed alike: neither knows of the other.
pub fn overlapping() -> Outcome {
    let cluster = berth();
    let script = "for step in 1 2; do srun --overlap -n4 --cpu-bind=cores $probe 8 & done; wait";
    let tasks = tasks(&in_allocation(&cluster, &["--exclusive"], script));
    let want = lists(&["0-1", "0-1", "8-9", "8-9", "2-3", "2-3", "10-11", "10-11"]);
    assert_eq!(all_cpus(&tasks), want, "{tasks:#?}");
    Ok(())
}

pub fn several_programs() -> Outcome {
    let cluster = berth();
    let file = cluster.folder().join("etc/programs");
    let me = me();
    fs::write(&file, format!("0-1 {me} probe\n2,3 {me} probe 1\n")).expect("a list of programs");
    let script = format!(
        "srun -n4 --cpu-bind=threads -m block:block --multi-prog {}",
        file.display()
    );
    let tasks = tasks(&in_allocation(&cluster, &["--exclusive"], &script));
    assert_eq!(all_cpus(&tasks), lists(&["0", "1", "2", "3"]));
    Ok(())
}

/// `srun a : b`: two components with their own requests, on a node each, as Slurm wants it.
pub fn heterogeneous_step() -> Outcome {
    let cluster = Cluster::builder().nodes(2).plugstack(Some("")).up();
    let script =
        "srun -n2 --cpu-bind=threads -m block:block $probe : -n2 -c2 --cpu-bind=cores $probe";
    let tasks = tasks(&in_allocation(&cluster, &["-N2", "--exclusive"], script));
    assert_eq!(tasks.len(), 4, "{tasks:#?}");
    let widths: Vec<usize> = tasks.iter().map(|task| task.cpus.len()).collect();
    assert_eq!(widths, [1, 1, 2, 2], "{tasks:#?}");
    cluster.wait_idle();
    Ok(())
}
