//! Reads the site's file of cpusets, as only root can have written it, and tells whether it has
//! changed since.
//! In: its path. Out: [`SiteCpusets`] and a [`Stamp`].

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::SiteCpusets;
use super::read::{LineError, Site, read};
use crate::trust;
use crate::trusted_file::{self, ReadError};

/// Bytes of the file.
const MOST: u64 = 1 << 20;

/// The file's times and place: while they are the same, so is the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
    file: (u64, u64, u64),
}

impl Stamp {
    /// The stamp now; nothing if the file cannot be looked at.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            file: (found.dev(), found.ino(), found.size()),
        })
    }
}

/// A file that does not hold.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file that this key names was not read.
    #[error("{0}={1}: {2}")]
    File(&'static str, PathBuf, ReadError),
    /// It has more bytes than such a file can rightly have.
    #[error("{0}={1}: the file has more than {MOST} bytes; name the right one")]
    TooLarge(&'static str, PathBuf),
    /// A line of it is wrong.
    #[error("{0}, {1}")]
    Line(PathBuf, LineError),
}

/// Reads the file.
///
/// # Errors
/// [`FileError`]; its text names file, line and reason.
pub fn load(path: &Path, site: &Site<'_>) -> Result<SiteCpusets, FileError> {
    of_text(path, &text("cpusets", path)?, site)
}

/// What the file holds that has this text.
///
/// # Errors
/// [`FileError`]; its text names file, line and reason.
pub fn of_text(path: &Path, text: &[u8], site: &Site<'_>) -> Result<SiteCpusets, FileError> {
    let all = read(text, site).map_err(|why| FileError::Line(path.into(), why))?;
    Ok(SiteCpusets {
        path: path.into(),
        ..all
    })
}

/// The text of a file of the site that this key names, as only root can have written it.
///
/// # Errors
/// [`FileError`]
pub fn text(key: &'static str, path: &Path) -> Result<Vec<u8>, FileError> {
    let failed = |why| FileError::File(key, path.into(), why);
    trust::check_ancestors(path).map_err(|why| match path.exists() {
        true => failed(why.into()),
        false => failed(ReadError::Absent(path.into())),
    })?;
    trusted_file::read(path, MOST).map_err(|why| match why {
        ReadError::TooLarge { path, .. } => FileError::TooLarge(key, path),
        other => failed(other),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_of_root_is_read_and_a_change_is_seen() {
        let site = Site {
            is_here: &|_| Ok(true),
            uid: &|_| None,
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cpusets.conf");
        let told = || load(&path, &site).unwrap_err().to_string();
        assert_eq!(Stamp::of(&path), None);
        assert!(told().contains("cpusets.conf does not exist"), "{}", told());
        fs::write(&path, "name=A cpus=0\n").unwrap();
        let before = Stamp::of(&path).unwrap();
        let all = load(&path, &site).unwrap();
        assert_eq!((all.here().count(), &all.path), (1, &path));
        assert_eq!(Stamp::of(&path), Some(before));
        fs::write(&path, "name=A cpus=0\nname=B cpu=1\n").unwrap();
        assert_ne!(Stamp::of(&path), Some(before));
        let want = format!(
            "{}, line 2: there is no key cpu here; the nearest is cpus",
            path.display()
        );
        assert_eq!(told(), want);
        fs::write(&path, "#".repeat(MOST as usize + 1)).unwrap();
        assert!(told().contains("more than 1048576 bytes"), "{}", told());
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert!(told().contains("can be written by"), "{}", told());
    }
}
