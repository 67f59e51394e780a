//! `berth-cpusets [WORD…]`: the lines of LSF's page on cpusets with the real srun, on a machine of two NUMA nodes
//! with eight CPUs each, for the virtual machines of `ci/vm`. For each line the kernel says which CPUs and memory
//! nodes a task has, by its mask and by its cgroup, and `berth plan` is asked before; words choose lines.

use std::process::ExitCode;

use berth_tests::{Cluster, Done};

/// A line: options of srun, the cpuset, the CPUs of its tasks and the memory nodes of its cgroup, or why
/// it is refused.
struct Line {
    options: &'static str,
    cpuset: &'static str,
    found: Result<(&'static str, &'static str), &'static str>,
}

const fn line(
    options: &'static str,
    cpuset: &'static str,
    found: Result<(&'static str, &'static str), &'static str>,
) -> Line {
    Line {
        options,
        cpuset,
        found,
    }
}

/// Best fit.
const BEST: &[Line] = &[
    line(
        "-n8",
        "CPUSET[CPUSET_TYPE=dynamic;CPU_LIST=1, 5, 7-12;]",
        Ok(("1,5,7-12", "0-1")),
    ),
    line(
        "-n8",
        "SGI_CPUSET[CPU_LIST=1, 5, 7-12;]",
        Ok(("1,5,7-12", "0-1")),
    ),
    line(
        "-n8",
        "CPU_LIST=1, 5, 7-12;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE|CPUSET_MEMORY_LOCAL",
        Ok(("1,5,7-12", "0-1")),
    ),
    line(
        "-n8",
        "CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
        Ok(("0-7", "0-1")),
    ),
    line("-n3", "CPU_LIST=1,2,3", Ok(("1-3", "0-1"))),
    line("-n2", "CPU_LIST=1,3", Ok(("1,3", "0-1"))),
    // Two of the list in one NUMA node, where one and four others are.
    line("-n2", "CPU_LIST=7,8-12", Ok(("8-9", "0-1"))),
    line("-n4", "CPU_LIST=7,8-12;MAX_RADIUS=0", Ok(("8-11", "0-1"))),
    line("-n6", "CPU_LIST=7,8-12;MAX_RADIUS=0", Err("MAX_RADIUS=0")),
    line("-n10", "MAX_RADIUS=0", Err("MAX_RADIUS=0")),
    line("-n10", "MAX_RADIUS=1", Ok(("0-9", "0-1"))),
    line("-n4", "MAX_CPU_PER_NODE=2", Ok(("0-1,8-9", "0-1"))),
    line("-n3", "NODE_EX=Y", Ok(("0-7", "0-1"))),
    line("-n2", "MEM_LIST=1", Ok(("0-1", "0-1"))),
    line("-n2", "MEM_LIST=0,1-2", Ok(("0-1", "0-1"))),
    line(
        "-n2",
        "CPU_LIST=8-15;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY",
        Ok(("8-15", "1")),
    ),
    line(
        "-n2",
        "CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY|CPUSET_POLICY_KILL;MEM_LIST=1",
        Ok(("0-7", "0-1")),
    ),
    line("-n8", "CPUSET_TYPE=none", Ok(("0-15", "0-1"))),
    line("-n2", "CPU_LIST=77", Err("CPU_LIST")),
];

/// First fit.
const FIRST: &[Line] = &[
    line("-n3", "CPU_LIST=12,1-9", Ok(("1-2,12", "0-1"))),
    line("-n8", "CPU_LIST=1, 5, 7-12", Ok(("1,5,7-12", "0-1"))),
    line("-n10", "MAX_RADIUS=0", Ok(("0-9", "0-1"))),
];

/// What a task says of itself: its mask, its cgroup's CPUs and memory nodes.
const LOOK: &str = "grep -h Cpus_allowed_list /proc/self/status | cut -f2; \
    own=$(sed -n 's/^0:://p' /proc/self/cgroup); cat /sys/fs/cgroup$own/cpuset.cpus.effective \
    /sys/fs/cgroup$own/cpuset.mems.effective";

