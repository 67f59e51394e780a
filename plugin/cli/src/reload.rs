//! `berth reload`: checks the site's files, and asks the slurmds of this host to read them at their next launch.

use std::io::Write;
use std::process::ExitCode;

use berth_host::{StateDir, announcement};
use nix::unistd::Uid;

use crate::Failure;
use crate::args::ReloadArgs;
use crate::here::state;
use crate::say;
use crate::site_files;

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
