//! Reads a small file that only root, or the user that we run as, can have written. It follows no
//! link, waits for no pipe, and reads no more than the file can rightly have.
//! In: a path and the most bytes. Out: the bytes, or the reason why they are not trusted.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::trust::{self, TrustError};

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
    let opened = trust::open(path, OpenOptions::new().read(true));
    let file = opened.map_err(|why| match why.raw_os_error() {
        Some(libc::ENOENT) => ReadError::Absent(path.into()),
        Some(libc::ELOOP) => TrustError::Symlink(path.into(), "a regular file").into(),
        _ => unreadable(why),
    })?;
    if let Some(directory) = path.parent() {
        trust::check_directory(directory)?;
    }
    let found = file.metadata().map_err(unreadable)?;
    trust::check_file(path, &found)?;
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
