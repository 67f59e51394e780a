//! `berth-limits [v1] [WORD…]`: limits of jobs, steps and tasks on three nodes, as the kernel's own files have them, for the
//! virtual machines of `ci/vm`. Memory is what slurmctld gave, times `AllowedRAMSpace`, and that once; a task has as many
//! CPUs as it asked for. task/cgroup sets memory, and berth's fence stands beside it; `v1`: with cgroups of version 1;
//! words choose lines. It is also the tasks' program.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use berth_placement::CpuSet;
use berth_tests::confine::{own, v1};
use berth_tests::verdicts::Verdicts;
use berth_tests::{Cluster, command, process};

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

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().map(String::as_str).eq(["look"]) {
        look();
        return ExitCode::SUCCESS;
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-limits: only inside a machine of ci/vm with sockets=2,cores=4,threads=2");
        return ExitCode::from(2);
    }
    let mut counts = Verdicts::default();
    // What was once charged to a group of version 2 keeps the memory's controller there until the next boot.
    match words.as_slice() {
        [version, words @ ..] if version == "v1" => match v1::enter_with(&["memory"]) {
            Ok(()) => play(words, v1::CONF, &mut counts),
            Err(why) => println!("skip cgroups of version 1: {why}"),
        },
        words => play(words, "", &mut counts),
    }
    counts.end("lines")
}

/// Everything, with this line before the others of `cgroup.conf`.
fn play(words: &[String], plugin: &str, counts: &mut Verdicts) {
    for percent in [100, 150] {
        let cluster = cluster(plugin, percent);
        let site = format!("{plugin}AllowedRAMSpace={percent}").replace('\n', " ");
        for line in LINES {
            let text = format!("{site}: salloc {} srun {}", line.job, line.step);
            if !words.is_empty() && !words.iter().any(|word| text.contains(word.as_str())) {
                continue;
            }
            as_expected(counts, &text, || wrong(&cluster, line, percent));
        }
        as_expected(counts, &format!("{site}: berth env"), || {
            facts(&cluster, percent)
        });
        let log = cluster.slurmd_log();
        as_expected(counts, &format!("{site}: every task is confined"), || {
            log.contains("not confined").then_some(log)
        });
    }
}

/// Judges a line of which nothing may differ.
fn as_expected(counts: &mut Verdicts, name: &str, wrong: impl FnOnce() -> Option<String>) {
    counts.judge(name, || {
        if let Some(wrong) = wrong() {
            panic!("{wrong}");
        }
        None
    });
}

/// A task's node, its CPUs as it is told, as its affinity and as its leaf has them, those of the step and the job, and
/// the limits of memory from its leaf upwards to the job.
fn look() {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let mask = process::own_status("Cpus_allowed_list");
    let folders = own::folders("cpuset");
    let cpus = |folder: Option<&PathBuf>| own::effective(folder.expect("a folder"), "cpus");
    let cpus = [folders.first(), folders.get(1), folders.last()].map(cpus);
    let memory = own::folders("memory").into_iter().map(|folder| {
        let bytes = own::memory(&folder);
        bytes.map_or_else(|| "max".to_owned(), |bytes| bytes.to_string())
    });
    let memory: Vec<_> = memory.collect();
    let (node, told) = (env("SLURMD_NODENAME"), env("BERTH_CPUS"));
    // One write, because the tasks share the output.
    let line = format!(
        "{node} {told} {mask} {} {}\n",
        cpus.join(" "),
        memory.join(" ")
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn cluster(plugin: &str, percent: u64) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    let conf =
        format!("{plugin}ConstrainCores=yes\nConstrainRAMSpace=yes\nAllowedRAMSpace={percent}\n");
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
    let me = std::env::current_exe().expect("this program's path");
    let task = ["--cpu-bind=threads", &me.to_string_lossy(), "look"];
    let words: Vec<_> = job.chain(["srun"]).chain(step).chain(task).collect();
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
    let [own @ .., whole] = memory else {
        return Some("limits of memory are expected".into());
    };
    // Slurm's releases limit a step at one or the other of its folders.
    let has_step = own.contains(&step);
    let is_rest_free = own.iter().all(|limit| [step, "max"].contains(limit));
    (*whole != job || !has_step || !is_rest_free)
        .then(|| format!("memory of the job should be {job}, of the step {step}"))
}
