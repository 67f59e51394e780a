//! `berth-trace`: tasks of steps on three nodes, confined by `confine=task`, under the kernel's own
//! trace of its scheduler, for the virtual machines of `ci/vm`, with cgroups of each version that the kernel has. From its fork on each task ran on its job's CPUs, and
//! from its program on, with its threads and children, on its own; so do batch scripts, the daemons of mpirun, and
//! what the extern step has adopted. It is also the tasks' program.

mod kinds;
mod task;

use std::path::Path;
use std::process::ExitCode;

use berth_placement::CpuSet;
use berth_tests::confine::v1;
use berth_tests::hostile::Job;
use berth_tests::trace::{Event, Judged, Recorder, Task, judge};
use berth_tests::{Builder, Cluster, process};

/// Nodes of the cluster, all of them on this machine, and tasks on each.
const NODES: u32 = 3;
const EACH: u32 = 5;
/// Tasks that steps start at least.
const LAUNCHES: usize = 1000;
/// Tasks for which each other kind is started once on each node.
const TASKS_OF_ROUND: usize = 100;
/// Room on each CPU: many times what one step needs.
const KIB: u32 = 4096;
/// The steps' options, in turn. Each task has CPUs that no other has.
const OPTIONS: [&[&str]; 5] = [
    &["--cpu-bind=cores"],
    &["--cpu-bind=threads"],
    &["--binding=linear:1"],
    &["--map-by=core"],
    &[
        "--cpuset=CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
        "--cpu-bind=cores",
    ],
];

/// How the extern step adopts: on the job's CPUs, or on those of its first core.
const ADOPTING: [(&str, &str); 2] = [
    ("on", "adopted processes"),
    ("extern", "processes adopted on the first core"),
];

/// The cluster, this program, and the slurmstepds that stay while a step ends.
struct Site {
    cluster: Cluster,
    me: String,
    lasting: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, role] = words.as_slice() {
        assert_eq!(word, "task", "berth-trace takes no options");
        return task::run(role);
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-trace: only inside a machine of ci/vm: ci/vm run -- target/debug/berth-trace"
        );
        return ExitCode::from(2);
    }
    let me = std::env::current_exe().expect("this program's path");
    let me = me.to_string_lossy().into_owned();
    let mut is_well = traced(&me, "");
    match v1::enter() {
        Ok(()) => {
            println!("cgroups of version 1");
            is_well &= traced(&me, v1::CONF);
        }
        Err(why) => println!("skip cgroups of version 1: {why}"),
    }
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Everything, with this line before the others of `cgroup.conf`.
fn traced(me: &str, plugin: &str) -> bool {
    let (mut all, mut tasks, steps) = launched(me, plugin);
    for adopting in ADOPTING {
        if adopting.0 == "extern" && !plugin.is_empty() {
            println!(
                "skip {}: they have no leaf of their own with cgroups of version 1",
                adopting.1
            );
            continue;
        }
        tasks += adopted(me, plugin, adopting, &mut all);
    }
    report(&all, tasks, steps)
}

/// A cluster with this before its other cgroup settings, these words on berth's line, and settings of Slurm's.
fn cluster(plugin: &str, words: &str, settings: &[&str]) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    std::fs::write(&file, format!("{plugin}ConstrainCores=yes\n")).expect("cgroup.conf");
    let cluster = Cluster::builder().example("cgroup").file(&file);
    let cluster = cluster.plugstack(Some(words)).nodes(NODES);
    let with = |cluster: Builder, setting: &&str| cluster.set(setting);
    settings.iter().fold(cluster, with).up()
}

/// A job on all nodes.
fn job(cluster: &Cluster) -> Job<'_> {
    let (nodes, each) = (format!("-N{NODES}"), format!("--ntasks-per-node={EACH}"));
    Job::of_root(cluster, &[&nodes, &each, "-c2"])
}

/// What Slurm itself starts: steps, batch scripts, the daemons of mpirun.
fn launched(me: &str, plugin: &str) -> (Judged, usize, usize) {
    let site = Site {
        cluster: cluster(plugin, "confine=task", &[]),
        me: me.into(),
        lasting: 0,
    };
    let job = job(&site.cluster);
    site.a_full_trace_is_found(&job);
    site.a_task_that_leaves_is_found(&job);
    let (mut all, mut tasks, steps) = site.steps(&job);
    for _ in 0..LAUNCHES.div_ceil(TASKS_OF_ROUND) {
        tasks += site.watched(&mut all, "batch scripts", &[], kinds::batch);
        tasks += site.watched(&mut all, "daemons of mpirun", &[], kinds::mpirun);
    }
    (all, tasks, steps)
}

