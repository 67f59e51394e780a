//! Whether a partition lets more jobs start than its pool can have on a node: those beyond run as normal jobs, where
//! others would wait.
//! In: what slurmd has announced, and the node's partitions. Out: a note for the administrator.

use berth_answer::plan::most_of_pools;
use berth_placement::counted;
use berth_site::announcement::{AnnouncedPool, Announcement};
use berth_srun::conf::OnNode;

/// A pool whose partition lets more jobs start than fit in.
pub(super) fn beyond(
    words: &Announcement,
    pool: &AnnouncedPool,
    here: &[OnNode<'_>],
) -> Option<String> {
    let (name, partition, cpus) = (&pool.name, &pool.partition, pool.cpus);
    let limit = here
        .iter()
        .find(|one| one.name == partition)?
        .max_cpus_per_node;
    let room = cpus.min(most_of_pools(words));
    let has = match limit {
        None => "no MaxCPUsPerNode".into(),
        Some(most) if most > room => format!("MaxCPUsPerNode={most}"),
        Some(_) => return None,
    };
    let beyond = match room < cpus {
        true => format!(
            "the {} that the pool {name} can have beside the node's reserve (cpus={cpus})",
            counted(room, "CPU")
        ),
        false => format!("cpus={cpus} of the pool {name}"),
    };
    Some(format!(
        "the partition {partition} has {has}, so its jobs beyond {beyond} run as normal jobs; MaxCPUsPerNode={room} there \
         lets them wait"
    ))
}

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

#[cfg(test)]
mod tests {
    use berth_site::SiteRules;
    use berth_site::rules::VERSION;

    use super::*;

    /// A node of eight CPUs. Its pools may have so many of them, and there is one pool in a partition with that
    /// `MaxCPUsPerNode`.
    fn complaint(most: u32, cpus: u32, limit: Option<u32>) -> Option<String> {
        let pool = AnnouncedPool {
            name: "wide".into(),
            partition: "p".into(),
            cpus,
            ..AnnouncedPool::default()
        };
        let mut words = Announcement {
            is_task_plugin: true,
            ..Announcement::default()
        };
        words.set_rules(&SiteRules {
            version: VERSION,
            pool_cpus: most,
            ..SiteRules::default()
        });
        let here = OnNode {
            name: "p",
            forced: Some(1),
            tier: 1,
            max_cpus_per_node: limit,
            counts_cpus: false,
        };
        beyond(&words, &pool, &[here])
    }

    #[test]
    fn a_pool_that_the_reserve_never_lets_be_full_is_noted() {
        let why = complaint(6, 8, Some(8)).unwrap();
        assert_eq!(
            why,
            "the partition p has MaxCPUsPerNode=8, so its jobs beyond the 6 CPUs that the pool wide can have beside the \
             node's reserve (cpus=8) run as normal jobs; MaxCPUsPerNode=6 there lets them wait"
        );
        assert!(complaint(6, 8, Some(7)).is_some());
        assert!(complaint(6, 8, None).is_some());
        // It is full at its own cpus=, or never.
        for (most, cpus, limit) in [(6, 8, 6), (6, 4, 4), (8, 8, 8), (6, 8, 2)] {
            assert_eq!(complaint(most, cpus, Some(limit)), None, "{most} {cpus}");
        }
        let why = complaint(8, 4, Some(8)).unwrap();
        assert!(
            why.contains("so its jobs beyond cpus=4 of the pool wide run"),
            "{why}"
        );
    }
}
