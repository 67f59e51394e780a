//! The folder of a node's jobs, and in it one for each user, with the files of the user's jobs. Every user may pass
//! through the former, and nobody may list it; through the latter only its user. Only root writes there.
//! Its user passes by an access control list, as acl(5) describes it.

use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::Uid;
use strum::{Display, EnumIter, IntoEnumIterator};
use thiserror::Error;

use crate::atomic_file::WriteError;
use crate::state::StateDir;
use crate::trust::{self, ReadError, TrustError};

/// Its name in the node's state directory.
const NAME: &str = "jobs";
const FOLDER_MODE: u32 = 0o711;
const USER_MODE: u32 = 0o700;
/// More users than have jobs on a node.
const MOST_USERS: usize = 1 << 16;
/// Bytes of a file: the answer for a job of ten thousand unlike nodes fits.
pub(super) const MOST: u64 = 1 << 20;

/// The files of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// The node's facts, by slurmstepd.
    Node,
    /// slurmctld's answer, by the prolog.
    Answer,
    /// The job's cpuset, by slurmstepd for the job's next step.
    Cpuset,
}

/// A file that was not written.
#[derive(Debug, Error)]
pub enum JobFilesError {
    /// The folder cannot be made.
    #[error("{path} cannot be made: {why}")]
    Make {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// A user could have prepared it.
    #[error(transparent)]
    Untrusted(#[from] TrustError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A job's facts are small.
    #[error("{bytes} bytes are more than the {MOST} that berth keeps of a job")]
    TooLarge {
        /// The size of the facts in bytes.
        bytes: usize,
    },
    /// The user already has the most jobs with files, and no further job gets one.
    #[error("{most} jobs have files in {path} already")]
    Full {
        /// The folder.
        path: PathBuf,
        /// The bound.
        most: usize,
    },
}

impl Kind {
    pub(super) fn name(self, job: u32) -> String {
        format!("{job}.{self}")
    }
}

pub(super) fn path(dir: &StateDir) -> PathBuf {
    dir.path().join(NAME)
}

/// The folder of a user's jobs.
pub(super) fn of_user(dir: &StateDir, owner: u32) -> PathBuf {
    path(dir).join(owner.to_string())
}

/// For root: the folders of all users, and the outer one, in which releases before had all files.
pub(super) fn all(dir: &StateDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(path(dir)).into_iter().flatten().flatten();
    let is_user = |name: &OsStr| {
        name.to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let users = entries.filter(|entry| is_user(&entry.file_name()));
    let users = users.take(MOST_USERS).map(|entry| entry.path());
    users.chain([path(dir)]).collect()
}

/// Makes the folder if it is missing, and checks it.
///
/// # Errors
/// A folder that cannot be made, or that somebody else could have prepared.
pub fn prepare(dir: &StateDir) -> Result<(), JobFilesError> {
    make(path(dir), FOLDER_MODE)
}

/// Makes the folder of a user's jobs if it is missing, and checks it. Where the file system has no access control lists
/// only root may read there: the user's berth env then asks slurmctld alone.
pub(super) fn prepare_for(dir: &StateDir, owner: u32) -> Result<PathBuf, JobFilesError> {
    prepare(dir)?;
    let path = of_user(dir, owner);
    if owner == 0 {
        return make(path.clone(), USER_MODE).map(|()| path);
    }
    make(path.clone(), USER_MODE)?;
    // Each time: whoever has made it may have been killed, or had no room for the list.
    let _ = let_pass(&path, owner);
    Ok(path)
}

fn make(path: PathBuf, mode: u32) -> Result<(), JobFilesError> {
    match trust::check_directory(&path) {
        Err(TrustError::Look { why, .. }) if why.kind() == io::ErrorKind::NotFound => {}
        checked => return Ok(checked?),
    }
    match DirBuilder::new().mode(mode).create(&path) {
        Ok(()) => fs::set_permissions(&path, Permissions::from_mode(mode)),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    }
    .map_err(|why| JobFilesError::Make {
        path: path.clone(),
        why,
    })?;
    Ok(trust::check_directory(&path)?)
}

/// A file of a job: root knows the folders of all users, and takes the newest; a user has one.
fn file(dir: &StateDir, job: u32, kind: Kind) -> PathBuf {
    let own = Uid::effective();
    let name = kind.name(job);
    let folders = match own.is_root() {
        true => all(dir),
        false => Vec::new(),
    };
    let found = folders.into_iter().filter_map(|folder| {
        let file = folder.join(&name);
        let changed = fs::symlink_metadata(&file).and_then(|found| found.modified());
        Some((changed.ok()?, file))
    });
    let newest = found.max_by_key(|(changed, _)| *changed);
    newest.map_or_else(|| of_user(dir, own.as_raw()).join(&name), |(_, file)| file)
}

/// Reads a file of a job, as only root can have written it.
///
/// # Errors
/// No such file, or one that cannot be trusted or read.
pub fn read(dir: &StateDir, job: u32, kind: Kind) -> Result<Vec<u8>, ReadError> {
    trust::read(&file(dir, job, kind), MOST)
}

/// Reads a file of a job whose user is known: no other folder is looked at.
///
/// # Errors
/// As [`read`].
pub fn read_of(dir: &StateDir, owner: u32, (job, kind): (u32, Kind)) -> Result<Vec<u8>, ReadError> {
    trust::read(&of_user(dir, owner).join(kind.name(job)), MOST)
}

/// For root: removes a file of a job.
pub fn forget(dir: &StateDir, job: u32, kind: Kind) {
    for folder in all(dir) {
        // It may not exist.
        let _ = fs::remove_file(folder.join(kind.name(job)));
    }
}

/// For root: the files of a job count as new, because a step of it has just ended and its epilog may come.
pub fn renew(dir: &StateDir, owner: u32, job: u32) {
    let now = TimeSpec::UTIME_NOW;
    for kind in Kind::iter() {
        let file = of_user(dir, owner).join(kind.name(job));
        // It may not exist.
        let _ = utimensat(AT_FDCWD, &file, &now, &now, UtimensatFlags::NoFollowSymlink);
    }
}

/// linux/posix_acl_xattr.h: the version, and the tags of the entries.
const VERSION: u32 = 2;
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
/// The number of entries that name nobody.
const NOBODY: u32 = u32::MAX;

const PASS: u16 = 1;
const ALL: u16 = 7;

/// Lets the user pass, and the folder's group and all others not.
fn let_pass(path: &Path, uid: u32) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let name = c"system.posix_acl_access";
    let list = list(uid);
    // SAFETY: both names end in NUL, and the kernel reads as many bytes as the list has (setxattr(2)).
    let done = unsafe {
        libc::lsetxattr(
            path.as_ptr(),
            name.as_ptr(),
            list.as_ptr().cast(),
            list.len(),
            0,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn list(uid: u32) -> Vec<u8> {
    let entries = [
        (USER_OBJ, ALL, NOBODY),
        (USER, PASS, uid),
        (GROUP_OBJ, 0, NOBODY),
        (MASK, PASS, NOBODY),
        (OTHER, 0, NOBODY),
    ];
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, may, who) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(may.to_le_bytes());
        bytes.extend(who.to_le_bytes());
    }
    bytes
}
