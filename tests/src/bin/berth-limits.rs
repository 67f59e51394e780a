//! `berth-limits [WORD…]`: limits of jobs, steps and tasks on three nodes, as the kernel's own files have them, for the
//! virtual machines of `ci/vm`. Memory is what slurmctld gave, times `AllowedRAMSpace`, and that once; a task has as many
//! CPUs as it asked for. task/cgroup sets memory, and berth's fence stands beside it; words choose lines.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use berth_placement::CpuSet;
use berth_tests::{Cluster, command};

const NODES: usize = 3;
const MIB: u64 = 1 << 20;

/// A job, its step, and for each node what both have there: tasks of the step, CPUs of the job and of the step.
struct Line {
    job: &'static str,
    step: &'static str,
    /// MiB for each CPU.
    memory: u64,
    /// CPUs of each task.
    each: usize,
    nodes: [(usize, u64, u64); NODES],
}

const LINES: &[Line] = &[
    Line {
        job: "-N3 --ntasks-per-node=2 -c2 --mem-per-cpu=40",
        step: "-N3 -n6 -c2",
        memory: 40,
        each: 2,
        nodes: [(2, 4, 4); NODES],
    },
    // The nodes have unlike parts.
    Line {
        job: "-N3 -n5 -c2 --mem-per-cpu=40",
        step: "-N3 -n5 -c2",
        memory: 40,
        each: 2,
        nodes: [(3, 6, 6), (1, 2, 2), (1, 2, 2)],
    },
    // A step of a part of its job.
    Line {
        job: "-N3 --ntasks-per-node=4 -c2 --mem-per-cpu=20",
        step: "-N3 -n3 --ntasks-per-node=1 -c4 --exact --mem-per-cpu=20",
        memory: 20,
        each: 4,
        nodes: [(1, 8, 4); NODES],
    },
    // Inside a cpuset the step keeps its memory.
    Line {
        job: "-N3 --ntasks-per-node=4 -c2 --mem-per-cpu=20 --cpuset=NCPUS=4",
        step: "-N3 -n6 --ntasks-per-node=2 -c2 --mem-per-cpu=20 --overlap",
        memory: 20,
        each: 2,
        nodes: [(2, 8, 4); NODES],
    },
];

/// A task's node, its CPUs as it is told, as its affinity and as its leaf has them, those of the step and the job, and
/// the limits of memory from its leaf upwards to the job.
const LOOK: &str = "own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup); cpus=cpuset.cpus.effective; \
    echo \"$SLURMD_NODENAME $BERTH_CPUS $(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $(cat $own/$cpus) \
    $(cat $own/../$cpus) $(cat $own/../../../$cpus) $(cat $own/memory.max) $(cat $own/../memory.max) \
    $(cat $own/../../memory.max) $(cat $own/../../../memory.max)\"";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-limits: only inside a machine of ci/vm with sockets=2,cores=4,threads=2");
        return ExitCode::from(2);
    }
    let (mut passed, mut failed) = (0, 0);
    for percent in [100, 150] {
        let cluster = cluster(percent);
        for line in LINES {
            let text = format!(
                "AllowedRAMSpace={percent}: salloc {} srun {}",
                line.job, line.step
            );
            if !words.is_empty() && !words.iter().any(|word| text.contains(word.as_str())) {
                continue;
            }
            match wrong(&cluster, line, percent) {
                None => {
                    passed += 1;
                    println!("pass {text}");
                }
                Some(wrong) => {
                    failed += 1;
                    println!("FAIL {text}: {wrong}");
                }
            }
        }
        match facts(&cluster, percent) {
            None => {
                passed += 1;
                println!("pass AllowedRAMSpace={percent}: berth env");
            }
            Some(wrong) => {
                failed += 1;
                println!("FAIL AllowedRAMSpace={percent}: berth env: {wrong}");
            }
        }
        let log = cluster.slurmd_log();
        if log.contains("not confined") {
            failed += 1;
            println!("FAIL a task was not confined: {log}");
        }
    }
    println!("{passed} lines as expected, {failed} not");
    match (passed, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn cluster(percent: u64) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    let conf = format!("ConstrainCores=yes\nConstrainRAMSpace=yes\nAllowedRAMSpace={percent}\n");
    fs::write(&file, conf).expect("cgroup.conf");
    Cluster::builder()
        .example("cgroup")
        .file(&file)
        .set("SelectTypeParameters=CR_Core_Memory")
        .plugstack(Some("confine=task"))
        .nodes(NODES as u32)
        .up()
}

