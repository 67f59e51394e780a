//! The check of the site's file of pools: what slurmd has in force, and whether the file as it is now would hold.

use std::path::Path;

use berth_host::announcement::Announcement;
use berth_host::pools_file::{self, FileError, Site};
use berth_host::trusted_file::ReadError;
use berth_placement::pools::Class;
use berth_placement::sets::count::counted;
use berth_srun::host_list::{self, Most};

use super::Checks;
use super::Verdict::{Note, Ok as Well, Wrong};

const WHAT: &str = "pools";

/// Checks the file that slurmd's settings name; without one there is nothing to check.
pub(super) fn check(checks: &mut Checks, words: &Announcement, cpus: Option<u32>) {
    let path = words.site_rules().unwrap_or_default().pools;
    if path.is_empty() {
        return;
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
    let mut now = Announcement::default();
    let (verdict, text) = match pools_file::load(Path::new(&path), &site) {
        Ok(pools) => {
            now.set_pools(Some(&pools));
            // A class that this node cannot have is in force as weights; slurmd has given the reason.
            for (now, known) in now.pools.iter_mut().zip(&words.pools) {
                let is_weight = known.class == Class::Weight.word();
                if is_weight && now.name == known.name {
                    now.class.clone_from(&known.class);
                }
            }
            match now.pools == words.pools {
                true => (Well, in_force),
                false => (
                    Note,
                    format!(
                        "{in_force}; the file has changed, and slurmd reads it within seconds, but after its \
                         start not before its first launch"
                    ),
                ),
            }
        }
        // The file may be for root's eyes only.
        Err(FileError::File(_, _, ReadError::Unreadable { .. })) => (Well, in_force),
        Err(why) => (Wrong, format!("{why}; {in_force}")),
    };
    checks.add(verdict, WHAT, text, path);
}
