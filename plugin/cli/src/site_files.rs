//! The site's files of cpusets and pools as they are now, read as a node's slurmd would read them. In: the node, and
//! what its slurmd has announced. Out: what they hold, or the first wrong line. `berth reload` checks them with it,
//! and asks the slurmds of this host to read them at their next launch.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use berth_host::site_file::{self, FileError};
use berth_host::{StateDir, announcement, machine_file};
use berth_site::Announcement;
use berth_site::cpusets::{self, SiteCpusets};
use berth_site::pools::{self, SitePools};
use berth_srun::node_lists;
use nix::unistd::{Uid, User};

use crate::args::ReloadArgs;
use crate::world::state;
use crate::{Failure, say, site_files};

/// The file that slurmd's settings name, and what is in it.
pub(crate) struct SiteFile<T> {
    pub path: PathBuf,
    pub found: Result<T, FileError>,
}

impl<T> SiteFile<T> {
    /// Whether this user may not read it.
    pub(crate) fn is_roots(&self) -> bool {
        use berth_host::trust::ReadError::Unreadable;
        matches!(self.found, Err(FileError::File(_, _, Unreadable { .. })))
    }
}

/// The file of cpusets; nothing without `cpusets=`.
pub(crate) fn cpusets(node: &str, words: &Announcement) -> Option<SiteFile<SiteCpusets>> {
    let path = path(words.site_rules()?.cpusets)?;
    let site = cpusets::Site {
        is_here: &|list| node_lists::has(list, Some(node)),
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
        is_here: &|list| node_lists::has(list, Some(node)),
        // Its lines count as Slurm does.
        cpus: cpus.map(|cpus| cpus / words.threads_of_cpu()),
    };
    let found = site_file::pools(&path, &site);
    Some(SiteFile { path, found })
}

fn path(named: String) -> Option<PathBuf> {
    (!named.is_empty()).then(|| named.into())
}

/// Runs the subcommand. Where a file of one node does not hold, no node is asked.
///
/// # Errors
/// Another user than root, no node, an announcement that cannot be read, or a state directory that cannot be written.
pub(crate) fn run(args: &ReloadArgs) -> Result<ExitCode, Failure> {
    if !Uid::effective().is_root() {
        return Err("only root can ask slurmd to read the site's files; run it as root".into());
    }
    let (base, nodes) = state::dir_and_nodes(args.state_dir.as_deref(), args.node.as_deref())?;
    let mut wrong: Vec<String> = Vec::new();
    let mut dirs = Vec::new();
    for node in &nodes {
        let dir = StateDir::new(&base, node)?;
        let words = announcement::read(&dir)?;
        let cpusets = site_files::cpusets(node, &words).and_then(|file| file.found.err());
        let pools = site_files::pools(&dir, node, &words).and_then(|file| file.found.err());
        wrong.extend(
            [cpusets, pools]
                .into_iter()
                .flatten()
                .map(|why| why.to_string()),
        );
        dirs.push(dir);
    }
    // Nodes of one host mostly have the same files.
    wrong.dedup();
    if !wrong.is_empty() {
        wrong.iter().for_each(|why| say::failed(why));
        return Ok(ExitCode::FAILURE);
    }
    let mut out = say::text_output();
    for (node, dir) in nodes.iter().zip(dirs) {
        dir.ask_to_reload()?;
        writeln!(
            out,
            "{node}: slurmd reads the site's files and discovers the machine at its next launch"
        )?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
