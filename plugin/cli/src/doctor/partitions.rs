//! Whether slurm.conf gives the pools of a node what they need: a partition of their name on the node, cores that jobs
//! of two partitions may have at once and jobs of one may not, no preemption, and no more jobs than fit into the pool.
//! In: what slurmd has announced, and slurm.conf where it can be read.

use berth_host::cgroup::{Mounts, Place, Version};
use berth_placement::controller::select::ClusterNode;
use berth_placement::counted;
use berth_site::Announcement;
use berth_srun::conf::{Config, OnNode};

use super::Verdict::{Note, Ok as Well, Wrong};
use super::{Checks, pools};

const WHAT: &str = "pools";

/// Checks the partitions; without pools there is nothing to check.
pub(super) fn check(checks: &mut Checks, words: &Announcement, config: Option<&Config>) {
    let place = Mounts::read()
        .ok()
        .and_then(|mounts| Place::of(words.pid, &mounts).ok());
    let is_v1 = place.is_some_and(|place| place.version == Version::V1);
    check_with(checks, words, config, is_v1);
}

/// `is_v1`: this node's jobs are in cgroups of version 1, where niceness takes the place of weights.
fn check_with(checks: &mut Checks, words: &Announcement, config: Option<&Config>, is_v1: bool) {
    // A dynamic node is in no slurm.conf, so its partitions are not known from there.
    let knows = |config: &&Config| !words.pools.is_empty() && config.node(&checks.node).is_some();
    let Some(config) = config.filter(knows) else {
        return;
    };
    let here = config.partitions_of(&checks.node);
    let mut faults = missing(words, config, &here);
    faults.extend(here.iter().filter_map(|one| stacked(words, one)));
    let mut doubts = sharing(words, &here);
    doubts.extend(preemption(config));
    doubts.extend(gangs(config));
    let beyond = |pool| pools::beyond(words, pool, &here);
    doubts.extend(words.pools.iter().filter_map(beyond));
    doubts.extend(crowded(words, &here));
    doubts.extend(pools::behind(words, &here));
    doubts.extend(
        config
            .node(&checks.node)
            .and_then(|node| uncounted(node, &here)),
    );
    doubts.extend(is_v1.then(|| shares_of_jobs(config)).flatten());
    let is_well = faults.is_empty() && doubts.is_empty();
    for (verdict, texts) in [(Wrong, faults), (Note, doubts)] {
        for text in texts {
            checks.add(verdict, WHAT, text, "slurm.conf");
        }
    }
    if is_well {
        let text = format!("{} of this node fit", counted(here.len(), "partition"));
        checks.add(Well, WHAT, text, "slurm.conf");
    }
}

