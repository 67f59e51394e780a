//! `berth status --pools`: the pools of a node, as slurmd has announced them, what their jobs own and get, and how much the
//! other jobs wait. Root reads the ledger and cgroups; everybody else sees the pools, but not how full they are.
//! In: the state directories of some nodes. Out: a table or JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use berth_answer::json;
use berth_host::ledger::{Entry, look};
use berth_host::{StateDir, announcement, ledger};
use berth_site::announcement::{AnnouncedPool, Announcement};
use nix::unistd::Uid;
use serde::Serialize;

use super::live::{Live, rounded};
use crate::args::{StatusArgs, StatusFormat};
use crate::{Failure, say};

/// The word for a figure that the kernel does not count.
const UNKNOWN: &str = "unknown";

/// A pool of a node.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    node: String,
    pool: String,
    partition: String,
    /// The most CPUs that its jobs own together.
    cpus: u32,
    /// The CPUs that they own now; null for users.
    owned: Option<usize>,
    /// The jobs that run in it; null for users.
    jobs: Option<Vec<u32>>,
    /// Those that Slurm has suspended: they own nothing meanwhile; null for users.
    suspended: Option<Vec<u32>>,
    /// `cpu.weight` of a job that has as many CPUs as the pool.
    weight: u32,
    /// That of every job in no pool.
    others: u32,
    /// The CPUs that its jobs have kept busy on average so far; null for users, and where the kernel does not count.
    delivered: Option<f64>,
    /// The CPUs that each job in `jobs` has kept busy on average so far; null for users, and for a job where the kernel
    /// does not count.
    job_delivered: Option<Vec<Option<f64>>>,
    /// The node's jobs outside of all pools; null for users, and where the kernel does not count.
    other_jobs: Option<usize>,
    /// The part of the last ten seconds in which one of those waited for a CPU, in per cent, for the one that waited
    /// most; null for users, without jobs, and where the kernel does not count.
    others_waited: Option<f64>,
}

/// The use of a node's pools, which root sees beside the announcement.
struct PoolUse {
    entries: Vec<Entry>,
    live: Live,
}

/// Writes the answer for these nodes.
///
/// # Errors
/// A node that slurmd has not announced, or whose ledger cannot be read.
pub(super) fn once(
    args: &StatusArgs,
    base: &Path,
    nodes: &[String],
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut all = Vec::new();
    for name in nodes {
        let dir = StateDir::new(base, name)?;
        let words = announcement::read(&dir)?;
        let seen = match Uid::effective().is_root() {
            true => {
                let entries = look(&dir)?;
                let live = Live::of(name, &entries);
                Some(PoolUse { entries, live })
            }
            false => None,
        };
        all.extend(rows(name, &words, seen.as_ref()));
    }
    match args.format {
        StatusFormat::Json => json::write(out, "berth-pools", "pools", &all)?,
        StatusFormat::Table if all.is_empty() => writeln!(out, "no node here has pools")?,
        StatusFormat::Table => table(&all, out)?,
    }
    Ok(())
}

fn rows(node: &str, words: &Announcement, seen: Option<&PoolUse>) -> Vec<Row> {
    let Some(weights) = words.pool_weights() else {
        return Vec::new();
    };
    let row = |pool: &AnnouncedPool| {
        let its = seen.map(|seen| of_pool(&seen.entries, &pool.name, words.threads_of_cpu()));
        let running = its.as_ref().map(|its| its.running.iter());
        let jobs: Option<Vec<_>> = running
            .clone()
            .map(|all| all.map(|(job, _)| *job).collect());
        let live = seen.map(|seen| &seen.live);
        let delivered = |job: &u32| live?.delivered.get(job).copied().flatten().map(rounded);
        let others = live.and_then(|live| live.others);
        let sum = live
            .zip(jobs.as_ref())
            .and_then(|(live, jobs)| live.sum(jobs));
        Row {
            node: node.into(),
            pool: pool.name.clone(),
            partition: pool.partition.clone(),
            cpus: pool.cpus,
            owned: running.map(|all| all.map(|(_, cpus)| cpus).sum()),
            weight: weights.of_job(pool.weight, pool.cpus),
            others: weights.others,
            delivered: sum.map(rounded),
            job_delivered: jobs
                .as_ref()
                .map(|jobs| jobs.iter().map(delivered).collect()),
            other_jobs: others.map(|others| others.jobs),
            others_waited: others.and_then(|others| others.most),
            jobs,
            suspended: its.map(|its| its.suspended),
        }
    };
    words.pools.iter().map(row).collect()
}

