//! The number of CPUs that a pool job finds in its environment, on a real cluster: where the user has set `NCPUS` himself,
//! where the job was submitted outside of its pool, and where the site reserves some of its CPUs.

use std::fs;

use berth_tests::Cluster;

/// The example on eight pretended cores, without cgroups; its pool's file stands elsewhere if there are words for it.
fn cluster(words: Option<&str>) -> Cluster {
    let builder = Cluster::builder()
        .example("pools")
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1");
    match words {
        Some(words) => builder.plugstack(Some(words)).up(),
        None => builder.up(),
    }
}

#[test]
fn the_number_stands_beside_what_the_user_has_set() {
    let cluster = cluster(None);
    let show = ["sh", "-c", "echo $NCPUS,$OMP_NUM_THREADS"];
    let step = [&["-pmulti8", "-n1", "-c4"][..], &show].concat();
    let own = [("NCPUS", "99"), ("OMP_NUM_THREADS", "3")];
    let done = cluster.run_with("srun", &step, &own);
    assert_eq!(done.stdout.trim(), "4,3", "{done:#?}");
    // Outside of its pool a job keeps both.
    let step = [&["--pool=none"][..], &step].concat();
    let done = cluster.run_with("srun", &step, &own);
    assert_eq!(done.stdout.trim(), "99,3", "{done:#?}");
}

#[test]
fn a_job_that_is_submitted_outside_of_its_pool_stays_outside() {
    let cluster = cluster(None);
    let script = "echo script $NCPUS\nsrun -n1 sh -c 'echo step $NCPUS'";
    for (options, told) in [
        (&["-pmulti8", "-n1", "-c2"][..], "script 2\nstep 2\n"),
        (&["-pmulti8", "--pool=none", "-n1", "-c2"], "script\nstep\n"),
    ] {
        let done = cluster.sbatch(options, script);
        // Where niceness does not count between sessions, a note says that the pool gives no more time here.
        let lines = done
            .output
            .lines()
            .filter(|line| !line.starts_with("berth: "));
        let output: String = lines.map(|line| format!("{line}\n")).collect();
        assert_eq!(output, told, "{options:?}: {done:#?}");
    }
    for (options, told) in [
        (&["-pmulti8", "-n1", "-c2"][..], "2"),
        (&["-pmulti8", "--pool=none", "-n1", "-c2"], ""),
    ] {
        let step = ["srun", "-n1", "sh", "-c", "echo $NCPUS"];
        let done = cluster.run("salloc", &[options, &step].concat());
        assert_eq!(done.stdout.trim(), told, "{options:?}: {done:#?}");
    }
}

#[test]
fn a_pool_s_job_does_not_have_the_reserved_cpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    fs::write(&file, "name=multi8 partition=multi8 cpus=8\n").expect("a file");
    let cluster = cluster(Some(&format!("pools={} reserved=0", file.display())));
    let show = ["sh", "-c", "echo $NCPUS"];
    // slurmctld gives the job the first four cores.
    for none in [&[][..], &["--cpu-bind=none"]] {
        let done = cluster.srun(&[&["-pmulti8", "-n1", "-c4"], none, &show].concat());
        assert_eq!(done.stdout.trim(), "3", "{none:?}: {done:#?}");
    }
    let log = cluster.slurmd_log();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("pool=multi8 cpus-asked="))
        .collect();
    assert!(
        lines.len() == 2 && lines.iter().all(|line| line.contains("cpus-asked=3 ")),
        "{lines:#?}"
    );
}
