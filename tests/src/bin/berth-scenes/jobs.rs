//! Jobs of every kind: arrays, heterogeneous ones, scripts and shells, confined by cgroups or not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use berth_tests::{Builder, Cluster, accounting};

use crate::tools::{all_cpus, assert_disjoint, cpus, in_allocation, me, tasks, whole_node};
use crate::{Outcome, berth};

/// Two components of one job in one step, on a node each: Slurm puts no two on one.
pub fn heterogeneous_job() -> Outcome {
    let cluster = Cluster::builder()
        .nodes(2)
        .plugstack(Some(""))
        .set("SchedulerParameters=batch_sched_delay=0,bf_hetjob_immediate,bf_interval=1")
        .up();
    let probe = format!("{} probe", me());
    let mut words = vec!["-Q", "-t5", "-N1", "-n2", "-c2", ":", "-N1", "-n1", "-c4"];
    words.extend(["srun", "--cpu-bind=cores", "--het-group=0,1"]);
    words.extend(probe.split(' '));
    let done = cluster.run("salloc", &words);
    let mut widths: Vec<usize> = all_cpus(&tasks(&done.expect_ok()))
        .iter()
        .map(BTreeSet::len)
        .collect();
    widths.sort_unstable();
    // Releases differ in whether a component's -c is its step's.
    assert!(widths == [2, 2, 2] || widths == [2, 2, 4], "{widths:?}");
    cluster.wait_idle();
    Ok(())
}

/// Elements of an array run beside each other, each in its own cores.
pub fn array() -> Outcome {
    let cluster = berth();
    let output = cluster.folder().join("log/array-%a.out");
    let wrap = format!("--wrap=srun -n2 -c2 --cpu-bind=cores {} probe 12", me());
    let words = ["--wait", "--array=0-3", "-n2", "-c2", &wrap, "--output"];
    let output = output.to_string_lossy();
    cluster
        .run("sbatch", &[&words[..], &[&output]].concat())
        .expect_ok();
    let printed: String = (0..4)
        .map(|element| output.replace("%a", &element.to_string()))
        .map(|file| fs::read_to_string(file).unwrap_or_default())
        .collect();
    let tasks = tasks(&printed);
    assert_eq!(tasks.len(), 8, "{printed}");
    assert!(tasks.iter().all(|task| task.cpus.len() == 2), "{tasks:#?}");
    assert_disjoint(&tasks);
    Ok(())
}

/// What cgroups need where nobody hands their folders out.
pub fn with_cgroups() -> Result<Builder, String> {
    let v2 = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers");
    let v2 = v2.is_ok_and(|all| all.split_whitespace().any(|one| one == "cpuset"));
    if !v2 && !Path::new("/sys/fs/cgroup/cpuset/cpuset.cpus").exists() {
        return Err("there are no cgroups with cpusets".into());
    }
    Ok(Cluster::builder().example("cgroup").plugstack(Some("")))
}

/// With task/cgroup and ConstrainCores the masks are the same, and the cpuset is the step's cores.
pub fn confined() -> Outcome {
    let requests = [
        "-n4 --cpu-bind=cores",
        "-n4 --cpu-bind=threads -m block:block",
        "-n2 -c4",
        "-n3 -c2 --cpu-bind=sockets",
        "-n2 --cpu-bind=mask_cpu:0x81,0x42",
        "-n2 -c4 --cpu-bind=none",
    ];
    let confined = with_cgroups()?.up();
    let inside: Vec<_> = requests
        .iter()
        .map(|request| whole_node(&confined, &[], request))
        .collect();
    // Version 1 or 2.
    let ask = "own=$(cat /proc/self/cpuset); cat /sys/fs/cgroup/cpuset$own/cpuset.effective_cpus \
               /sys/fs/cgroup$own/cpuset.cpus.effective 2> /dev/null; true";
    let set = confined.srun(&["-n1", "-c4", "--cpu-bind=threads", "sh", "-c", ask]);
    assert_eq!(set.expect_ok().trim(), "0-3");
    drop(confined);
    let free = berth();
    for (request, inside) in requests.iter().zip(inside) {
        assert_eq!(inside, whole_node(&free, &[], request), "{request:?}");
    }
    Ok(())
}

/// Scripts and shells have their allocation; the step that holds a job's place is left alone.
pub fn every_kind() -> Outcome {
    let cluster = with_cgroups()?
        .set("PrologFlags=Contain")
        .set("LaunchParameters=use_interactive_step")
        .set("InteractiveStepOptions=\"--interactive -n1 /bin/grep Cpus_allowed_list /proc/self/status\"")
        .up();
    let script = format!(
        "{me} probe; srun -n2 -c2 --cpu-bind=cores {me} probe",
        me = me()
    );
    let batch = cluster.sbatch(&["-n2", "-c2"], &script);
    assert_eq!(batch.state, "COMPLETED", "{batch:?}");
    let sets: BTreeSet<_> = all_cpus(&tasks(&batch.output)).into_iter().collect();
    let want: BTreeSet<_> = ["0-3", "0-1", "2-3"].map(cpus).into();
    assert_eq!(sets, want, "{batch:?}");
    let shell = cluster.run("salloc", &["-n1", "-c4"]);
    assert!(
        shell.stdout.contains("Cpus_allowed_list:\t0-3"),
        "{shell:#?}"
    );
    let seen = in_allocation(&cluster, &["-n4"], "srun --cpu-bind=threads $probe");
    assert_eq!(tasks(&seen).len(), 4, "{seen}");
    cluster.wait_idle();
    let log = cluster.slurmd_log();
    assert!(!log.contains(".extern tasks="), "{log}");
    assert!(log.contains(".batch tasks="), "{log}");
    Ok(())
}

/// Pools by account, QOS and reservation, of users whom slurmctld compares with what slurmdbd has of them.
pub fn accounts() -> Outcome {
    if !accounting::can_be_had() {
        return Err("slurmdbd or mariadbd is not installed".into());
    }
    accounting::play();
    Ok(())
}
