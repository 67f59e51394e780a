//! The site's files of cpusets and pools as they are now, read as a node's slurmd would read them.
//! In: the node, and what its slurmd has announced. Out: what they hold, or the first wrong line.

use std::path::PathBuf;

use berth_host::site_file::{self, FileError};
use berth_host::{StateDir, machine_file};
use berth_site::announcement::Announcement;
use berth_site::cpusets::{self, SiteCpusets};
use berth_site::pools::{self, SitePools};
use berth_srun::host_list::{self, Most};
use nix::unistd::User;

/// The file that slurmd's settings name, and what is in it.
pub(crate) struct SiteFile<T> {
    pub path: PathBuf,
    pub found: Result<T, FileError>,
}

impl<T> SiteFile<T> {
    /// Whether this user may not read it.
    pub(crate) fn is_roots(&self) -> bool {
        use berth_host::trusted_file::ReadError::Unreadable;
        matches!(self.found, Err(FileError::File(_, _, Unreadable { .. })))
    }
}

/// The file of cpusets; nothing without `cpusets=`.
pub(crate) fn cpusets(node: &str, words: &Announcement) -> Option<SiteFile<SiteCpusets>> {
    let path = path(words.site_rules()?.cpusets)?;
    let site = cpusets::Site {
        is_here: &|list| is_here(node, list),
        uid: &|name| {
            let user = User::from_name(name).ok().flatten()?;
            Some(user.uid.as_raw())
        },
    };
    let found = site_file::cpusets(&path, &site);
    Some(SiteFile { path, found })
}

/// The file of pools; nothing without `pools=`.
pub(crate) fn pools(
    dir: &StateDir,
    node: &str,
    words: &Announcement,
) -> Option<SiteFile<SitePools>> {
    let path = path(words.site_rules()?.pools)?;
    let file = machine_file::read(dir.machine_path()).ok();
    let cpus = file.and_then(|file| u32::try_from(file.machine.cpus().count()).ok());
    let site = pools::Site {
        is_here: &|list| is_here(node, list),
        // Its lines count as Slurm does.
        cpus: cpus.map(|cpus| cpus / words.threads_of_cpu()),
    };
    let found = site_file::pools(&path, &site);
    Some(SiteFile { path, found })
}

fn path(named: String) -> Option<PathBuf> {
    (!named.is_empty()).then(|| named.into())
}

fn is_here(node: &str, list: &str) -> Result<bool, String> {
    let names = host_list::expand(list, Most::COMMAND_LINE).map_err(|why| why.to_string())?;
    Ok(names.iter().any(|name| name == node))
}
