//! The check of the site's file of pools: what slurmd has in force, whether the file as it is now would hold, and whether
//! anything keeps a pool's tasks on their CPUs.

use std::path::Path;

use berth_host::site_file::{self, FileError};
use berth_host::trusted_file::ReadError;
use berth_placement::SiteConfine;
use berth_placement::sets::count::counted;
use berth_site::announcement::Announcement;
use berth_site::pools::{Site, SitePools};
use berth_srun::host_list::{self, Most};

use super::Checks;
use super::Verdict::{Note, Ok as Well, Wrong};

const WHAT: &str = "pools";

/// Checks the file that slurmd's settings name; without one there is nothing to check. Returns what the file holds now,
/// if it is right and this user may read it.
pub(super) fn check(
    checks: &mut Checks,
    words: &Announcement,
    cpus: Option<u32>,
) -> Option<SitePools> {
    let path = words.site_rules()?.pools;
    if path.is_empty() {
        return None;
    }
    if let Some(text) = loose(words) {
        checks.add(Note, WHAT, text, "TaskPlugin in slurm.conf, cgroup.conf");
    }
    let in_force = format!("{} in force", counted(words.pools.len(), "pool"));
    let names =
        |list: &str| host_list::expand(list, Most::COMMAND_LINE).map_err(|why| why.to_string());
    let node = checks.node.clone();
    let site = Site {
        is_here: &|list| Ok(names(list)?.contains(&node)),
        // Its lines count as Slurm does.
        cpus: cpus.map(|cpus| cpus / words.threads_of_cpu()),
    };
    let found = site_file::pools(Path::new(&path), &site);
    let (verdict, text) = match &found {
        Ok(pools) if is_in_force(pools, words) => (Well, in_force),
        Ok(_) => (
            Note,
            format!(
                "{in_force}; the file has changed, and slurmd reads it within seconds; one that became a \
                 daemon begins to look with its first launch"
            ),
        ),
        // The file may be for root's eyes only.
        Err(FileError::File(_, _, ReadError::Unreadable { .. })) => (Well, in_force),
        Err(why) => (Wrong, format!("{why}; {in_force}")),
    };
    checks.add(verdict, WHAT, text, path);
    found.ok()
}

fn is_in_force(pools: &SitePools, words: &Announcement) -> bool {
    let mut now = Announcement::default();
    now.set_pools(Some(pools));
    now.pools == words.pools
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

#[cfg(test)]
mod tests {
    use berth_site::SiteRules;
    use berth_site::announcement::AnnouncedPool;
    use berth_site::rules::VERSION;

    use super::*;

    fn said(confine: &str, constrain_cores: bool, pools: &[&str]) -> Option<String> {
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
        let text = said("", false, &all).unwrap();
        assert!(
            text.contains("its CPUs in multi8, multi4, because"),
            "{text}"
        );
        assert!(said("task", false, &all).is_some());
        for (confine, constrain_cores, pools) in [
            ("task,force", false, &all[..]),
            ("", true, &all),
            ("", false, &[]),
        ] {
            assert_eq!(said(confine, constrain_cores, pools), None, "{confine}");
        }
    }
}
