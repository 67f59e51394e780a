//! `berth status --pools`: the pools of a node, as slurmd has announced them, and what their jobs own. Root reads the
//! ledger; everybody else sees the pools, but not how full they are.
//! In: the state directories of some nodes. Out: a table or JSON.

use std::io::Write;
use std::path::Path;

use berth_host::announcement::{self, Announcement};
use berth_host::ledger::{Entry, look};
use berth_host::{StateDir, ledger};
use nix::unistd::Uid;
use serde::Serialize;

use crate::Failure;
use crate::args::{StatusArgs, StatusFormat};
use crate::columns::write_rows;
use crate::json;

/// A pool of a node.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    node: String,
    pool: String,
    partition: String,
    class: String,
    /// The most CPUs that its jobs own together.
    cpus: u32,
    /// The CPUs that they own now; null for users.
    owned: Option<usize>,
    /// The jobs that run in it; null for users.
    jobs: Option<Vec<u32>>,
    /// `cpu.weight` of a job that has as many CPUs as the pool.
    weight: u32,
    /// That of every job in no pool.
    others: u32,
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
        let entries = match Uid::effective().is_root() {
            true => Some(look(&dir)?),
            false => None,
        };
        all.extend(rows(name, &words, entries.as_deref()));
    }
    match args.format {
        StatusFormat::Json => json::write(out, "berth-pools", "pools", &all)?,
        StatusFormat::Table if all.is_empty() => writeln!(out, "no node here has pools")?,
        StatusFormat::Table => table(&all, out)?,
    }
    Ok(())
}

fn rows(node: &str, words: &Announcement, entries: Option<&[Entry]>) -> Vec<Row> {
    let Some(weights) = words.pool_weights() else {
        return Vec::new();
    };
    let row = |pool: &announcement::AnnouncedPool| {
        let jobs = entries.map(|entries| of_pool(entries, (&pool.name, words.threads_of_cpu())));
        Row {
            node: node.into(),
            pool: pool.name.clone(),
            partition: pool.partition.clone(),
            class: pool.class.clone(),
            cpus: pool.cpus,
            owned: jobs
                .as_ref()
                .map(|jobs| jobs.iter().map(|(_, cpus)| cpus).sum()),
            jobs: jobs.map(|jobs| jobs.into_iter().map(|(job, _)| job).collect()),
            weight: weights.of_job(pool.weight, pool.cpus),
            others: weights.others,
        }
    };
    words.pools.iter().map(row).collect()
}

/// The jobs of a pool, each with the number of its CPUs, of which each has so many hardware threads.
fn of_pool(entries: &[Entry], (name, threads): (&str, u32)) -> Vec<(u32, usize)> {
    let mark = ledger::mark(name);
    let its = entries
        .iter()
        .filter(|entry| entry.pool && entry.mark == mark);
    let mut jobs: Vec<_> = its
        .map(|entry| {
            (
                entry.step.job,
                entry.cpus.count().div_ceil(threads as usize),
            )
        })
        .collect();
    jobs.sort_unstable();
    jobs.dedup_by_key(|(job, _)| *job);
    jobs
}

fn table(all: &[Row], out: &mut impl Write) -> std::io::Result<()> {
    let heads = [
        "HOSTNAME",
        "POOL",
        "PARTITION",
        "CLASS",
        "NCPUS",
        "NOWNED",
        "NJOBS",
        "WEIGHT",
        "OTHERS",
    ];
    let or_dash = |number: Option<usize>| number.map_or_else(|| "-".into(), |n| n.to_string());
    let mut rows = vec![heads.map(String::from).to_vec()];
    rows.extend(all.iter().map(|row| {
        let partition = match row.partition.as_str() {
            "" => "-",
            name => name,
        };
        vec![
            row.node.clone(),
            row.pool.clone(),
            partition.into(),
            row.class.clone(),
            row.cpus.to_string(),
            or_dash(row.owned),
            or_dash(row.jobs.as_ref().map(Vec::len)),
            row.weight.to_string(),
            row.others.to_string(),
        ]
    }));
    write_rows(out, &rows)
}

#[cfg(test)]
mod tests {
    use berth_host::SiteRules;
    use berth_host::announcement::AnnouncedPool;
    use berth_host::ledger::StepKey;
    use berth_host::site_rules::VERSION;
    use berth_placement::CpuSet;

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
            mark: ledger::mark(pool),
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        };
        let bound = Entry {
            pool: false,
            ..entry(9, 0, "multi8", "8-9")
        };
        let entries = [
            entry(1, 0, "multi8", "0-3"),
            entry(1, 1, "multi8", "0-3"),
            entry(2, 0, "multi8", "4"),
            entry(3, 0, "multi4", "5"),
            bound,
        ];
        let mut words = Announcement::default();
        assert_eq!(rows("n1", &words, Some(&entries)), []);
        words.pools = vec![AnnouncedPool {
            name: "multi8".into(),
            class: "weight".into(),
            cpus: 8,
            weight: 10_000,
            ..AnnouncedPool::default()
        }];
        let found = rows("n1", &words, Some(&entries));
        assert_eq!(
            (found[0].owned, found[0].jobs.clone()),
            (Some(5), Some(vec![1, 2]))
        );
        assert_eq!((found[0].weight, found[0].others), (10_000, 38));
        let mut text = Vec::new();
        table(&rows("n1", &words, None), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let cells: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(
            cells,
            ["n1", "multi8", "-", "weight", "8", "-", "-", "10000", "38"]
        );
    }

    #[test]
    fn where_slurmd_counts_cores_a_cpu_is_a_core() {
        let entry = Entry {
            pool: true,
            mark: ledger::mark("multi8"),
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
        let found = of_pool(&[entry], ("multi8", words.threads_of_cpu()));
        assert_eq!(found, [(0, 4)]);
        assert_eq!(Announcement::default().threads_of_cpu(), 1);
    }
}
