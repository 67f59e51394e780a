//! The document's lines, one job at a time: the CPUs and memory nodes of a task by the kernel, and by `berth plan`.

use berth_tests::Done;

use crate::site::Site;

/// CPUs of the tasks, memory nodes of their cgroups, and their memory policy as the kernel writes it.
type Found = (&'static str, &'static str, &'static str);

const DEFAULT: &str = "default";

/// A line: options of the job, its cpuset, the CPUs of its tasks and the memory nodes of its cgroup, or why
/// it is refused.
pub struct Line {
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
pub const BEST: &[Line] = &[
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
    // Memory nodes that are not there are ignored.
    line(
        "-n2",
        "CPUSET[MEM_LIST=30-40]",
        Ok(("0-1", "0-1", "prefer (many):0")),
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
    line(
        "-n8",
        "CPUSET[CPUSET_TYPE=static; CPUSET_NAME=MYSET]",
        Ok(("4-11", "0-1", DEFAULT)),
    ),
    // A name alone means a static cpuset.
    line(
        "-n8",
        "CPUSET[CPUSET_NAME=MYSET]",
        Ok(("4-11", "0-1", DEFAULT)),
    ),
    line(
        "-n8",
        "CPUSET[CPUSET_TYPE=dynamic; CPUSET_NAME=MYSET]",
        Err("CPUSET_NAME"),
    ),
];

/// First fit.
pub const FIRST: &[Line] = &[
    line("-n3", "CPU_LIST=12,1-9", Ok(("1-2,12", "0-1", DEFAULT))),
    line(
        "-n8",
        "CPU_LIST=1, 5, 7-12",
        Ok(("1,5,7-12", "0-1", DEFAULT)),
    ),
    line("-n10", "MAX_RADIUS=0", Ok(("0-9", "0-1", DEFAULT))),
];

pub fn play(site: &Site, lines: &[Line]) {
    for line in lines {
        let text = format!("{} --cpuset='{}'", line.options, line.cpuset);
        site.judge(&text, || wrong(site, line));
    }
}

fn wrong(site: &Site, line: &Line) -> Option<String> {
    let cpuset = format!("--cpuset={}", line.cpuset);
    let planned = plan(site, &[line.options, "--cpu-bind=none", &cpuset]);
    // srun's own --exclusive would give its step fewer cores than the job has.
    let done = site.look(&[line.options, "-N1", "--exclusive", &cpuset]);
    let wrong = match line.found {
        Ok(found) => differs(found, &planned, &done),
        Err(why) => refused(why, &planned, &done),
    };
    wrong.map(|wrong| format!("{wrong}\n  plan {planned:?}\n  job {done:?}"))
}

fn plan(site: &Site, options: &[&str]) -> Done {
    let berth = berth_tests::command();
    let state = site.cluster.folder().join("run/berth");
    let state = state.to_str().expect("a path");
    let words = [&["plan", "--cores=all", "--format=cpus"], options].concat();
    let variables = [("BERTH_STATE_DIR", state)];
    site.cluster
        .run_with(&berth.to_string_lossy(), &words, &variables)
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
    let mut tasks = done
        .stdout
        .lines()
        .filter(|found| !found.ends_with(&format!(" {expected}")));
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