/// The jobs of a pool.
struct Jobs {
    /// Each with the number of its CPUs.
    running: Vec<(u32, usize)>,
    /// They have left room in the pool.
    suspended: Vec<u32>,
}

/// The jobs of a pool whose CPUs have so many hardware threads.
fn of_pool(entries: &[Entry], name: &str, threads: u32) -> Jobs {
    let is_its = |entry: &&Entry| entry.pool && entry.request == name;
    let its: Vec<Entry> = entries.iter().filter(is_its).cloned().collect();
    let count = |entry: &Entry| entry.cpus.count().div_ceil(threads as usize);
    let jobs: BTreeMap<u32, usize> = its
        .iter()
        .map(|entry| (entry.step.job, count(entry)))
        .collect();
    let (suspended, running): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .partition(|(job, _)| ledger::is_suspended(&its, *job));
    Jobs {
        running,
        suspended: suspended.into_iter().map(|(job, _)| job).collect(),
    }
}

fn table(all: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    let heads = [
        "HOSTNAME",
        "POOL",
        "PARTITION",
        "NCPUS",
        "NOWNED",
        "NJOBS",
        "WEIGHT",
        "OTHERS",
        "DELIVERED",
        "WAITED",
    ];
    let rows = all.iter().map(|row| {
        let partition = match row.partition.as_str() {
            "" => "-",
            name => name,
        };
        vec![
            row.node.clone(),
            row.pool.clone(),
            partition.into(),
            row.cpus.to_string(),
            or_dash(row.owned),
            or_dash(row.jobs.as_ref().map(Vec::len)),
            row.weight.to_string(),
            row.others.to_string(),
            delivered(row),
            waited(row),
        ]
    });
    say::table(out, heads, rows)
}

fn or_dash(number: Option<usize>) -> String {
    number.map_or_else(|| "-".into(), |number| number.to_string())
}

fn delivered(row: &Row) -> String {
    match (row.delivered, &row.jobs) {
        (Some(cpus), _) => format!("{cpus:.2}"),
        (None, Some(_)) => UNKNOWN.into(),
        (None, None) => "-".into(),
    }
}

fn waited(row: &Row) -> String {
    match (row.others_waited, row.other_jobs, &row.jobs) {
        (Some(share), ..) => format!("{share:.0}%"),
        (None, Some(0), _) | (None, _, None) => "-".into(),
        (None, _, Some(_)) => UNKNOWN.into(),
    }
}

#[cfg(test)]
mod tests {
    use berth_host::cgroup::Waiting;
    use berth_host::ledger::{StepKey, Task};
    use berth_placement::CpuSet;
    use berth_site::SiteRules;
    use berth_site::announcement::AnnouncedPool;
    use berth_site::rules::VERSION;

    use super::*;

    #[test]
    fn a_job_with_two_steps_counts_once() {
        let entry = |job, step, pool: &str, cpus: &str| Entry {
            step: StepKey {
                job,
                step,
                component: 0,
            },
            pool: true,
            request: pool.into(),
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        };
        let bound = Entry {
            pool: false,
            ..entry(9, 0, "multi8", "8-9")
        };
        let entries = vec![
            entry(1, 0, "multi8", "0-3"),
            entry(1, 1, "multi8", "0-3"),
            entry(2, 0, "multi8", "4"),
            entry(3, 0, "multi4", "5"),
            bound,
        ];
        let seen = seen(entries);
        let mut words = Announcement::default();
        assert_eq!(rows("n1", &words, Some(&seen)), []);
        words.pools = vec![AnnouncedPool {
            name: "multi8".into(),
            cpus: 8,
            weight: 10_000,
            ..AnnouncedPool::default()
        }];
        let found = rows("n1", &words, Some(&seen));
        assert_eq!(
            (found[0].owned, found[0].jobs.clone()),
            (Some(5), Some(vec![1, 2]))
        );
        assert_eq!((found[0].weight, found[0].others), (10_000, 38));
        assert_eq!(found[0].suspended, Some(vec![]));
        let last = cells(&rows("n1", &words, None));
        assert_eq!(last, "n1 multi8 - 8 - - 10000 38 - -");
    }

