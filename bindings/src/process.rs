//! Finds which of Slurm's programs has loaded us.

use crate::loaded;
use crate::symbols::Symbols;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The program we are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// slurmd, or a host program that has its `conf`.
    Slurmd,
    /// slurmstepd, one for each step.
    Slurmstepd,
    /// srun, sbatch and all others.
    Other,
}

/// The program that we are in; it is found out once.
pub fn daemon() -> Daemon {
    static DAEMON: OnceLock<Daemon> = OnceLock::new();
    *DAEMON.get_or_init(|| by_name(&own_name(), Symbols::get().conf.is_some()))
}

/// Whether that is Slurm's own slurmd or slurmstepd, and not a program that stands for one.
pub fn is_slurms_daemon() -> bool {
    static IS_ONE: OnceLock<bool> = OnceLock::new();
    *IS_ONE.get_or_init(|| by_name(&own_name(), false) != Daemon::Other)
}

fn own_name() -> String {
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The file of the object that this code is linked into: the plugin's own.
pub fn own_path() -> Option<PathBuf> {
    let file = loaded::own_file()?;
    Some(PathBuf::from(OsString::from_vec(file.into_bytes())))
}

/// The program of a file name; the kernel adds " (deleted)" where an update replaced the file, and
/// Debian adds suffixes such as "-wlm".
pub fn by_name(name: &str, has_conf: bool) -> Daemon {
    let is = |program: &str| {
        name.strip_prefix(program)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    match () {
        () if is("slurmstepd") => Daemon::Slurmstepd,
        () if is("slurmd") || has_conf => Daemon::Slurmd,
        () => Daemon::Other,
    }
}
