//! Whether the jobs of a pool stand before those that it meets: while jobs of both wait, a partition's tier says which is
//! tried first.
//! In: what slurmd has announced, and the node's partitions. Out: a note for the administrator.

use berth_site::announcement::Announcement;
use berth_srun::conf::OnNode;

/// A pool whose partition has no higher tier than any that is no pool's. A site may well have one that goes before pools.
pub(super) fn behind(words: &Announcement, here: &[OnNode<'_>]) -> Option<String> {
    let is_pools = |one: &OnNode<'_>| words.pools.iter().any(|pool| pool.partition == one.name);
    let (of_pools, others): (Vec<&OnNode<'_>>, Vec<_>) = here.iter().partition(|one| is_pools(one));
    let lowest = others.iter().min_by_key(|one| one.tier)?;
    let pool = of_pools.iter().find(|one| one.tier <= lowest.tier)?;
    Some(format!(
        "the partition {} has PriorityTier={} and {} has {}, so while jobs of both wait those of the pool are not tried \
         first; a higher PriorityTier there lets them",
        pool.name, pool.tier, lowest.name, lowest.tier
    ))
}
