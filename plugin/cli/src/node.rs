//! `berth node`: the service of this host, in the foreground.

use std::path::Path;
use std::process::ExitCode;

use berth_host::atomic_file;
use berth_node::Options;
use log::{LevelFilter, Log, Metadata, Record};
use nix::unistd::Uid;

use crate::Failure;
use crate::args::NodeArgs;
use crate::status::metrics;
use crate::world::state::nodes_of;

/// The file that node_exporter reads, and who may read it.
const METRICS: &str = "berth.prom";
const MODE: u32 = 0o644;

/// The service's texts go to stderr: systemd's journal has the time.
struct Stderr;

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let text: String = record.args().to_string();
        let shown = text.escape_debug().to_string().replace("\\\"", "\"");
        eprintln!(
            "berth node: {}: {shown}",
            record.level().as_str().to_lowercase()
        );
    }

    fn flush(&self) {}
}

/// Runs the subcommand.
///
/// # Errors
/// Another user than root, another service, or a state directory that cannot be used.
pub(crate) fn run(args: &NodeArgs) -> Result<ExitCode, Failure> {
    if !Uid::effective().is_root() {
        return Err("only root can move other users' tasks; run it as root".into());
    }
    let level = if args.verbose {
        LevelFilter::Debug
    } else {
        LevelFilter::Info
    };
    log::set_logger(&Stderr).map_err(|why| why.to_string())?;
    log::set_max_level(level);
    let base = crate::world::state::base(args.state_dir.as_deref());
    let nodes = || nodes_of(&base, None);
    let chore = || {
        let Some(folder) = &args.metrics else { return };
        if let Err(why) = write_metrics(folder, &base, &nodes()) {
            log::error!("{}: {why}", folder.join(METRICS).display());
        }
    };
    let options = Options {
        base: base.clone(),
        nodes: &nodes,
        cgroups: args.cgroups.clone(),
        chore: &chore,
    };
    match args.release {
        true => berth_node::release(&options)?,
        false => berth_node::run(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write_metrics(folder: &Path, base: &Path, nodes: &[String]) -> Result<(), Failure> {
    let text = metrics(base, nodes)?;
    let written = atomic_file::replace(&folder.join(METRICS), text.as_bytes(), MODE);
    written.map_err(|failed| failed.why.into())
}
