//! The checks of the site's pools: what slurmd has in force, whether the file as it is now would hold, whether anything
//! keeps a pool's tasks on their CPUs, whether slurmctld checks the words by which jobs are in a pool, and whether jobs find
//! room in it.
//! In: what slurmd has announced, the site's file, and slurm.conf where it can be read.

use berth_answer::plan::most_of_pools;
use berth_host::StateDir;
use berth_placement::{SiteConfine, counted};
use berth_site::announcement::{AnnouncedPool, Announcement};
use berth_site::pools::{Pool, SitePools};
use berth_srun::Config;
use berth_srun::conf::OnNode;

use super::Checks;
use super::Verdict::{self, Note, Wrong};
use super::files::check_site_file;
use crate::site_files;

const WHAT: &str = "pools";

/// Checks the file that slurmd's settings name; without one there is nothing to check. Returns what the file holds now,
/// if it is right and this user may read it.
pub(super) fn check(
    checks: &mut Checks,
    dir: &StateDir,
    words: &Announcement,
) -> Option<SitePools> {
    let file = site_files::pools(dir, &checks.node, words)?;
    if let Some(text) = loose(words) {
        checks.add(Note, WHAT, text, "TaskPlugin in slurm.conf, cgroup.conf");
    }
    if !words.pools.is_empty() && most_of_pools(words) == 0 {
        let text = "no job is in a pool here, because pool_reserve= leaves the pools none of this node's CPUs; lower it, or \
                    take such nodes out of the pools by nodes=";
        checks.add(Wrong, WHAT, text, "pool_reserve= in plugstack.conf");
    }
    let in_force = format!("{} in force", counted(words.pools.len(), "pool"));
    check_site_file(checks, WHAT, &file, &words.pools_stamp, in_force);
    file.found.ok()
}

/// Pools whose tasks are only bound.
fn loose(words: &Announcement) -> Option<String> {
    let is_confined =
        words.constrain_cores || words.site_rules()?.confine == SiteConfine::Force.to_string();
    let names: Vec<_> = words.pools.iter().map(|pool| pool.name.as_str()).collect();
    (!is_confined && !names.is_empty()).then(|| {
        format!(
            "a program that changes its own affinity can leave its CPUs in {}, because nothing confines a job to its \
             cores; TaskPlugin=task/cgroup,task/berth with ConstrainCores=yes in cgroup.conf does",
            names.join(", ")
        )
    })
}

/// Whether slurmctld checks the words by which jobs are in a pool: a user can ask for every account, QOS and reservation,
/// and only Slurm's accounting says which of them are the user's.
pub(super) fn access(checks: &mut Checks, site: Option<&SitePools>, config: Option<&Config>) {
    let (Some(site), Some(config)) = (site, config) else {
        return;
    };
    for pool in site.here() {
        for (verdict, text) in open(pool, config) {
            checks.add(
                verdict,
                WHAT,
                text,
                "AccountingStorageEnforce in slurm.conf",
            );
        }
    }
}

/// The words of a pool's line that keep nobody out.
fn open(pool: &Pool, config: &Config) -> Vec<(Verdict, String)> {
    let name = &pool.name;
    let set = config.accounting_enforce.as_deref().unwrap_or("none");
    let mut found = Vec::new();
    let mut fault = |word: &str, what: &str, key: &str| {
        let text = format!(
            "{word}= of the pool {name} keeps nobody out, because slurmctld lets every user have any {what} \
             (AccountingStorageEnforce={set}); add {key} to it, or name a partition that has AllowGroups instead"
        );
        found.push((Wrong, text));
    };
    if pool.needs_account() && !config.checks_accounts() {
        fault("account", "account", "associations");
    }
    if pool.needs_qos() && !config.checks_qos() {
        fault("qos", "QOS", "qos");
    }
    if pool.needs_reservation() && !config.checks_accounts() {
        let text = format!(
            "the reservation of the pool {name} keeps out only whom its Users= leaves out: its Accounts= does not count, \
             because slurmctld lets every user have any account (AccountingStorageEnforce={set}); add associations to it"
        );
        found.push((Note, text));
    }
    found
}

