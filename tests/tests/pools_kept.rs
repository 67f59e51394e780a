//! The site's files across slurmds: what was in force stays in force when the next slurmd finds a file that does not
//! hold. And a job's place while it is suspended.

use std::fs;
use std::path::Path;

use berth_tests::{Cluster, Done};

const MACHINE: &str = "pack:2 core:4 pu:1";

fn cluster(settings: &str) -> Cluster {
    Cluster::builder()
        .example("pools")
        // These cores are not this host's, so cgroups cannot confine to them.
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .env("HWLOC_SYNTHETIC", MACHINE)
        .plugstack(Some(settings))
        .up()
}

fn doctor(cluster: &Cluster) -> Done {
    let state = cluster.folder().join("run/berth");
    let words = ["doctor", "--state-dir", state.to_str().expect("a path")];
    cluster.run(&berth_tests::command().to_string_lossy(), &words)
}

fn told(cluster: &Cluster) -> String {
    let show = ["-pmulti8", "-n1", "-c2", "sh", "-c", "echo $NCPUS"];
    cluster.srun(&show).expect_ok().trim().to_owned()
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("a file");
}

/// Each wrong file is what a slurmd finds when it starts.
#[test]
fn pools_outlive_a_slurmd_whose_successor_finds_a_wrong_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    write(&file, "name=multi8 partition=multi8 cpus=8\n");
    let cluster = cluster(&format!("pools={}", file.display()));
    assert_eq!(told(&cluster), "2");
    for (text, why) in [
        (
            "name=multi8 partition=multi8 cpu=8\n",
            "pools.conf, line 1: there is no key cpu here",
        ),
        ("", "pools.conf does not exist"),
    ] {
        match text {
            "" => fs::remove_file(&file).expect("a file"),
            text => write(&file, text),
        }
        for again in ["a restart", "another"] {
            cluster.restart_slurmd();
            cluster.wait_for("slurmd", || cluster.scontrol(&["ping"]).ok().then_some(()));
            assert_eq!(told(&cluster), "2", "{why}: {again}");
            let doctor = doctor(&cluster);
            assert!(!doctor.ok(), "{why}: {doctor:#?}");
            for says in [why, "as it was read before stays in force"] {
                assert!(doctor.stdout.contains(says), "{says}: {doctor:#?}");
            }
        }
    }
    // The site has no pools any more: nothing of them is kept for a day on which it names a wrong file.
    write(&file, "# none\n");
    cluster.restart_slurmd();
    assert_eq!(told(&cluster), "");
    write(&file, "wrong\n");
    cluster.restart_slurmd();
    assert_eq!(told(&cluster), "");
}

#[test]
fn cpusets_outlive_a_slurmd_whose_successor_finds_a_wrong_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cpusets.conf");
    write(&file, "name=own cpus=0-1\n");
    let cluster = cluster(&format!("cpusets={}", file.display()));
    write(&file, "name=own cpu=0-1\n");
    cluster.restart_slurmd();
    let doctor = cluster.wait_for("the complaint", || {
        let done = doctor(&cluster);
        done.stdout.contains("cpusets.conf, line 1").then_some(done)
    });
    let says = "the file as it was read before stays in force";
    assert!(doctor.stdout.contains(says), "{doctor:#?}");
}

/// Slurm gives its CPUs to others, and it has its place again when it goes on.
#[test]
fn a_suspended_job_leaves_room_in_its_pool() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    write(&file, "name=multi8 partition=multi8 cpus=4\n");
    let cluster = cluster(&format!("pools={}", file.display()));
    let job = [
        "-pmulti8",
        "-n4",
        "--parsable",
        "-o/dev/null",
        "--wrap=sleep 300",
    ];
    let job = cluster.run("sbatch", &job).expect_ok().trim().to_owned();
    let line = format!("step={job}.batch");
    cluster.wait_for("the script", || {
        cluster.slurmd_log().contains(&line).then_some(())
    });
    assert_eq!(told(&cluster), "", "the pool is full");
    for (order, tells) in [("suspend", "2"), ("resume", "")] {
        cluster.scontrol(&[order, &job]).expect_ok();
        // Its slurmstepd stops and continues the script a moment later.
        cluster.wait_for(order, || (told(&cluster) == tells).then_some(()));
    }
}