/// What the extern step adopts.
fn adopted(me: &str, plugin: &str, (quarantine, kind): (&str, &str), all: &mut Judged) -> usize {
    let words = format!("confine=task quarantine={quarantine}");
    let site = Site {
        cluster: cluster(plugin, &words, &["PrologFlags=Contain"]),
        me: me.into(),
        lasting: NODES as usize,
    };
    let job = job(&site.cluster);
    let option = job.option();
    let number = option.trim_start_matches("--jobid=");
    let rounds = 0..LAUNCHES.div_ceil(TASKS_OF_ROUND);
    let seen = rounds.map(|_| {
        let mut logins = kinds::Logins::start(&site);
        let pids = logins.pids();
        let work = |site: &Site| {
            let found = logins.work(site, number);
            let is_first = |task: &Task| task.own.iter().next() == task.job.iter().next();
            let is_right = |task: &Task| match quarantine {
                // The machines of this test have two threads a core.
                "extern" => task.own.iter().count() == 2 && is_first(task),
                _ => task.own == task.job,
            };
            assert!(
                found.iter().all(is_right),
                "quarantine={quarantine}: {found:?}"
            );
            found
        };
        site.watched(all, kind, &pids, work)
    });
    seen.sum()
}

/// What was seen, in words, and whether all is well.
fn report(all: &Judged, tasks: usize, steps: usize) -> bool {
    let Judged {
        whole,
        runs,
        others,
        wrong,
    } = all;
    wrong
        .iter()
        .take(20)
        .for_each(|wrong| println!("FAIL {wrong}"));
    println!(
        "{whole} of {tasks} tasks in {steps} steps, scripts, daemons and adopted processes on {NODES} nodes seen from fork to end, started {} times before their \
         program and {} times after it, with {others} threads and children; {} on other CPUs or not seen whole",
        runs.0,
        runs.1,
        wrong.len()
    );
    wrong.is_empty() && *whole == tasks
}

impl Site {
    /// The name of a node.
    fn node(&self, number: u32) -> String {
        let shown = self
            .cluster
            .run("sinfo", &["-h", "-N", "-o", "%N"])
            .expect_ok();
        let mut names: Vec<_> = shown.split_whitespace().collect();
        names.sort_unstable();
        names.dedup();
        names[number as usize - 1].to_owned()
    }

    /// Traces processes of another kind, and counts them.
    fn watched(
        &self,
        all: &mut Judged,
        kind: &str,
        beside: &[i32],
        start: impl FnOnce(&Self) -> Vec<Task>,
    ) -> usize {
        let recorder = self.recorder(KIB, beside);
        let found = start(self);
        self.wait_for_end();
        self.add(all, &recorder, &found, kind);
        println!("{} {kind} on {NODES} nodes", found.len());
        found.len()
    }

    /// Judges what a trace has of tasks.
    fn add(&self, all: &mut Judged, recorder: &Recorder, found: &[Task], what: &str) {
        let trace = recorder
            .take()
            .unwrap_or_else(|lost| panic!("events were lost: {}", lost.0));
        let judged = judge(found, trace.lines().filter_map(Event::read));
        all.whole += judged.whole;
        all.runs = (all.runs.0 + judged.runs.0, all.runs.1 + judged.runs.1);
        all.others += judged.others;
        let wrong = judged.wrong.into_iter();
        all.wrong
            .extend(wrong.map(|wrong| format!("{what} {wrong}")));
    }

    /// Waits for the end of all slurmstepds but those of extern steps that last.
    fn wait_for_end(&self) {
        let folder = self.cluster.folder().to_string_lossy();
        self.cluster.wait_for("the slurmstepds' end", || {
            (process::find("slurmstepd", &folder).len() <= self.lasting).then_some(())
        });
    }

