//! Replaces a whole file at once: readers see the old one or the new one,
//! whatever process dies meanwhile.
//! In: a path and its bytes. Out: the file, on disk, or an error.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use thiserror::Error;

/// A file that could not be replaced.
#[derive(Debug, Error)]
#[error(
    "{path} could not be written: {action} failed: {why}; check that its directory exists, is \
     writable, and has room (ls -ld, df)"
)]
pub struct WriteError {
    /// The file asked for.
    pub path: PathBuf,
    /// The step that failed.
    pub action: &'static str,
    /// What the system said.
    pub why: io::Error,
}

/// Tells writers of one process apart.
static WRITERS: AtomicU32 = AtomicU32::new(0);

/// Writes a temporary file beside `path`, syncs it, and renames it into place.
///
/// `mode` is exact, whatever the process's umask.
///
/// # Errors
/// [`WriteError`]; the temporary file is then removed, the old file untouched.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), WriteError> {
    put(path, bytes, mode, true)?;
    // The file is in place; only a power cut could still undo the rename.
    if let Some(Ok(directory)) = path.parent().map(File::open) {
        let _ = directory.sync_all();
    }
    Ok(())
}

/// The same without waiting for the disk, for files that the next boot does not need.
///
/// # Errors
/// [`WriteError`]; the temporary file is then removed, the old file untouched.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), WriteError> {
    put(path, bytes, mode, false)
}

fn put(path: &Path, bytes: &[u8], mode: u32, synced: bool) -> Result<(), WriteError> {
    let temporary = temporary_beside(path);
    let written = fill(&temporary, bytes, mode, synced)
        .and_then(|()| fs::rename(&temporary, path).map_err(|why| ("renaming into place", why)));
    written.map_err(|(action, why)| {
        // It may not exist, and a second failure would add nothing.
        let _ = fs::remove_file(&temporary);
        WriteError {
            path: path.into(),
            action,
            why,
        }
    })
}

fn fill(
    temporary: &Path,
    bytes: &[u8],
    mode: u32,
    synced: bool,
) -> Result<(), (&'static str, io::Error)> {
    let mut file = create(temporary).map_err(|why| ("creating a file beside it", why))?;
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(|why| ("setting the mode", why))?;
    file.write_all(bytes).map_err(|why| ("writing", why))?;
    if synced {
        file.sync_all().map_err(|why| ("syncing", why))?;
    }
    Ok(())
}

/// If a dead process with our number has left a file of this name, it is taken over.
fn create(temporary: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(temporary) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(temporary)?;
            options.open(temporary)
        }
        opened => opened,
    }
}

fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let writer = WRITERS.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}.{writer}", process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn names_in(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn the_new_file_replaces_the_old_one_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("facts");
        fs::write(&path, "old and longer").unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        write(&path, b"new", 0o644).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let after = fs::metadata(&path).unwrap();
        assert_ne!(after.ino(), before, "it was written in place");
        assert_eq!(after.mode() & 0o7777, 0o644);
        assert_eq!(names_in(dir.path()), ["facts"]);
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("facts");
        fs::create_dir(&path).unwrap();
        let told = write(&path, b"new", 0o644).unwrap_err().to_string();
        assert!(
            told.contains("facts") && told.contains("renaming"),
            "{told}"
        );
        assert_eq!(names_in(dir.path()), ["facts"]);
        let told = write(Path::new("/no/such/place"), b"", 0o644).unwrap_err();
        assert!(told.to_string().contains("creating"), "{told}");
    }

    #[test]
    fn a_dead_writers_name_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(".left");
        fs::write(&left, "torn").unwrap();
        fill(&left, b"whole", 0o600, true).unwrap();
        assert_eq!(fs::read(&left).unwrap(), b"whole");
    }
}