struct Site<'a> {
    cluster: Cluster,
    words: &'a [String],
    failed: u32,
    passed: u32,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-cpusets: only inside a machine of ci/vm with sockets=2,cores=4,threads=2 and two NUMA nodes"
        );
        return ExitCode::from(2);
    }
    let mut all = (0, 0);
    for (settings, lines) in [("", BEST), ("cpuset_best=off", FIRST)] {
        let cluster = Cluster::builder()
            .example("cgroup")
            .plugstack(Some(settings));
        let mut site = Site {
            cluster: cluster.up(),
            words: &words,
            failed: 0,
            passed: 0,
        };
        lines.iter().for_each(|line| site.play(line));
        all = (all.0 + site.passed, all.1 + site.failed);
    }
    println!("{} lines as expected, {} not", all.0, all.1);
    match all {
        (0, _) => ExitCode::FAILURE,
        (_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

impl Site<'_> {
    fn play(&mut self, line: &Line) {
        let text = format!("{} --cpuset='{}'", line.options, line.cpuset);
        if !self.words.is_empty() && !self.words.iter().any(|word| text.contains(word.as_str())) {
            return;
        }
        let cpuset = format!("--cpuset={}", line.cpuset);
        let options = [line.options, "--exclusive", "--cpu-bind=none", &cpuset];
        let planned = self.plan(&options);
        let done = self
            .cluster
            .run("srun", &[&options[..], &["/bin/sh", "-c", LOOK]].concat());
        let wrong = match line.found {
            Ok(found) => differs(found, &planned, &done),
            Err(why) => refused(why, &planned, &done),
        };
        match wrong {
            None => {
                self.passed += 1;
                println!("pass {text}");
            }
            Some(wrong) => {
                self.failed += 1;
                println!("FAIL {text}: {wrong}\n  plan {planned:?}\n  srun {done:?}");
            }
        }
    }

    fn plan(&self, options: &[&str]) -> Done {
        let berth = berth_tests::command();
        let state = self.cluster.folder().join("run/berth");
        let state = state.to_str().expect("a path");
        let words = [&["plan", "--whole", "--format=cpus"], options].concat();
        let variables = [("BERTH_STATE_DIR", state)];
        self.cluster
            .run_with(&berth.to_string_lossy(), &words, &variables)
    }
}

/// How the kernel's or the plan's answer differs.
fn differs((cpus, mems): (&str, &str), planned: &Done, done: &Done) -> Option<String> {
    if !done.ok() || !planned.ok() {
        return Some("it is refused".into());
    }
    let is_whole = cpus == "0-15";
    let mut plans = planned.stdout.lines();
    // A task that is bound to nothing has the whole node.
    if let Some(other) = plans.find(|found| *found != cpus && !(is_whole && *found == "none")) {
        return Some(format!("the plan has {other}"));
    }
    let lines: Vec<_> = done.stdout.lines().collect();
    let mut tasks = lines
        .iter()
        .filter(|found| **found != cpus && **found != mems);
    if let Some(other) = tasks.next() {
        return Some(format!("a task has {other}"));
    }
    let count = |text: &str| lines.iter().filter(|found| **found == text).count();
    // The mask and the cgroup's CPUs of each task, and its cgroup's memory nodes.
    let is_all = count(cpus) == 2 * count(mems) && count(mems) > 0;
    (!is_all).then(|| {
        format!(
            "{} times its CPUs, {} times its memory",
            count(cpus),
            count(mems)
        )
    })
}

fn refused(why: &str, planned: &Done, done: &Done) -> Option<String> {
    let both = [(planned, "the plan"), (done, "srun")];
    let mut wrong = both
        .into_iter()
        .filter(|(one, _)| one.ok() || !one.stderr.contains(why));
    wrong
        .next()
        .map(|(_, who)| format!("{who} does not say {why}"))
}