    /// The threads of all slurmds: everything of a step comes from one of them. And others beside.
    fn recorder(&self, kib: u32, beside: &[i32]) -> Recorder {
        let folder = self.cluster.folder().to_string_lossy();
        let slurmds = process::find("slurmd", &folder);
        assert_eq!(slurmds.len(), NODES as usize, "slurmds");
        let threads = slurmds.iter().flat_map(|pid| {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten();
            threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok())
        });
        let threads: Vec<i32> = threads.chain(beside.iter().copied()).collect();
        Recorder::start("berth", kib, &threads).expect("a trace of the scheduler")
    }

    /// A step to its end, and that of its slurmstepds.
    fn step(&self, job: &Job<'_>, options: &[&str], role: &str) -> Vec<Task> {
        let tasks = NODES * EACH;
        let place = [
            &*job.option(),
            &format!("-N{NODES}"),
            &format!("-n{tasks}"),
            "-c2",
        ]
        .map(String::from);
        let place: Vec<_> = place.iter().map(String::as_str).collect();
        let words = [&place[..], options, &[&self.me, "task", role]].concat();
        let text = self.cluster.srun(&words).expect_ok();
        self.wait_for_end();
        let found: Vec<_> = text.lines().map(described).collect();
        assert_eq!(found.len(), tasks as usize, "{text}");
        found
    }

    fn steps(&self, job: &Job<'_>) -> (Judged, usize, usize) {
        let recorder = self.recorder(KIB, &[]);
        let (mut all, mut tasks, mut steps) = (Judged::default(), 0, 0);
        while tasks < LAUNCHES {
            let options = OPTIONS[steps % OPTIONS.len()];
            let found = self.step(job, options, "work");
            disjoint(&found, options);
            self.add(&mut all, &recorder, &found, &format!("{options:?}"));
            (tasks, steps) = (tasks + found.len(), steps + 1);
        }
        (all, tasks, steps)
    }

    /// Where a trace has no room for a step, it says so.
    fn a_full_trace_is_found(&self, job: &Job<'_>) {
        let recorder = self.recorder(1, &[]);
        self.step(job, OPTIONS[0], "work");
        let lost = recorder.take().expect_err("4 KiB have no room for a step");
        println!("pass a full trace is found: {}", lost.0);
    }

    /// Without the fence a task goes where it wants, and the trace has it.
    fn a_task_that_leaves_is_found(&self, job: &Job<'_>) {
        let recorder = self.recorder(KIB, &[]);
        let tasks = self.step(job, &["--cpu-bind=cores", "--confine=off"], "leave");
        let trace = recorder
            .take()
            .unwrap_or_else(|lost| panic!("events were lost: {}", lost.0));
        let judged = judge(&tasks, trace.lines().filter_map(Event::read));
        assert!(
            judged.whole == tasks.len() && !judged.wrong.is_empty(),
            "{judged:?}"
        );
        println!(
            "pass tasks that leave their CPUs are found: {} times",
            judged.wrong.len()
        );
    }
}

/// `NODE TASK PID BERTH_CPUS OWN JOB`, the last two by the kernel's cgroups.
fn described(line: &str) -> Task {
    let words: Vec<_> = line.split(' ').collect();
    let [node, number, pid, told, own, job] = words[..] else {
        panic!("{line}");
    };
    let set = |list| CpuSet::from_list(list).unwrap_or_else(|_| panic!("{line}"));
    let task = Task {
        name: format!("{node} task {number}"),
        pid: pid.parse().unwrap_or_else(|_| panic!("{line}")),
        own: set(told),
        job: set(job),
    };
    // A task without a fence says "-".
    assert!(own == "-" || set(own) == task.own, "{line}");
    let all = CpuSet::from_list(&online()).expect("the kernel's list");
    assert!(
        task.own.is_subset(&task.job) && task.job.is_subset(&all) && task.job != all,
        "{line}"
    );
    task
}

fn online() -> String {
    let text = std::fs::read_to_string(Path::new("/sys/devices/system/cpu/online"));
    text.expect("the kernel's list").trim().to_owned()
}

/// No two tasks of a node have a CPU in common.
fn disjoint(tasks: &[Task], options: &[&str]) {
    for (at, one) in tasks.iter().enumerate() {
        let node = |task: &Task| task.name.split(' ').next().map(String::from);
        let mut others = tasks[..at].iter().filter(|other| node(other) == node(one));
        assert!(
            others.all(|other| !other.own.intersects(&one.own)),
            "{options:?}: {tasks:?}"
        );
    }
}
