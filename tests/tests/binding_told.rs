//! What a step with `--binding` is told, on a real cluster: variables of its tasks, and the files of
//! parallel environments.

use berth_tests::Cluster;

/// One node with two CPUs.
fn cluster() -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    Some(Cluster::builder().plugstack(Some("")).up())
}

#[test]
fn a_task_is_told_what_it_has() {
    let Some(cluster) = cluster() else { return };
    let ask = "echo \"$SLURM_PROCID|$BERTH_CPUS|$BERTH_CORES|$BERTH_BINDING_CORES|$SGE_BINDING|$OMP_PLACES|\
        $OMP_NUM_THREADS|$OMP_PROC_BIND|`grep Cpus_allowed_list /proc/self/status | cut -f2`\"";
    let says = |options: &[&str]| {
        let asked = [&["--exclusive"], options, &["/bin/sh", "-c", ask]].concat();
        let mut lines: Vec<_> = cluster
            .srun(&asked)
            .expect_ok()
            .lines()
            .map(String::from)
            .collect();
        lines.sort_unstable();
        lines
    };
    let one = says(&["-n2", "--binding=linear:1"]);
    assert!(one[0].starts_with("0|0|0|0,0|||||0"), "{one:?}");
    assert!(
        one[1].starts_with("1|1|1|") && one[1].ends_with("|||||1"),
        "{one:?}"
    );
    let env = says(&["-n1", "-c2", "--binding=env:linear:2"]);
    assert!(env[0].starts_with("0|0-1|0-1|0,0:"), "{env:?}");
    assert!(env[0].ends_with("|0 1|{0},{1}|2|close|0-1"), "{env:?}");
    let given = cluster.run_with(
        "srun",
        &[
            "--exclusive",
            "-n1",
            "--binding=env linear:1",
            "/bin/sh",
            "-c",
            ask,
        ],
        &[("OMP_NUM_THREADS", "7"), ("BERTH_BINDING_CORES", "5,5")],
    );
    assert!(given.stdout.contains("|0|{0}|7|close|"), "{given:#?}");
    let free = says(&["-n1", "--cpu-bind=cores", "-c2"]);
    assert_eq!(
        free,
        ["0|0-1|0-1||||||0-1"],
        "what an outer step had is gone"
    );
}

#[test]
fn files_for_parallel_environments() {
    let Some(cluster) = cluster() else { return };
    let script = "cut -d' ' -f2,4 $PE_HOSTFILE\nwhile read host slots queue cores; do echo \"$slots $cores\"; done < $PE_HOSTFILE\n\
        cut -d= -f2 $BERTH_RANKFILE | cut -d' ' -f2\nls -ld $BERTH_RANKFILE $PE_HOSTFILE | cut -c1-10\necho $PE_HOSTFILE";
    for (options, tasks) in [
        (&["-n2", "--binding=pe:linear:1"][..], "2 0,0:"),
        (&["-n1", "-c2", "--binding=pe linear:2"], "1 0,0:"),
    ] {
        let job = cluster.sbatch(options, script);
        let lines: Vec<_> = job.output.lines().collect();
        assert_eq!(lines[0], lines[1], "{job:?}");
        assert!(lines[0].starts_with(tasks), "{job:?}");
        let path = lines.last().unwrap();
        assert!(path.contains("/berth."), "{job:?}");
        // They are the job's: nobody but a program of its own removes them.
        let folder = std::path::Path::new(path).parent().unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2, "{job:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
    let step = cluster.srun(&[
        "-n2",
        "--binding=pe:linear:1",
        "/bin/sh",
        "-c",
        "wc -l < $BERTH_RANKFILE; cd ${BERTH_RANKFILE%/*}; test $SLURM_LOCALID = 0 && exec touch read; \
         until test -e read; do sleep 0.1; done; rm -r $PWD",
    ]);
    assert_eq!(step.expect_ok(), "2\n2\n");
    if !berth_tests::program("mpirun", "Open MPI's mpirun (openmpi-bin)") {
        return;
    }
    let mpi = "mpirun --allow-run-as-root --rankfile $BERTH_RANKFILE grep Cpus_allowed_list /proc/self/status\n\
        rm -r ${BERTH_RANKFILE%/*}";
    let job = cluster.sbatch(&["-n2", "--binding=pe:linear:1"], mpi);
    let mut lines: Vec<_> = job.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["Cpus_allowed_list:\t0", "Cpus_allowed_list:\t1"],
        "{job:?}"
    );
    // Without files: the ranks are on what the script is bound to, and not all on one core.
    let mpi = "mpirun --allow-run-as-root --oversubscribe --bind-to none -np 2 grep Cpus_allowed_list /proc/self/status";
    let job = cluster.sbatch(&["-n1", "-c2", "--binding=linear:2"], mpi);
    assert_eq!(
        job.output, "Cpus_allowed_list:\t0-1\nCpus_allowed_list:\t0-1\n",
        "{job:?}"
    );
    let job = cluster.sbatch(
        &["-n2", "--binding=linear:1"],
        &mpi.replace(" --bind-to none", ""),
    );
    let mut lines: Vec<_> = job.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["Cpus_allowed_list:\t0", "Cpus_allowed_list:\t1"],
        "{job:?}"
    );
}
