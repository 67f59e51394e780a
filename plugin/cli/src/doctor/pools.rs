//! The check of the site's file of pools: what slurmd has in force, whether the file as it is now would hold, and whether
//! anything keeps a pool's tasks on their CPUs.

use berth_host::StateDir;
use berth_placement::{SiteConfine, counted};
use berth_site::Announcement;
use berth_site::pools::SitePools;

use super::Checks;
use super::Verdict::Note;
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
    let in_force = format!("{} in force", counted(words.pools.len(), "pool"));
    check_site_file(checks, WHAT, (&file, &words.pools_stamp), in_force);
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

#[cfg(test)]
mod tests {
    use berth_site::SiteRules;
    use berth_site::announcement::AnnouncedPool;
    use berth_site::rules::VERSION;

    use super::*;

    fn complaint(confine: &str, constrain_cores: bool, pools: &[&str]) -> Option<String> {
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
        let text = complaint("", false, &all).unwrap();
        assert!(
            text.contains("its CPUs in multi8, multi4, because"),
            "{text}"
        );
        assert!(complaint("task", false, &all).is_some());
        for (confine, constrain_cores, pools) in [
            ("task,force", false, &all[..]),
            ("", true, &all),
            ("", false, &[]),
        ] {
            assert_eq!(
                complaint(confine, constrain_cores, pools),
                None,
                "{confine}"
            );
        }
    }
}
