//! Which files and directories root may trust: those that only root, or the
//! user that we run as, can have written.
//! In: a path or the kernel's facts about it. Out: nothing, or an error.
//! [`read`] reads a small file of this kind: it follows no link, waits for no pipe, and stops at a given size.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;
use thiserror::Error;

/// Writable by group or others.
const SHARED_WRITE: u32 = 0o022;
/// In such a directory only owners rename and remove their files.
const STICKY: u32 = 0o1000;

/// A path that somebody else may have prepared.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The path could not be checked.
    #[error("{path} cannot be checked: {why}; see its owner and mode (ls -ld {path})")]
    Look {
        /// The path.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// The path is a link, which leads where its maker wants.
    #[error("{0} is a symbolic link, which berth does not follow here; put {1} there")]
    Symlink(PathBuf, &'static str),
    /// The path is not of the expected kind.
    #[error("{0} is not {1}; move it away")]
    Kind(PathBuf, &'static str),
    /// It belongs to another user.
    #[error(
        "{path} belongs to user {owner}, but berth runs as user {us} and trusts only root and \
         that user; chown it or remove it"
    )]
    Owner {
        /// The path.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
        /// The number of the user we run as.
        us: u32,
    },
    /// Others may open it, and could then hold locks on it.
    #[error(
        "{path} can be opened by its group or by everybody (mode {mode:04o}); berth locks this \
         file, so only root may open it: remove it, and berth makes it again"
    )]
    NotPrivate {
        /// The path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Others may write there.
    #[error(
        "{path} can be written by its group or by everybody (mode {mode:04o}); run: chmod \
         go-w {path}"
    )]
    Writable {
        /// The path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Readable or writable by group or others.
const SHARED: u32 = 0o077;

const DIRECTORY: &str = "a directory";
const FILE: &str = "a regular file";

/// Checks a directory of our own: it must not be a link, it must belong to root or us, and nobody
/// else may write there.
///
/// # Errors
/// [`TrustError`], also if it does not exist.
pub fn check_directory(path: &Path) -> Result<(), TrustError> {
    let found = fs::symlink_metadata(path).map_err(|why| look(path, why))?;
    if found.is_symlink() {
        return Err(TrustError::Symlink(path.into(), DIRECTORY));
    }
    if !found.is_dir() {
        return Err(TrustError::Kind(path.into(), DIRECTORY));
    }
    check_owner(path, &found)?;
    check_mode(path, &found)
}

/// Checks a file that is already open, so nobody can exchange it meanwhile.
///
/// # Errors
/// [`TrustError`] if it is no regular file, another user's, or shared.
pub fn check_file(path: &Path, opened: &Metadata) -> Result<(), TrustError> {
    if !opened.is_file() {
        return Err(TrustError::Kind(path.into(), FILE));
    }
    check_owner(path, opened)?;
    check_mode(path, opened)
}

/// Checks an open file that berth locks. Only its owner may open it, because a process that can open a file can hold a
/// lock on it.
///
/// # Errors
/// [`TrustError`]
pub fn check_private_file(path: &Path, opened: &Metadata) -> Result<(), TrustError> {
    check_file(path, opened)?;
    if opened.mode() & SHARED != 0 {
        return Err(TrustError::NotPrivate {
            path: path.into(),
            mode: opened.mode() & 0o7777,
        });
    }
    Ok(())
}

/// Opens a file without following a link or waiting for the other end of a pipe.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

/// Whether a path still leads to an open file: an administrator may have removed or replaced it.
pub(crate) fn is_at(path: &Path, file: &File) -> bool {
    let place = |found: Metadata| (found.dev(), found.ino());
    let named = fs::symlink_metadata(path).map(place);
    named.is_ok_and(|named| file.metadata().map(place).is_ok_and(|own| own == named))
}

/// Checks every directory above a path, so nobody can put another tree in
/// its place. A sticky one (`/tmp`) may be shared, because only owners rename in it.
///
/// # Errors
/// [`TrustError`] names the first directory that cannot be trusted.
pub fn check_ancestors(path: &Path) -> Result<(), TrustError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let real = fs::canonicalize(parent).map_err(|why| look(parent, why))?;
    for directory in real.ancestors() {
        let found = fs::metadata(directory).map_err(|why| look(directory, why))?;
        check_owner(directory, &found)?;
        if found.mode() & STICKY == 0 {
            check_mode(directory, &found)?;
        }
    }
    Ok(())
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), TrustError> {
    let us = Uid::effective().as_raw();
    if found.uid() == 0 || found.uid() == us {
        return Ok(());
    }
    Err(TrustError::Owner {
        path: path.into(),
        owner: found.uid(),
        us,
    })
}

fn check_mode(path: &Path, found: &Metadata) -> Result<(), TrustError> {
    if found.mode() & SHARED_WRITE == 0 {
        return Ok(());
    }
    Err(TrustError::Writable {
        path: path.into(),
        mode: found.mode() & 0o7777,
    })
}

fn look(path: &Path, why: io::Error) -> TrustError {
    TrustError::Look {
        path: path.into(),
        why,
    }
}

/// A file that was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not exist.
    #[error("{0} does not exist")]
    Absent(PathBuf),
    /// Somebody else could have written it.
    #[error("{0}")]
    Untrusted(#[from] TrustError),
    /// The system cannot read it.
    #[error("{path} cannot be read: {why}; see its owner and mode (ls -l {path})")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// Another program wrote it.
    #[error("{path} has more than {most} bytes, so berth did not write it; remove it")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that it may have.
        most: u64,
    },
}

/// Reads a file of at most `most` bytes, in a folder that is trusted too.
///
/// # Errors
/// [`ReadError`]; each text names what to do.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    let unreadable = |why| ReadError::Unreadable {
        path: path.into(),
        why,
    };
    let opened = open(path, OpenOptions::new().read(true));
    let file = opened.map_err(|why| match why.raw_os_error() {
        Some(libc::ENOENT) => ReadError::Absent(path.into()),
        Some(libc::ELOOP) => TrustError::Symlink(path.into(), "a regular file").into(),
        _ => unreadable(why),
    })?;
    if let Some(directory) = path.parent() {
        check_directory(directory)?;
    }
    let found = file.metadata().map_err(unreadable)?;
    check_file(path, &found)?;
    // One byte more than it has: then one read also sees its end.
    let mut bytes = Vec::with_capacity(found.len().min(most) as usize + 1);
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() as u64 > most {
        true => Err(ReadError::TooLarge {
            path: path.into(),
            most,
        }),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_what_root_wrote_is_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words");
        assert!(matches!(read(&path, 5), Err(ReadError::Absent(_))));
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(matches!(read(&path, 4), Err(ReadError::TooLarge { .. })));
        let told = read(&path, 4).unwrap_err().to_string();
        assert!(told.contains("more than 4 bytes"), "{told}");
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(read(&path, 5), Err(ReadError::Untrusted(_))));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(read(&link, 5), Err(ReadError::Untrusted(_))));
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(read(&pipe, 5), Err(ReadError::Untrusted(_))));
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(read(&path, 5), Err(ReadError::Untrusted(_))));
    }
}
