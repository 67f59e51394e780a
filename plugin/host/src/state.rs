//! The state directory: there is one per node name. It is made when needed, and never trusted if
//! somebody else could have prepared it.
//! In: a base directory and a node name. Out: paths, or an error.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use thiserror::Error;

use crate::machine_file;
use crate::trust::{self, TrustError};

/// The directory for the state of all nodes of a host, unless `state_dir=` names another.
pub const DEFAULT_BASE: &str = "/run/berth";

/// A file of this name switches berth off at the next launch.
const OFF: &str = "off";

const RELOAD: &str = "reload";
const RELOAD_MODE: u32 = 0o600;

const MODE: u32 = 0o755;

/// A state directory that cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// The name would lead out of the directory, or be hidden in it.
    #[error(
        "the node name \"{0}\" cannot name a directory: expected letters, digits, '.', '_' \
         and '-', no leading dot, not \"off\", at most 255 characters; see NodeName in \
         slurm.conf"
    )]
    NodeName(String),
    /// The path would depend on the folder where a daemon was started.
    #[error(
        "the state directory {0} is not an absolute path; write state_dir={DEFAULT_BASE}, or \
         another path that begins with a slash"
    )]
    Relative(PathBuf),
    /// The directory does not exist and cannot be made.
    #[error(
        "the state directory {path} cannot be made: {why}; make it for root with mode 0755, \
         or set state_dir="
    )]
    Make {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// A user could have prepared it.
    #[error(
        "the state directory cannot be trusted: {0}; or set state_dir= to a directory that \
         belongs to root"
    )]
    Untrusted(#[from] TrustError),
}

/// The directory of one node name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    base: PathBuf,
    directory: PathBuf,
    machine: PathBuf,
}

impl StateDir {
    /// Names the directory, and touches nothing.
    ///
    /// # Errors
    /// [`StateError`] for a node name or a base that cannot be used.
    pub fn new(base: &Path, node_name: &str) -> Result<Self, StateError> {
        if !is_plain(node_name) {
            let shown = node_name.chars().take(80).collect();
            return Err(StateError::NodeName(shown));
        }
        if !base.is_absolute() {
            return Err(StateError::Relative(base.into()));
        }
        let directory = base.join(node_name);
        Ok(Self {
            machine: directory.join(machine_file::NAME),
            base: base.into(),
            directory,
        })
    }

    /// `<base>/<node name>`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// The machine file in it.
    #[must_use]
    pub fn machine_path(&self) -> &Path {
        &self.machine
    }

    /// The file in it that asks slurmd to read the site's files and to discover the machine: the next launch finds it.
    #[must_use]
    pub fn reload_path(&self) -> PathBuf {
        self.directory.join(RELOAD)
    }

    /// Asks slurmd so.
    ///
    /// # Errors
    /// A directory that cannot be made, written or trusted.
    pub fn ask_to_reload(&self) -> io::Result<()> {
        self.prepare().map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        trust::open(&self.reload_path(), options.mode(RELOAD_MODE)).map(drop)
    }

    /// Makes the directory (mode 0755) if it is missing, and checks it: it must not be a
    /// link, it must belong to root or us, and nobody else may write there or exchange it.
    ///
    /// # Errors
    /// [`StateError`]; nothing in the directory may then be used.
    pub fn prepare(&self) -> Result<(), StateError> {
        make(&self.base)?;
        trust::check_ancestors(&self.base)?;
        trust::check_directory(&self.base)?;
        make(&self.directory)?;
        trust::check_directory(&self.directory)?;
        Ok(())
    }

    /// Checks the directory as [`Self::prepare`] does, for readers; it makes nothing.
    ///
    /// # Errors
    /// [`StateError`]; nothing in the directory may then be used.
    pub fn check(&self) -> Result<(), StateError> {
        trust::check_ancestors(&self.base)?;
        trust::check_directory(&self.base)?;
        trust::check_directory(&self.directory)?;
        Ok(())
    }

    /// Whether a file `off` in the base switches berth off, for all nodes of the host.
    #[must_use]
    pub fn is_off(&self) -> bool {
        is_off(&self.base)
    }
}

/// Whether the switch-off file of a base exists.
#[must_use]
pub fn is_off(base: &Path) -> bool {
    // A launch asks this: the path is made in one piece.
    let path = [base.as_os_str().as_bytes(), b"/", OFF.as_bytes()].concat();
    access(path.as_slice(), AccessFlags::F_OK).is_ok()
}

fn is_plain(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('.')
        && name != OFF
        && name.bytes().all(allowed)
}

/// Makes a directory and those above it. Existing directories stay as they are.
fn make(path: &Path) -> Result<(), StateError> {
    match fs::symlink_metadata(path) {
        Ok(_) => return Ok(()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => return Err(failed(path, why)),
    }
    if let Some(parent) = path.parent() {
        make(parent)?;
    }
    // The folders above are checked before anything is made in them.
    trust::check_ancestors(path)?;
    match DirBuilder::new().mode(MODE).create(path) {
        // The process's umask must not lock the node's users out.
        Ok(()) => {
            fs::set_permissions(path, Permissions::from_mode(MODE)).map_err(|why| failed(path, why))
        }
        // Another slurmd of this host was faster.
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(failed(path, why)),
    }
}

fn failed(path: &Path, why: io::Error) -> StateError {
    StateError::Make {
        path: path.into(),
        why,
    }
}
