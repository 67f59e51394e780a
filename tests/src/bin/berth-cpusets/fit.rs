//! How CPUs are chosen while another job has some for itself: the rows of LSF's table, best fit, radius and first fit,
//! each with and without a list of CPUs. The other job leaves the second thread of each core of the first NUMA node.

use berth_tests::Done;

use crate::site::Site;

/// CPUs of the other job, and how many they are.
const TAKEN: (&str, u32) = ("0,2,4,6", 4);

/// How many CPUs a job wants, its cpuset, and its CPUs or why it is refused.
type Line = (u32, &'static str, Result<&'static str, &'static str>);

/// Best fit, and the smallest radius.
pub const BEST: &[Line] = &[
    (6, "CPUSET_TYPE=dynamic", Ok("8-13")),
    (6, "MAX_RADIUS=0", Ok("8-13")),
    // Of two NUMA nodes, with as few whole cores broken as can be.
    (9, "CPUSET_TYPE=dynamic", Ok("1,8-15")),
    (9, "MAX_RADIUS=1", Ok("1,8-15")),
    (9, "MAX_RADIUS=0", Err("MAX_RADIUS=0")),
    (6, "CPU_LIST=1,3,5,7,8-13", Ok("8-13")),
    (6, "CPU_LIST=1,3,5,7,8-13;MAX_RADIUS=0", Ok("8-13")),
    (7, "CPU_LIST=1,3,5,7,8-13", Ok("1,8-13")),
    (7, "CPU_LIST=1,3,5,7,8-13;MAX_RADIUS=0", Err("MAX_RADIUS=0")),
    (4, "CPU_LIST=0-7", Ok("1,3,5,7")),
    (5, "CPU_LIST=0-7", Err("0,2,4,6")),
];

/// First fit: the radius is of no matter.
pub const FIRST: &[Line] = &[
    (6, "CPUSET_TYPE=dynamic", Ok("1,3,5,7-9")),
    (6, "MAX_RADIUS=0", Ok("1,3,5,7-9")),
    (9, "MAX_RADIUS=0", Ok("1,3,5,7-12")),
    (6, "CPU_LIST=1,3,5,7,8-13", Ok("1,3,5,7-9")),
    (7, "CPU_LIST=1,3,5,7,8-13;MAX_RADIUS=0", Ok("1,3,5,7-10")),
    // In the order of the list.
    (6, "CPU_LIST=12,1-9", Ok("1,3,5,7-8,12")),
];

pub fn play(site: &Site, lines: &[Line]) {
    let held = site.hold(None, TAKEN.0, TAKEN.1);
    for (count, cpuset, found) in lines {
        // It owns the whole node.
        let cpuset = format!("--cpuset={cpuset};NCPUS={count}");
        let text = format!("-n16 {cpuset} beside a job with {}", TAKEN.0);
        let tasks = format!("-n{count}");
        site.judge(&text, || {
            let done = site.look_in(&["-n16", "-N1", "--partition=shared", &cpuset], &[&tasks]);
            wrong(*found, &done).map(|wrong| format!("{wrong}: {done:?}"))
        });
    }
    site.release(&[held]);
}

fn wrong(found: Result<&str, &str>, done: &Done) -> Option<String> {
    match found {
        Ok(cpus) => {
            let expected = format!(" {cpus} {cpus} ");
            let is_there = |line: &str| line.contains(&expected);
            let is_right =
                done.ok() && !done.stdout.is_empty() && done.stdout.lines().all(is_there);
            (!is_right).then(|| format!("not CPUs {cpus}"))
        }
        Err(why) => {
            let is_right = !done.ok() && done.stdout.is_empty() && done.stderr.contains(why);
            (!is_right).then(|| format!("not refused because of {why}"))
        }
    }
}
