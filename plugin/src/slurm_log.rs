//! The `log` crate's messages into Slurm's own log, at Slurm's levels, each
//! beginning with "berth: ".

use log::{LevelFilter, Log, Metadata, Record};
use slurm_sys::log::Level;
use slurm_sys::process::{Daemon, daemon};

struct SlurmLog;

static LOG: SlurmLog = SlurmLog;

/// Target for messages at Slurm's verbose level, which `log` has no name for.
pub(crate) const VERBOSE: &str = "verbose";

/// Makes it the logger of this object.
pub(crate) fn install() {
    // Fails only if there is one already, and ours is the only one in this object.
    if log::set_logger(&LOG).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
}

fn level(metadata: &Metadata<'_>) -> Level {
    match metadata.level() {
        // slurmstepd shows its errors in the job's output; what a user should see is
        // written there on purpose (`report::to_user`), the rest is the administrator's.
        log::Level::Error if daemon() == Daemon::Slurmstepd => Level::Info,
        log::Level::Error => Level::Error,
        // Slurm has no warnings; at info they reach every log, and no user's stderr.
        log::Level::Warn => Level::Info,
        log::Level::Info if metadata.target() == VERBOSE => Level::Verbose,
        log::Level::Info => Level::Info,
        log::Level::Debug => Level::Debug,
        log::Level::Trace => Level::Debug2,
    }
}

impl Log for SlurmLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        slurm_sys::log::enabled(level(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        let level = level(record.metadata());
        if slurm_sys::log::enabled(level) {
            let error = record.level() == log::Level::Error && level != Level::Error;
            let kind = if error { "error: " } else { "" };
            slurm_sys::log::write(level, &format!("berth: {kind}{}", record.args()));
        }
    }

    fn flush(&self) {}
}