/// A pool whose partition lets more jobs start than it can have on a node: those beyond run as normal jobs, where others
/// would wait.
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
        _ if room == 0 => return None,
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
    use berth_site::pools::{Site, read};
    use berth_site::rules::VERSION;

    use super::*;

    fn loose_pools(confine: &str, constrain_cores: bool, pools: &[&str]) -> Option<String> {
        let pool = |name: &&str| AnnouncedPool {
            name: name.to_string(),
            ..AnnouncedPool::default()
        };
        let mut words = Announcement {
            is_task_plugin: true,
            constrain_cores,
            pools: pools.iter().map(pool).collect(),
            ..Announcement::default()
        };
        words.set_rules(&SiteRules {
            version: VERSION,
            confine: confine.into(),
            ..SiteRules::default()
        });
        loose(&words)
    }

    #[test]
    fn tasks_that_nothing_confines_are_noted() {
        let all = ["multi8", "multi4"];
        let text = loose_pools("", false, &all).unwrap();
        assert!(
            text.contains("its CPUs in multi8, multi4, because"),
            "{text}"
        );
        assert!(loose_pools("task", false, &all).is_some());
        for (confine, constrain_cores, pools) in [
            ("task,force", false, &all[..]),
            ("", true, &all),
            ("", false, &[]),
        ] {
            assert_eq!(
                loose_pools(confine, constrain_cores, pools),
                None,
                "{confine}"
            );
        }
    }

    fn open_words(line: &str, enforce: &str) -> Vec<String> {
        let site = Site {
            is_here: &|_| Ok(true),
            cpus: Some(8),
        };
        let text = format!("name=p cpus=2 {line}\n");
        let pools = read(text.as_bytes(), &site).unwrap();
        let text = format!("AccountingStorageEnforce={enforce}\n");
        let config = Config::read("slurm.conf", &text, &mut |_: &str| Ok(String::new())).unwrap();
        let mut checks = Checks::new("n1");
        access(&mut checks, Some(&pools), Some(&config));
        let all = checks.all.into_iter();
        all.map(|check| format!("{:?}: {}", check.verdict, check.text))
            .collect()
    }

    #[test]
    fn words_that_slurmctld_does_not_check_are_wrong() {
        let open = open_words("account=phys", "none");
        let expected = "Wrong: account= of the pool p keeps nobody out, because slurmctld lets every user have any \
                        account (AccountingStorageEnforce=none); add associations to it, or name a partition";
        assert!(open.len() == 1 && open[0].starts_with(expected), "{open:?}");
        let open = open_words("qos=high account=phys", "limits");
        let expected = "Wrong: qos= of the pool p keeps nobody out";
        assert!(open.len() == 1 && open[0].starts_with(expected), "{open:?}");
        let open = open_words("reservation=night", "nojobs");
        let expected = "Note: the reservation of the pool p keeps out only";
        assert!(open.len() == 1 && open[0].starts_with(expected), "{open:?}");
    }

    #[test]
    fn words_that_slurmctld_checks_are_well() {
        for (line, enforce) in [
            ("account=phys", "associations"),
            ("account=phys qos=high reservation=night", "qos"),
            ("partition=multi8", "none"),
        ] {
            assert!(open_words(line, enforce).is_empty(), "{line} {enforce}");
        }
    }

    /// A node of eight CPUs. Its pools may have so many of them, and there is one pool in a partition with that
    /// `MaxCPUsPerNode`.
    fn jobs_beyond(most: u32, cpus: u32, limit: Option<u32>) -> Option<String> {
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
        let why = jobs_beyond(6, 8, Some(8)).unwrap();
        assert_eq!(
            why,
            "the partition p has MaxCPUsPerNode=8, so its jobs beyond the 6 CPUs that the pool wide can have beside the \
             node's reserve (cpus=8) run as normal jobs; MaxCPUsPerNode=6 there lets them wait"
        );
        assert!(jobs_beyond(6, 8, Some(7)).is_some());
        assert!(jobs_beyond(6, 8, None).is_some());
        // It is full at its own cpus=, or never.
        for (most, cpus, limit) in [(6, 8, 6), (6, 4, 4), (8, 8, 8), (6, 8, 2)] {
            assert_eq!(jobs_beyond(most, cpus, Some(limit)), None, "{most} {cpus}");
        }
        let why = jobs_beyond(8, 4, Some(8)).unwrap();
        assert!(
            why.contains("so its jobs beyond cpus=4 of the pool wide run"),
            "{why}"
        );
    }
}
