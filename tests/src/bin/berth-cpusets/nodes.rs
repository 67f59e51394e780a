//! Jobs on two nodes: each node chooses for itself. The two slurmds share the machine's CPUs, and each has a ledger
//! and cgroups of its own, so that a CPU can be taken on one of them alone.

use std::collections::BTreeSet;

use berth_tests::Done;

use crate::site::Site;

const LIST: &str = "--cpuset=CPU_LIST=1,3";

/// The CPUs of the list that are taken on each node, and the one that a task then gets there.
const TABLE: [([bool; 2], [&str; 2]); 4] = [
    ([false, false], ["1", "1"]),
    ([false, true], ["1", "3"]),
    ([true, false], ["3", "1"]),
    ([true, true], ["3", "3"]),
];

pub fn play(site: &Site) {
    let names = site.cluster.run("sinfo", &["-h", "-N", "-o", "%N"]);
    let names: BTreeSet<_> = names
        .stdout
        .lines()
        .map(|name| name.trim().to_owned())
        .collect();
    let names: Vec<_> = names.into_iter().collect();
    let text = "-N2 --ntasks-per-node=1 --exclusive --cpuset='CPU_LIST=1,3'";
    site.judge(text, || {
        let done = site.look(&["-N2", "--ntasks-per-node=1", "--exclusive", LIST]);
        differs(&done, &one_each(&names, ["1", "1"]))
    });
    for (taken, cpus) in TABLE {
        let text = format!("-N2 --ntasks-per-node=1 {LIST}, CPU 1 taken: {taken:?}");
        site.judge(&text, || list(site, &names, taken, cpus));
    }
    let text = "-N2 -n4 --ntasks-per-node=2 --cpuset='MEM_LIST=1'";
    site.judge(text, || {
        let done = site.look(&["-N2", "-n4", "--ntasks-per-node=2", "--cpuset=MEM_LIST=1"]);
        let place = "0-1 0-1 0-1 prefer (many):0-1";
        let task = |name: &String| format!("{name} {place}");
        let expected = [&names[0], &names[0], &names[1], &names[1]].map(task);
        differs(&done, &expected)
    });
    let text = "-N2 -n2 --cpuset='MAX_RADIUS=1'";
    site.judge(text, || {
        let done = site.look(&["-N2", "-n2", "--cpuset=MAX_RADIUS=1"]);
        let is_refused = !done.ok() && done.stderr.contains("MAX_RADIUS");
        (!is_refused).then(|| format!("not refused: {done:?}"))
    });
}

/// The job has all CPUs of both nodes, and others hold CPU 1 on some of them.
fn list(site: &Site, names: &[String], taken: [bool; 2], cpus: [&str; 2]) -> Option<String> {
    let holders = names.iter().zip(taken).filter(|(_, is_taken)| *is_taken);
    let holders = holders.map(|(name, _)| site.hold(Some(name), "1", 1));
    let holders: Vec<_> = holders.collect();
    let cpuset = format!("{LIST};NCPUS=1");
    let job = ["-N2", "--ntasks-per-node=16", "--partition=shared", &cpuset];
    let done = site.look_in(&job, &["-n2", "--ntasks-per-node=1"]);
    site.release(&holders);
    differs(&done, &one_each(names, cpus))
}

/// What one task on each node says.
fn one_each(names: &[String], cpus: [&str; 2]) -> Vec<String> {
    let task = |(name, cpu): (&String, &str)| format!("{name} {cpu} {cpu} 0-1 default");
    names.iter().zip(cpus).map(task).collect()
}

/// The tasks' lines, in any order.
fn differs(done: &Done, expected: &[String]) -> Option<String> {
    let mut found: Vec<_> = done.stdout.lines().collect();
    found.sort_unstable();
    (found != expected).then(|| format!("not {expected:?}: {done:?}"))
}
