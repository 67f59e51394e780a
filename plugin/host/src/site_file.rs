//! Reads the site's files of cpusets and pools, as only root can have written them, and tells whether one has
//! changed since.
//! In: a path. Out: [`SiteCpusets`] or [`SitePools`], and a [`stamp`].
//!
//! A slurmd keeps the text that last held beside the machine file ([`LastGoodConfig`]): the slurmd that follows puts it in
//! force if the file itself does not hold then, because what runs on the node was launched by it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use berth_site::cpusets::{self, LineError, SiteCpusets};
use berth_site::pools::{self, SitePools};

use crate::trust::{self, ReadError};
use crate::{StateDir, atomic_file};

/// Bytes of the file.
const MOST: u64 = 1 << 20;

/// A file's times and place in words: while they are the same, so is the file. Empty if it cannot be looked at.
#[must_use]
pub fn stamp(path: &Path) -> String {
    fs::symlink_metadata(path).map_or_else(
        |_| String::new(),
        |found| {
            format!(
                "{}.{:09} {}.{:09} {} {}",
                found.mtime(),
                found.mtime_nsec(),
                found.ctime(),
                found.ctime_nsec(),
                found.ino(),
                found.size()
            )
        },
    )
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
    trust::read(path, MOST).map_err(|why| match why {
        ReadError::TooLarge { path, .. } => FileError::TooLarge(key, path),
        other => failed(other),
    })
}

/// Reads the file of cpusets.
///
/// # Errors
/// [`FileError`]; its text names file, line and reason.
pub fn cpusets(path: &Path, site: &cpusets::Site<'_>) -> Result<SiteCpusets, FileError> {
    cpusets_of(path, &text("cpusets", path)?, site)
}

/// The content of a file of cpusets that has this text.
///
/// # Errors
/// [`FileError`]; its text names file, line and reason.
pub fn cpusets_of(
    path: &Path,
    text: &[u8],
    site: &cpusets::Site<'_>,
) -> Result<SiteCpusets, FileError> {
    let mut all = cpusets::read(text, site).map_err(|why| FileError::Line(path.into(), why))?;
    all.path = path.into();
    Ok(all)
}

/// Reads the file of pools.
///
/// # Errors
/// [`FileError`]; its text names file, line and reason.
pub fn pools(path: &Path, site: &pools::Site<'_>) -> Result<SitePools, FileError> {
    pools_of(path, &text("pools", path)?, site)
}

/// The content of a file of pools that has this text.
///
/// # Errors
/// [`FileError`]; its text names file, line and reason.
pub fn pools_of(path: &Path, text: &[u8], site: &pools::Site<'_>) -> Result<SitePools, FileError> {
    let mut all = pools::read(text, site).map_err(|why| FileError::Line(path.into(), why))?;
    all.path = path.into();
    Ok(all)
}

const MODE: u32 = 0o600;

/// The site's file whose content is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastGoodConfig {
    /// `pools=`
    Pools,
    /// `cpusets=`
    Cpusets,
}

impl LastGoodConfig {
    fn path(self, dir: &StateDir) -> PathBuf {
        dir.path().join(match self {
            Self::Pools => "pools.held",
            Self::Cpusets => "cpusets.held",
        })
    }

    /// Keeps the text, unless it is kept already.
    ///
    /// # Errors
    /// A directory that cannot be written; a later slurmd then has the site's file alone.
    pub fn put(self, dir: &StateDir, text: &[u8]) -> Result<(), String> {
        dir.prepare().map_err(|why| why.to_string())?;
        if self.text(dir).is_some_and(|kept| kept == text) {
            return Ok(());
        }
        let written = atomic_file::replace(&self.path(dir), text, MODE);
        written.map_err(|why| why.to_string())
    }

    /// The kept text; nothing that somebody else could have written.
    #[must_use]
    pub fn text(self, dir: &StateDir) -> Option<Vec<u8>> {
        dir.check().ok()?;
        trust::read(&self.path(dir), MOST).ok()
    }

    /// Removes it, if it is there: the site names no such file any more, or nothing of it is left.
    pub fn forget(self, dir: &StateDir) {
        if dir.check().is_ok() {
            let _ = fs::remove_file(self.path(dir));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_of_root_is_read_and_a_change_is_seen() {
        let site = cpusets::Site {
            is_here: &|_| Ok(true),
            uid: &|_| None,
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cpusets.conf");
        let told = || cpusets(&path, &site).unwrap_err().to_string();
        assert_eq!(stamp(&path), "");
        assert!(told().contains("cpusets.conf does not exist"), "{}", told());
        fs::write(&path, "name=A cpus=0\n").unwrap();
        let before = stamp(&path);
        let all = cpusets(&path, &site).unwrap();
        assert_eq!((all.here().count(), &all.path), (1, &path));
        assert_eq!(stamp(&path), before);
        fs::write(&path, "name=A cpus=0\nname=B cpu=1\n").unwrap();
        assert_ne!(stamp(&path), before);
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

    #[test]
    fn a_text_is_kept_until_it_is_forgotten() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        assert_eq!(LastGoodConfig::Pools.text(&dir), None);
        LastGoodConfig::Pools.forget(&dir);
        LastGoodConfig::Pools.put(&dir, b"name=a").unwrap();
        LastGoodConfig::Cpusets.put(&dir, b"name=b").unwrap();
        LastGoodConfig::Pools.put(&dir, b"name=c").unwrap();
        assert_eq!(
            LastGoodConfig::Pools.text(&dir).as_deref(),
            Some(&b"name=c"[..])
        );
        assert_eq!(
            LastGoodConfig::Cpusets.text(&dir).as_deref(),
            Some(&b"name=b"[..])
        );
        let path = LastGoodConfig::Pools.path(&dir);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            MODE
        );
        // One that others may write is not believed.
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert_eq!(LastGoodConfig::Pools.text(&dir), None);
        LastGoodConfig::Pools.forget(&dir);
        assert!(!path.exists());
    }
}
