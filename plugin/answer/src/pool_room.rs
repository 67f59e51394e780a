//! The room of a node's pools, as its slurmd counts it.
//! In: what slurmd has announced. Out: CPUs, as Slurm counts them.

use berth_site::announcement::Announcement;

/// The most CPUs of all pools of a node: those without `pool_reserve=`.
pub fn most(words: &Announcement) -> u32 {
    let rules = words.site_rules();
    rules.map_or(u32::MAX, |rules| rules.pool_cpus / words.threads_of_cpu())
}
