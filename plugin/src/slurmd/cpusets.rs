//! The site's file of cpusets in slurmd.

use std::path::Path;

use berth_host::last_good_config::LastGoodConfig;
use berth_host::site_file;
use berth_placement::sets::text::counted;
use berth_site::cpusets::{Site, SiteCpusets};
use nix::unistd::User;

use crate::site::{node, settings};
use crate::slurmd::complaints::About;
use crate::slurmd::discovery;
use crate::slurmd::site_file::SiteFile;

/// The file that `cpusets=` names.
pub(crate) static FILE: SiteFile<SiteCpusets> = SiteFile::new(
    "cpusets",
    About::Cpusets,
    LastGoodConfig::Cpusets,
    "this node has no static cpusets, and partitions add no words to a --cpuset",
);

/// Reads the file and puts it in force. It may take long, because the names of its users can lie on another machine too.
pub(crate) fn read(node_name: &str) {
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        uid: &|name| {
            let user = User::from_name(name).ok().flatten()?;
            Some(user.uid.as_raw())
        },
    };
    let parse = |path: &Path, text: &[u8], _| site_file::cpusets_of(path, text, &site);
    let named = settings::current();
    FILE.read(named.cpusets.as_deref(), node_name, parse, doubts);
}

/// What the administrator should know of a file that holds: users and CPUs that this node does not
/// have.
fn doubts(sets: &SiteCpusets) -> Vec<String> {
    let path = sets.path.display();
    log::info!(
        "{path}: {} of this node, words of {}",
        counted(sets.here().count(), "static cpuset"),
        counted(sets.partitions().len(), "partition"),
    );
    let users = sets.doubts.iter().map(|doubt| format!("{path}, {doubt}"));
    let machine = discovery::machine();
    let cpus = sets.here().filter_map(|set| {
        let missing = set.cpus.difference(machine.as_ref()?.cpus());
        (!missing.is_empty()).then(|| {
            format!(
                "{path}, line {}: this node has no CPUs {missing}, so the cpuset {} is smaller here",
                set.line, set.name
            )
        })
    });
    let doubts: Vec<_> = users.chain(cpus).collect();
    doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
    doubts
}