    #[test]
    fn a_suspended_job_owns_nothing() {
        let entry = |step, suspended| Entry {
            step: StepKey {
                job: 1,
                step,
                component: 0,
            },
            pool: true,
            request: "multi8".into(),
            cpus: CpuSet::from_list("0-3").unwrap(),
            waits: suspended,
            task: Some(Task::default()),
            ..Entry::default()
        };
        let its = |all: &[Entry]| {
            let its = of_pool(all, "multi8", 1);
            (its.running, its.suspended)
        };
        let suspended = [entry(0, true), entry(1, true)];
        assert_eq!(its(&suspended), (vec![], vec![1]));
        // Slurm suspends all steps of a job.
        assert_eq!(
            its(&[entry(0, true), entry(1, false)]),
            (vec![(1, 4)], vec![])
        );
    }

    /// The use of pools where nothing is counted.
    fn seen(entries: Vec<Entry>) -> PoolUse {
        let live = Live::default();
        PoolUse { entries, live }
    }

    /// The table's last line.
    fn cells(all: &[Row]) -> String {
        let mut text = Vec::new();
        table(all, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let cells: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        cells.join(" ")
    }

    #[test]
    fn what_jobs_get_is_shown_as_far_as_the_kernel_counts() {
        let entry = |job, cpus: &str| Entry {
            step: StepKey {
                job,
                step: 0,
                component: 0,
            },
            pool: true,
            request: "multi8".into(),
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        };
        let words = Announcement {
            pools: vec![AnnouncedPool {
                name: "multi8".into(),
                cpus: 8,
                weight: 10_000,
                ..AnnouncedPool::default()
            }],
            ..Announcement::default()
        };
        let mut seen = seen(vec![entry(1, "0-5"), entry(2, "6-7")]);
        let known = "n1 multi8 - 8 8 2 10000 38";
        let last = |seen: &PoolUse| cells(&rows("n1", &words, Some(seen)));
        assert_eq!(last(&seen), format!("{known} unknown unknown"));
        seen.live.delivered = BTreeMap::from([(1, Some(5.904)), (2, Some(1.9))]);
        let waiting = |jobs, most| Some(Waiting { jobs, most });
        for (others, shown) in [
            (waiting(3, Some(96.51)), "7.80 97%"),
            (waiting(0, None), "7.80 -"),
            (waiting(3, None), "7.80 unknown"),
        ] {
            seen.live.others = others;
            assert_eq!(last(&seen), format!("{known} {shown}"));
        }
        let found = rows("n1", &words, Some(&seen));
        assert_eq!(found[0].job_delivered, Some(vec![Some(5.9), Some(1.9)]));
        seen.live.delivered.insert(2, None);
        let found = rows("n1", &words, Some(&seen));
        let delivered = (found[0].delivered, found[0].job_delivered.clone());
        assert_eq!(delivered, (None, Some(vec![Some(5.9), None])));
    }

    #[test]
    fn where_slurmd_counts_cores_a_cpu_is_a_core() {
        let entry = Entry {
            pool: true,
            request: "multi8".into(),
            cpus: CpuSet::from_list("0-3,8-11").unwrap(),
            ..Entry::default()
        };
        let mut words = Announcement::default();
        let counted = SiteRules {
            version: VERSION,
            cpu_threads: 2,
            ..SiteRules::default()
        };
        words.set_rules(&counted);
        assert_eq!(words.threads_of_cpu(), 2);
        let found = of_pool(&[entry], "multi8", words.threads_of_cpu());
        assert_eq!(found.running, [(0, 4)]);
        assert_eq!(Announcement::default().threads_of_cpu(), 1);
    }
}