/// `berth env` says the limit of the job's memory, and as many CPUs as the job has. Three at once would be too slow
/// for its patience on an emulated machine.
fn facts(cluster: &Cluster, percent: u64) -> Option<String> {
    let job = "-N1 -n2 -c2 --mem-per-cpu=40 srun -n1";
    let berth = command().display().to_string();
    let env = [berth.as_str(), "env", "--only", "--format", "json"];
    let words: Vec<_> = job.split(' ').chain(env).collect();
    let done = cluster.run("salloc", &words);
    let limit = 4 * 40 * MIB * percent / 100;
    let answer: serde_json::Value = serde_json::from_str(&done.stdout).unwrap_or_default();
    let host = |key: &str| answer.pointer(&format!("/hosts/0/{key}"));
    let cpus = host("cpus").and_then(|cpus| CpuSet::from_list(cpus.as_str()?).ok());
    let has_cpus = cpus.is_some_and(|cpus| cpus.count() == 4);
    let is_well = has_cpus && host("memlimit").and_then(serde_json::Value::as_u64) == Some(limit);
    (!is_well).then(|| format!("4 CPUs and {limit} bytes are expected: {done:?}"))
}

/// What differs, if anything does.
fn wrong(cluster: &Cluster, line: &Line, percent: u64) -> Option<String> {
    let (job, step) = (line.job.split(' '), line.step.split(' '));
    let words: Vec<_> = job
        .chain(["srun"])
        .chain(step)
        .chain(["--cpu-bind=threads", "/bin/sh", "-c", LOOK])
        .collect();
    let done = cluster.run("salloc", &words);
    if !done.ok() {
        return Some(format!("{done:?}"));
    }
    let mut nodes: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for task in done.stdout.lines() {
        let words: Vec<_> = task.split(' ').collect();
        nodes.entry(words[0]).or_default().push(words);
    }
    if nodes.len() != NODES {
        return Some(format!("tasks of {} nodes: {done:?}", nodes.len()));
    }
    let all = nodes.values().zip(&line.nodes);
    let mut wrong = all.filter_map(|(tasks, (count, job, step))| {
        if tasks.len() != *count {
            return Some(format!("{count} tasks expected: {tasks:?}"));
        }
        let bytes = |cpus: &u64| (cpus * line.memory * MIB * percent / 100).to_string();
        let mut wrong = tasks.iter().filter_map(|task| {
            of_task(task, line.each, (&bytes(job), &bytes(step)), (*job, *step))
        });
        wrong.next().map(|wrong| format!("{wrong}: {tasks:?}"))
    });
    wrong.next()
}

fn of_task(
    task: &[&str],
    each: usize,
    (job, step): (&str, &str),
    cpus: (u64, u64),
) -> Option<String> {
    let [_, told, mask, leaf, of_step, of_job, memory @ ..] = task else {
        return Some("a short line".into());
    };
    let count = |list: &str| CpuSet::from_list(list).map_or(0, |set| set.count());
    if told != mask || mask != leaf || count(leaf) != each {
        return Some(format!("a task should have {each} CPUs"));
    }
    // The step's may be the cpuset's.
    if count(of_job) as u64 != cpus.0 || count(of_step) as u64 != cpus.1 {
        return Some(format!("CPUs of job and step should be {cpus:?}"));
    }
    let [leaf, user, own, whole] = memory else {
        return Some("four limits of memory are expected".into());
    };
    // Slurm's releases limit a step at one or the other of its folders.
    let is_step = |limit: &&&str| **limit == step;
    let steps = [user, own].iter().filter(|limit| is_step(limit)).count();
    let is_none = |limit: &&&str| **limit == "max";
    let rest = [leaf, user, own]
        .into_iter()
        .filter(|limit| !is_step(limit))
        .all(|limit| is_none(&limit));
    (*whole != job || steps == 0 || !rest)
        .then(|| format!("memory of the job should be {job}, of the step {step}"))
}