/// Partitions of pools that no job of this node can be in.
fn missing(words: &Announcement, config: &Config, here: &[OnNode<'_>]) -> Vec<String> {
    let named = words.pools.iter().filter(|pool| !pool.partition.is_empty());
    let absent = named.filter(|pool| !here.iter().any(|one| one.name == pool.partition));
    let texts = absent.map(|pool| {
        let (name, partition) = (&pool.name, &pool.partition);
        let why = match config.has_partition(partition) {
            true => "does not have this node",
            false => "does not exist",
        };
        format!(
            "no job is in the pool {name}: its partition {partition} {why}; correct partition= of the pool, or \
             slurm.conf"
        )
    });
    texts.collect()
}

/// A partition whose own jobs share cores: then neither a pool's weight nor that of a normal job is what it is
/// reckoned with.
fn stacked(words: &Announcement, one: &OnNode<'_>) -> Option<String> {
    let jobs = one.forced.filter(|jobs| *jobs > 1)?;
    let name = one.name;
    let effect = match words.pools.iter().find(|pool| pool.partition == name) {
        Some(pool) => format!(
            "the pool {} does not give them the CPUs that they were given",
            pool.name
        ),
        None => "a pool's job may have less than 95 % of a core that it has with them".into(),
    };
    Some(format!(
        "OverSubscribe=FORCE:{jobs} lets {jobs} jobs of the partition {name} share a core, so {effect}; write \
         OverSubscribe=FORCE:1 there (FORCE alone is FORCE:4)"
    ))
}

/// Partitions whose jobs share no core: pool jobs wait for those.
fn sharing(words: &Announcement, here: &[OnNode<'_>]) -> Vec<String> {
    let alone: Vec<_> = here
        .iter()
        .filter(|one| one.forced.is_none())
        .map(|one| one.name)
        .collect();
    let is_shared = alone.is_empty() || words.pools.iter().all(|pool| pool.partition.is_empty());
    let text = || {
        format!(
            "jobs of {} share no core with those of other partitions, so a pool's job waits for free ones; \
             OverSubscribe=FORCE:1 there lets it start",
            alone.join(", ")
        )
    };
    (!is_shared).then(text).into_iter().collect()
}

fn preemption(config: &Config) -> Option<String> {
    let kind = config.preempt_type.as_deref()?;
    let is_none = ["none", "preempt/none"].contains(&kind.to_ascii_lowercase().as_str());
    (!is_none).then(|| {
        format!(
            "PreemptType={kind} lets a pool's job suspend or end normal ones instead of running beside them; \
             preempt/none does not"
        )
    })
}

fn gangs(config: &Config) -> Option<String> {
    let mode = config.preempt_mode.as_deref()?;
    let mut words = mode.split(',');
    let is_gang = words.any(|word| word.trim().eq_ignore_ascii_case("gang"));
    is_gang.then(|| {
        format!(
            "PreemptMode={mode} suspends normal jobs while a pool's job is on their cores, instead of letting both run; \
             PreemptMode=OFF does not"
        )
    })
}

/// Shares that each job has of its own, so that niceness does not count between jobs. Source: jobacct_gather/cgroup puts
/// tasks into cgroups of the cpuacct hierarchy, which is the cpu one too.
fn shares_of_jobs(config: &Config) -> Option<String> {
    let kind = config.job_acct_gather_type.as_deref()?;
    let has_shares =
        ["cgroup", "jobacct_gather/cgroup"].contains(&kind.to_ascii_lowercase().as_str());
    has_shares.then(|| {
        format!(
            "JobAcctGatherType={kind} gives each job the same share of a CPU on this node, which has version 1 of cgroups, \
             so a pool's job gets no more CPU time than others; use jobacct_gather/linux, or version 2 of cgroups"
        )
    })
}

/// Pools whose jobs can get the same CPUs.
fn crowded(words: &Announcement, here: &[OnNode<'_>]) -> Option<String> {
    let of_pools = words
        .pools
        .iter()
        .filter_map(|pool| here.iter().find(|one| one.name == pool.partition));
    let mut tiers: Vec<_> = of_pools.map(|one| one.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let most = words.site_rules()?.pool_cpus / words.threads_of_cpu();
    let all = words.pools.iter().map(|pool| u64::from(pool.cpus)).sum();
    let why = match (tiers.len() > 1, words.pools.len() > 1) {
        (true, _) => "their partitions have several values of PriorityTier".to_owned(),
        (_, true) if u64::from(most) < all => {
            format!("cpus= of all pools together is {all}, and {most} are for pools here")
        }
        _ => return None,
    };
    Some(format!(
        "jobs of two pools can get the same CPUs, where neither has what it is promised: {why}"
    ))
}

/// Partitions whose jobs own more than Slurm counts: a core is a job's with all of its hardware threads.
fn uncounted(node: &ClusterNode, here: &[OnNode<'_>]) -> Option<String> {
    let cores = node.sockets.saturating_mul(node.cores_per_socket);
    let threads = node.threads_per_core;
    let has_threads = threads > 1 && node.cpus > cores;
    let one = here
        .iter()
        .find(|one| has_threads && one.counts_cpus)
        .map(|one| one.name)?;
    Some(format!(
        "with SelectTypeParameters=CR_CPU Slurm counts one CPU for a job of one in the partition {one}, and the job owns \
         the {threads} hardware threads of its core, which pools count: a pool is full before MaxCPUsPerNode lets jobs \
         wait; CR_Core counts as pools do"
    ))
}

#[cfg(test)]
mod tests {
    use berth_site::SiteRules;
    use berth_site::announcement::AnnouncedPool;
    use berth_site::rules::VERSION;

    use super::*;

    const CONF: &str = "NodeName=n[1-2] CPUs=8\nNodeName=other\nPreemptType=preempt/none\n\
        PartitionName=normal Nodes=n[1-2] OverSubscribe=FORCE:1\n\
        PartitionName=multi4 Nodes=n1 OverSubscribe=FORCE:1 PriorityTier=10 MaxCPUsPerNode=3\n\
        PartitionName=multi8 Nodes=ALL OverSubscribe=force:1 PriorityTier=10 MaxCPUsPerNode=4\n";

    fn complaints(conf: &str, pools: &[(&str, u32)]) -> Vec<String> {
        let config = Config::read("slurm.conf", conf, &mut |_: &str| Ok(String::new())).unwrap();
        let pool = |(partition, cpus): &(&str, u32)| AnnouncedPool {
            name: format!("pool of {partition}"),
            partition: (*partition).into(),
            cpus: *cpus,
            ..AnnouncedPool::default()
        };
        let mut words = Announcement {
            is_task_plugin: true,
            pools: pools.iter().map(pool).collect(),
            ..Announcement::default()
        };
        words.set_rules(&SiteRules {
            version: VERSION,
            pool_cpus: 7,
            ..SiteRules::default()
        });
        let mut checks = Checks::new("n1");
        check_with(&mut checks, &words, Some(&config), true);
        let all = checks.all.into_iter();
        all.map(|check| format!("{:?}: {}", check.verdict, check.text))
            .collect()
    }

    #[track_caller]
    fn one(conf: &str, pools: &[(&str, u32)], expected: &str) {
        let complaints = complaints(conf, pools);
        assert!(
            complaints.len() == 1 && complaints[0].contains(expected),
            "{complaints:?}"
        );
    }

    #[test]
    fn pools_need_partitions_that_meet_on_cores() {
        let well = ["Ok: 3 partitions of this node fit"];
        assert_eq!(complaints(CONF, &[("multi4", 4)]), well);
        assert_eq!(complaints(CONF, &[("multi4", 3), ("multi8", 4)]), well);
        assert!(complaints(CONF, &[]).is_empty());
        let dynamic = CONF
            .replace("NodeName=n[1-2]", "NodeName=n2")
            .replace("n[1-2]", "n2");
        let dynamic = dynamic.replace("Nodes=n1", "Nodes=n2");
        assert!(
            complaints(&dynamic, &[("multi4", 4)]).is_empty(),
            "a node of no line"
        );
        one(
            CONF,
            &[("mutli4", 4)],
            "Wrong: no job is in the pool pool of mutli4: its partition mutli4 does not exist",
        );
        let elsewhere = CONF.replace("Nodes=n1 ", "Nodes=n2 ");
        one(
            &elsewhere,
            &[("multi4", 4)],
            "Wrong: no job is in the pool pool of multi4: its partition multi4 does not have this node",
        );
        let alone = CONF.replace("Nodes=n[1-2] OverSubscribe=FORCE:1", "Nodes=n[1-2]");
        one(
            &alone,
            &[("multi4", 4)],
            "Note: jobs of normal share no core",
        );
        let preempts = CONF.replace("preempt/none", "preempt/partition_prio");
        one(
            &preempts,
            &[("multi4", 4)],
            "Note: PreemptType=preempt/partition_prio",
        );
        one(
            CONF,
            &[("multi4", 4), ("multi8", 8)],
            "Note: jobs of two pools can get the same CPUs, where neither has what it is promised: cpus= of all pools together is 12, and 7",
        );
    }

    #[test]
    fn jobs_of_one_partition_share_no_core() {
        for (word, jobs) in [("FORCE", 4), ("FORCE:2", 2)] {
            let pools = CONF.replace("force:1", word);
            let expected = format!(
                "Wrong: OverSubscribe=FORCE:{jobs} lets {jobs} jobs of the partition multi8 share a core, so the pool pool of \
                 multi8 does not give"
            );
            one(&pools, &[("multi8", 4)], &expected);
            let normal = CONF.replace(
                "Nodes=n[1-2] OverSubscribe=FORCE:1",
                &format!("Nodes=ALL OverSubscribe={word}"),
            );
            let expected = format!(
                "Wrong: OverSubscribe=FORCE:{jobs} lets {jobs} jobs of the partition normal share a core"
            );
            one(&normal, &[("multi8", 4)], &expected);
        }
    }

    #[test]
    fn jobs_beyond_a_pool_are_noted() {
        one(
            CONF,
            &[("multi8", 3)],
            "Note: the partition multi8 has MaxCPUsPerNode=4, so its jobs beyond cpus=3 of the pool",
        );
        let open = CONF.replace("MaxCPUsPerNode=4", "");
        one(
            &open,
            &[("multi8", 3)],
            "Note: the partition multi8 has no MaxCPUsPerNode",
        );
        let well = ["Ok: 3 partitions of this node fit"];
        assert_eq!(complaints(CONF, &[("multi8", 5)]), well);
    }

    #[test]
    fn jobs_that_own_more_than_slurm_counts_are_noted() {
        let threads = "NodeName=n[1-2] Sockets=1 CoresPerSocket=4 ThreadsPerCore=2";
        let conf = |node: &str, words: &str| {
            let conf = CONF.replace("NodeName=n[1-2] CPUs=8", node);
            format!("{conf}SelectType=select/cons_tres\nSelectTypeParameters={words}\n")
        };
        let pools = [("multi4", 4)];
        for words in ["CR_CPU", "CR_CPU_Memory,CR_LLN"] {
            one(
                &conf(threads, words),
                &pools,
                "Note: with SelectTypeParameters=CR_CPU Slurm counts one CPU for a job of one",
            );
        }
        let well = ["Ok: 3 partitions of this node fit"];
        assert_eq!(complaints(&conf(threads, "CR_Core"), &pools), well);
        // slurmd counts cores, so Slurm does too; and here a core has one thread.
        let cores = format!("{threads} CPUs=4");
        assert_eq!(complaints(&conf(&cores, "CR_CPU"), &pools), well);
        assert_eq!(
            complaints(&conf("NodeName=n[1-2] CPUs=8", "CR_CPU"), &pools),
            well
        );
        // A partition may have its own.
        let own = conf(threads, "CR_CPU").replace(
            "OverSubscribe",
            "SelectTypeParameters=CR_Core OverSubscribe",
        );
        assert_eq!(complaints(&own, &pools), well);
    }

    #[test]
    fn what_takes_a_pools_cpus_away_is_noted() {
        for (mode, is_noted) in [("GANG", true), ("suspend,gang", true), ("SUSPEND", false)] {
            let found = complaints(&format!("{CONF}PreemptMode={mode}\n"), &[("multi4", 4)]);
            let expected = format!("Note: PreemptMode={mode} suspends normal jobs");
            assert_eq!(found[0].starts_with(&expected), is_noted, "{found:?}");
        }
        one(
            &format!("{CONF}JobAcctGatherType=jobacct_gather/cgroup\n"),
            &[("multi4", 4)],
            "Note: JobAcctGatherType=jobacct_gather/cgroup gives each job the same share",
        );
        let tiers = CONF.replacen("PriorityTier=10", "PriorityTier=20", 1);
        one(
            &tiers,
            &[("multi4", 3), ("multi8", 4)],
            "several values of PriorityTier",
        );
        for tier in ["", "PriorityTier=1"] {
            one(
                &CONF.replacen("PriorityTier=10", tier, 1),
                &[("multi4", 4)],
                "Note: the partition multi4 has PriorityTier=1 and normal has 1, so while jobs of both wait",
            );
        }
    }
}
