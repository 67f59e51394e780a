//! The check of the site's file of cpusets: what slurmd has in force, and whether the file as it is now
//! would hold.

use std::path::Path;

use berth_host::site_file::{self, FileError};
use berth_host::trusted_file::ReadError;
use berth_placement::sets::count::counted;
use berth_site::announcement::Announcement;
use berth_site::cpusets::Site;
use berth_srun::host_list::{self, Most};
use nix::unistd::User;

use super::Checks;
use super::Verdict::{Note, Ok as Well, Wrong};

const WHAT: &str = "cpusets";

/// Checks the file that slurmd's settings name; without one there is nothing to check.
pub(super) fn check(checks: &mut Checks, words: &Announcement) {
    let path = words.site_rules().unwrap_or_default().cpusets;
    if path.is_empty() {
        return;
    }
    let in_force = format!(
        "{} and the words of {} in force",
        counted(words.static_cpusets.len(), "static cpuset"),
        counted(words.partition_cpusets.len(), "partition"),
    );
    let names =
        |list: &str| host_list::expand(list, Most::COMMAND_LINE).map_err(|why| why.to_string());
    let node = checks.node.clone();
    let site = Site {
        is_here: &|list| Ok(names(list)?.contains(&node)),
        uid: &|name| {
            User::from_name(name)
                .ok()
                .flatten()
                .map(|user| user.uid.as_raw())
        },
    };
    let mut now = Announcement::default();
    let (verdict, text) = match site_file::cpusets(Path::new(&path), &site) {
        Ok(sets) => {
            now.set_cpusets(Some(&sets));
            let same = now.static_cpusets == words.static_cpusets
                && now.partition_cpusets == words.partition_cpusets;
            match same {
                true => (Well, in_force),
                false => (
                    Note,
                    format!(
                        "{in_force}; the file has changed, and slurmd reads it within seconds; one that \
                         became a daemon begins to look with its first launch"
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
