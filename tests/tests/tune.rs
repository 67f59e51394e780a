//! `berth tune` on a real cluster: programs whose best line is known by construction, because their score or their time
//! depends on their own mask and those of the others. Each line is named, and bound as it was planned.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use berth_placement::CpuSet;
use berth_tests::{Cluster, Done, command};
use serde_json::Value;

/// One node with two cores or more.
fn cluster() -> Option<Cluster> {
    berth_tests::two_cpus().then(|| Cluster::builder().plugstack(Some("")).up())
}

/// What a program knows of itself: its CPUs, and those of the core of the first one.
const CPUS: &str = "cpus=$(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status)\n\
                    core=$(cat /sys/devices/system/cpu/cpu${cpus%%[-,]*}/topology/thread_siblings_list)\n";

/// The hardware threads of this machine's cores.
fn threads_of_core() -> usize {
    let file = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    let text = fs::read_to_string(file).unwrap_or_default();
    let list = CpuSet::from_list(text.trim()).unwrap_or_default();
    list.count().max(1)
}

struct Tuned {
    done: Done,
    result: Value,
}

impl Tuned {
    /// Tunes a program, in a job of two tasks with a core each.
    fn of(cluster: &Cluster, name: &str, program: &str, options: &[&str], line: &str) -> Self {
        let path = cluster.folder().join(name);
        fs::write(&path, format!("#!/bin/bash\n{CPUS}{program}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = cluster.folder().join(format!("{name}.runs"));
        let folder_option = format!("--folder={}", folder.display());
        let line = line.replace("APP", &path.display().to_string());
        let berth = command();
        let berth = berth.to_string_lossy();
        let core = format!("-c{}", threads_of_core());
        let words = ["-Q", "-n2", &core, &*berth, "tune", &folder_option];
        let done = cluster.run("salloc", &[&words, options, &[&line]].concat());
        let text = fs::read_to_string(folder.join("result.json"));
        let text = text.unwrap_or_else(|why| panic!("{name}: {why} {done:#?}"));
        let tuned = Self {
            done,
            result: serde_json::from_str(&text).unwrap(),
        };
        assert!(tuned.done.ok(), "{name}: {:#?}", tuned.done);
        for one in tuned.lines() {
            assert!(one["unbound"].is_null(), "{name}: {one}");
        }
        tuned
    }

    fn lines(&self) -> &Vec<Value> {
        self.result["lines"].as_array().unwrap()
    }

    /// The options of the fastest line, and of those that are alike.
    fn fastest(&self) -> String {
        let at = self.result["best"]
            .as_u64()
            .unwrap_or_else(|| panic!("{:#?}", self.done));
        let best = &self.lines()[at as usize];
        format!("{} | {}", best["line"], best["alike"])
    }
}

const SCORE: [&str; 3] = ["--metric=score ([0-9]+)", "--higher", "--repeat=3"];

#[test]
fn the_line_that_is_best_by_construction_is_named() {
    let Some(cluster) = cluster() else { return };
    // Each task wants one core of its own; today's line gives it all.
    let alone = "[ $cpus = $core ] && s=20 || s=10; [ $SLURM_PROCID != 0 ] || echo score $s";
    let found = Tuned::of(
        &cluster,
        "alone",
        alone,
        &SCORE,
        "srun -n2 --cpu-bind=none APP",
    );
    assert!(
        found.fastest().contains("--cpu-bind=cores"),
        "{}",
        found.fastest()
    );
    // Each task wants all CPUs; today's line gives it one.
    let wide = "[ $cpus = $core ] && s=10 || s=20; [ $SLURM_PROCID != 0 ] || echo score $s";
    let found = Tuned::of(&cluster, "wide", wide, &SCORE, "srun -n2 APP");
    assert!(
        found.fastest().contains("--cpu-bind=none"),
        "{}",
        found.fastest()
    );
    // The order matters: the first task wants the last CPU.
    let last = 2 * threads_of_core() - 1;
    let order = format!(
        "[ $SLURM_PROCID != 0 ] || {{ [ $cpus = {last} ] && echo score 20 || echo score 10; }}"
    );
    let swapped = format!("--also=--cpu-bind=map_cpu:{last},0");
    let also = [&SCORE[..], &[&swapped]].concat();
    let found = Tuned::of(&cluster, "order", &order, &also, "srun -n2 APP");
    assert!(
        found.fastest().contains(&format!("map_cpu:{last},0")),
        "{}",
        found.fastest()
    );
    // The threads of a task: one for each CPU that it requests, with places.
    let all = 2 * threads_of_core();
    let threads = format!(
        "[ \"$OMP_NUM_THREADS\" = {all} ] && [ $cpus = 0-{} ] && echo score 20 || echo score 10",
        all - 1
    );
    let line = format!("srun -n1 -c{all} APP");
    let found = Tuned::of(&cluster, "threads", &threads, &SCORE, &line);
    assert!(
        found.fastest().contains(&format!("OMP_NUM_THREADS={all}")),
        "{}",
        found.fastest()
    );
}

#[test]
fn a_program_that_hates_sharing_is_faster_on_cores_of_its_own() {
    let Some(cluster) = cluster() else { return };
    // Each task looks whether the other has the same CPUs, and waits if it has: other work on this machine, or emulated
    // CPUs that take turns on one of the host's, would hide what sharing costs. There a step itself takes seconds.
    let (seconds, repeat) = match std::env::var_os("BERTH_VM_OUT") {
        Some(_) => (8, "--repeat=3"),
        None => (1, "--repeat=12"),
    };
    let work = format!(
        "mine=$0.$SLURM_STEP_ID.$SLURM_PROCID other=$0.$SLURM_STEP_ID.$((1 - SLURM_PROCID))\n\
         echo $cpus > $mine.new; mv $mine.new $mine\n\
         until [ -e $other ]; do sleep 0.05; done\n\
         [ $(< $other) != $cpus ] || sleep {seconds}"
    );
    let only = ["--only=--cpu-bind=cores", "--warmup=0", repeat];
    let found = Tuned::of(
        &cluster,
        "work",
        &work,
        &only,
        "srun -n2 --cpu-bind=map_cpu:0,0 APP",
    );
    assert!(
        found.fastest().contains("--cpu-bind=cores"),
        "{:#?}",
        found.done
    );
}

#[test]
fn lines_that_do_not_differ_run_once() {
    let Some(cluster) = cluster() else { return };
    let only = ["--only=--cpu-bind=cores", "--only=--cpu-bind=threads"];
    let found = Tuned::of(&cluster, "alike", "true", &only, "srun -n2 APP");
    assert!(
        found.done.stdout.contains("planned alike"),
        "{:#?}",
        found.done
    );
    assert_eq!(found.lines().len(), 1, "{:#?}", found.result);
    assert_eq!(found.lines()[0]["values"].as_object().unwrap().len(), 1);
}

#[test]
fn what_slurm_refuses_is_a_row_and_its_own_job_has_a_table() {
    let Some(cluster) = cluster() else { return };
    // The step needs another shape of job.
    let options = [
        &SCORE[..],
        &["--only=-c64", "--only=--mpi=none --cpu-bind=none"],
    ]
    .concat();
    let found = Tuned::of(
        &cluster,
        "refused",
        "echo score 3",
        &options,
        "srun -n2 APP",
    );
    assert!(
        found.lines()[1]["refused"].is_string(),
        "{:#?}",
        found.result
    );
    let berth = command();
    let output = cluster.folder().join("log/tune.out");
    let output_option = format!("--output={}", output.display());
    let folder = format!("--folder={}", cluster.folder().join("own").display());
    let line = format!(
        "srun -n2 --cpu-bind=none {}",
        cluster.folder().join("refused").display()
    );
    let words = [
        "tune",
        &folder,
        "--repeat=3",
        "--only=--exact",
        "--",
        "sbatch",
        "--wait",
        "-n2",
        &output_option,
        "--",
        &line,
    ];
    let done = cluster.run(&berth.to_string_lossy(), &words);
    assert!(done.ok(), "{done:#?}");
    let text = fs::read_to_string(&output).unwrap();
    assert!(
        text.contains("result ") && text.contains("--exact"),
        "{text}"
    );
}
