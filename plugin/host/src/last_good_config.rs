//! What a slurmd keeps beside the machine file for the one that follows. A site's file as it last held: that one puts it in
//! force if the file itself does not hold then, because what runs on the node was launched by it.
//! In: a node's state directory, and the text. Out: a file that only root reads.

use std::fs;
use std::path::PathBuf;

use crate::StateDir;
use crate::atomic_file;
use crate::trusted_file;

/// The largest file of the site.
const MOST: u64 = 1 << 20;
const MODE: u32 = 0o600;

/// What is kept.
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

    /// What is kept; nothing that somebody else could have written.
    #[must_use]
    pub fn text(self, dir: &StateDir) -> Option<Vec<u8>> {
        dir.check().ok()?;
        trusted_file::read(&self.path(dir), MOST).ok()
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
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

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
