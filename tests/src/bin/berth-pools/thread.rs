//! What the kernel says of the threads of some processes.

use std::fs;
use std::path::PathBuf;

/// A thread: its policy, its real-time priority and its CPUs.
#[derive(Debug)]
pub(crate) struct Thread {
    pub policy: u32,
    pub priority: u32,
    pub cpus: Vec<u32>,
}

/// Seconds that threads ran, and that they could have run and had no CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub ran: f64,
    pub waited: f64,
}

/// The threads of some processes.
pub(crate) fn threads(processes: &[u32]) -> Vec<Thread> {
    folders(processes)
        .iter()
        .filter_map(|thread| {
            let stat = fs::read_to_string(thread.join("stat")).ok()?;
            let (policy, priority) = policy(&stat)?;
            Some(Thread {
                policy,
                priority,
                cpus: allowed(thread)?,
            })
        })
        .collect()
}

/// A thread's policy and its real-time priority. In: its `stat`.
pub(crate) fn policy(stat: &str) -> Option<(u32, u32)> {
    let fields: Vec<_> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some((fields.get(38)?.parse().ok()?, fields.get(37)?.parse().ok()?))
}

/// The times of those threads that may run on these CPUs, and on no others.
///
/// # Errors
/// A thread may run on some of them and on others: nobody knows where it did.
pub(crate) fn times_on(processes: &[u32], own: &[u32]) -> Result<Times, String> {
    let mut sum = Times::default();
    for thread in folders(processes) {
        let Some(cpus) = allowed(&thread) else {
            continue;
        };
        let there = cpus.iter().filter(|cpu| own.contains(cpu)).count();
        if there == 0 {
            continue;
        }
        if there < cpus.len() {
            return Err(format!(
                "a thread may run on {cpus:?}, which are only partly among {own:?}"
            ));
        }
        let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
        let mut numbers = text.split(' ').map(|text| text.parse::<f64>().ok());
        let mut next = || {
            numbers
                .next()
                .flatten()
                .map(|nanoseconds| nanoseconds / 1e9)
        };
        if let (Some(ran), Some(waited)) = (next(), next()) {
            sum.ran += ran;
            sum.waited += waited;
        }
    }
    Ok(sum)
}

fn folders(processes: &[u32]) -> Vec<PathBuf> {
    let all = processes.iter().flat_map(|pid| {
        fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
    });
    all.flatten().map(|thread| thread.path()).collect()
}

fn allowed(thread: &std::path::Path) -> Option<Vec<u32>> {
    let status = fs::read_to_string(thread.join("status")).ok()?;
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list(cpus))
}

/// The numbers of a list such as `0-3,8`.
pub(crate) fn list(text: &str) -> Vec<u32> {
    let parts = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    });
    parts.flatten().collect()
}
