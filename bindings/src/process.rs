//! This process: which of Slurm's programs has loaded us, and its identity from outside Slurm's records. `sanity`
//! compares the records with these facts.

use std::ffi::{CStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::loaded;
use crate::symbols::Symbols;

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

/// The two facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// slurmd's `-N`, if it got one.
    pub node_argument: Option<String>,
    /// The machine's host name.
    pub host: String,
}

impl Identity {
    /// The facts of this process.
    pub fn current() -> Identity {
        let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let words: Vec<String> = line
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        Identity {
            node_argument: node_argument(&words),
            host: host_name(),
        }
    }

    /// Whether a node of this name, on a host of this name, can be the one we run as.
    pub fn is(&self, node_name: &str, hostname: &str) -> bool {
        let host = short(&self.host);
        let is_host = |name: &str| !host.is_empty() && short(name).eq_ignore_ascii_case(host);
        self.node_argument.as_deref() == Some(node_name) || is_host(node_name) || is_host(hostname)
    }
}

/// A host name without its domain.
fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// slurmd's options that take a value; options without a value may stand before them in one word
/// (`-DvN n1`). Source: _process_cmdline in src/slurmd/slurmd/slurmd.c.
const WITH_VALUE: &str = "dfFLnN";
/// The one whose value is never a word of its own.
const ONLY_ATTACHED: char = 'F';

/// The value of `-N` among a command line's words.
pub fn node_argument(words: &[String]) -> Option<String> {
    let mut words = words.iter().skip(1);
    let mut found = None;
    while let Some(word) = words.next() {
        let Some(letters) = word
            .strip_prefix('-')
            .filter(|letters| !letters.starts_with('-'))
        else {
            continue;
        };
        let Some((at, option)) = letters
            .char_indices()
            .find(|(_, letter)| WITH_VALUE.contains(*letter))
        else {
            continue;
        };
        let attached = letters
            .get(at + option.len_utf8()..)
            .filter(|value| !value.is_empty());
        let value = match attached {
            None if option != ONLY_ATTACHED => words.next().cloned(),
            attached => attached.map(str::to_owned),
        };
        if option == 'N' {
            found = value;
        }
    }
    found.filter(|name| !name.is_empty())
}

fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer has the length that is passed; its last byte stays 0.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    match CStr::from_bytes_until_nul(&name) {
        Ok(name) if !failed => name.to_string_lossy().into_owned(),
        _ => String::new(),
    }
}
