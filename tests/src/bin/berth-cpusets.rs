//! `berth-cpusets [WORD…]`: the lines of LSF's page on cpusets as jobs of salloc, on a machine of two NUMA nodes
//! with eight CPUs each, for the virtual machines of `ci/vm`. For each line the kernel says which CPUs and memory
//! nodes a task has, by its mask and by its cgroup, and `berth plan` is asked before; words choose lines.

use std::process::ExitCode;

use berth_tests::{Cluster, Done};

/// CPUs of the tasks, memory nodes of their cgroups, and their memory policy as the kernel writes it.
type Found = (&'static str, &'static str, &'static str);

const DEFAULT: &str = "default";

/// A line: options of the job, its cpuset, the CPUs of its tasks and the memory nodes of its cgroup, or why
/// it is refused.
struct Line {
    options: &'static str,
    cpuset: &'static str,
    found: Result<Found, &'static str>,
}

const fn line(
    options: &'static str,
    cpuset: &'static str,
    found: Result<Found, &'static str>,
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
        Ok(("1,5,7-12", "0-1", DEFAULT)),
    ),
    line(
        "-n8",
        "SGI_CPUSET[CPU_LIST=1, 5, 7-12;]",
        Ok(("1,5,7-12", "0-1", DEFAULT)),
    ),
    line(
        "-n8",
        "CPU_LIST=1, 5, 7-12;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE|CPUSET_MEMORY_LOCAL",
        Ok(("1,5,7-12", "0-1", "prefer (many):0-1")),
    ),
    line(
        "-n8",
        "CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
        Ok(("0-7", "0-1", DEFAULT)),
    ),
    line("-n3", "CPU_LIST=1,2,3", Ok(("1-3", "0-1", DEFAULT))),
    line("-n2", "CPU_LIST=1,3", Ok(("1,3", "0-1", DEFAULT))),
    // Two of the list in one NUMA node, where one and four others are.
    line("-n2", "CPU_LIST=7,8-12", Ok(("8-9", "0-1", DEFAULT))),
    line(
        "-n4",
        "CPU_LIST=7,8-12;MAX_RADIUS=0",
        Ok(("8-11", "0-1", DEFAULT)),
    ),
    line("-n6", "CPU_LIST=7,8-12;MAX_RADIUS=0", Err("MAX_RADIUS=0")),
    line("-n10", "MAX_RADIUS=0", Err("MAX_RADIUS=0")),
    line("-n10", "MAX_RADIUS=1", Ok(("0-9", "0-1", DEFAULT))),
    line("-n4", "MAX_CPU_PER_NODE=2", Ok(("0-1,8-9", "0-1", DEFAULT))),
    line("-n3", "NODE_EX=Y", Ok(("0-7", "0-1", DEFAULT))),
    line("-n2", "MEM_LIST=1", Ok(("0-1", "0-1", "prefer (many):0-1"))),
    line(
        "-n2",
        "MEM_LIST=0,1-2",
        Ok(("0-1", "0-1", "prefer (many):0-1")),
    ),
    line(
        "-n2",
        "CPU_LIST=9-12;CPUSET_OPTIONS=CPUSET_MEMORY_LOCAL",
        Ok(("10-11", "0-1", "prefer (many):1")),
    ),
    line(
        "-n2",
        "CPU_LIST=8-15;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY",
        Ok(("8-15", "1", DEFAULT)),
    ),
    line(
        "-n2",
        "CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY|CPUSET_POLICY_KILL;MEM_LIST=1",
        Ok(("0-7", "0-1", DEFAULT)),
    ),
    line("-n8", "CPUSET_TYPE=none", Ok(("0-15", "0-1", DEFAULT))),
    line("-n2", "CPU_LIST=77", Err("CPU_LIST")),
];

/// First fit.
const FIRST: &[Line] = &[
    line("-n3", "CPU_LIST=12,1-9", Ok(("1-2,12", "0-1", DEFAULT))),
    line(
        "-n8",
        "CPU_LIST=1, 5, 7-12",
        Ok(("1,5,7-12", "0-1", DEFAULT)),
    ),
    line("-n10", "MAX_RADIUS=0", Ok(("0-9", "0-1", DEFAULT))),
];

/// What a task says of itself: its mask, its cgroup's CPUs and memory nodes, and its memory policy.
const LOOK: &str = "own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup); \
    echo \"$(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $(cat $own/cpuset.cpus.effective) \
    $(cat $own/cpuset.mems.effective) $(sed -nE '1s/^[0-9a-f]+ (prefer .many.:[^ ]*|[^ ]*).*/\\1/p' \
    /proc/self/numa_maps)\"";

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
        let planned = self.plan(&[line.options, "--cpu-bind=none", &cpuset]);
        // srun's own --exclusive would give its step fewer cores than the job has.
        let job = [line.options, "-N1", "--exclusive", &cpuset];
        let step = ["srun", "--cpu-bind=none", "/bin/sh", "-c", LOOK];
        let done = self.cluster.run("salloc", &[&job[..], &step].concat());
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
                println!("FAIL {text}: {wrong}\n  plan {planned:?}\n  job {done:?}");
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
fn differs((cpus, mems, policy): Found, planned: &Done, done: &Done) -> Option<String> {
    if !done.ok() || !planned.ok() {
        return Some("it is refused".into());
    }
    let is_whole = cpus == "0-15";
    let mut plans = planned.stdout.lines();
    // A task that is bound to nothing has the whole node.
    if let Some(other) = plans.find(|found| *found != cpus && !(is_whole && *found == "none")) {
        return Some(format!("the plan has {other}"));
    }
    let expected = format!("{cpus} {cpus} {mems} {policy}");
    let mut tasks = done.stdout.lines().filter(|found| *found != expected);
    let other = tasks
        .next()
        .map(|other| format!("a task has {other}, not {expected}"));
    other.or_else(|| {
        done.stdout
            .is_empty()
            .then(|| "no task said anything".into())
    })
}

fn refused(why: &str, planned: &Done, done: &Done) -> Option<String> {
    let both = [(planned, "the plan"), (done, "the job")];
    let mut wrong = both
        .into_iter()
        .filter(|(one, _)| one.ok() || !one.stderr.contains(why));
    wrong
        .next()
        .map(|(_, who)| format!("{who} does not say {why}"))
}
