//! The check of the site's file of cpusets: what slurmd has in force, and whether the file as it is now
//! would hold.

use berth_placement::sets::count::counted;
use berth_site::announcement::Announcement;

use super::Checks;
use super::files::check_site_file;
use crate::site_files;

/// Checks the file that slurmd's settings name; without one there is nothing to check.
pub(super) fn check(checks: &mut Checks, words: &Announcement) {
    let Some(file) = site_files::cpusets(&checks.node, words) else {
        return;
    };
    let in_force = format!(
        "{} and the words of {} in force",
        counted(words.static_cpusets.len(), "static cpuset"),
        counted(words.partition_cpusets.len(), "partition"),
    );
    check_site_file(checks, "cpusets", (&file, &words.cpusets_stamp), in_force);
}
