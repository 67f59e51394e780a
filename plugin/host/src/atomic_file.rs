//! Replaces a whole file at once: readers see the old one or the new one,
//! whatever process dies meanwhile.
//! In: a path and its bytes. Out: the file, on disk, or an error.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

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
    /// The system's error.
    pub why: io::Error,
}

/// No writer takes so long.
const MOMENT: Duration = Duration::from_secs(60);
/// A clock is put right by less than that while it runs.
const AHEAD: Duration = Duration::from_secs(60);

/// Tells writers of one process apart; it begins anywhere, because processes of two PID namespaces can have one number.
static WRITERS: LazyLock<AtomicU32> =
    LazyLock::new(|| AtomicU32::new(RandomState::new().build_hasher().finish() as u32));

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

/// Writes a temporary file beside `path` and renames it into place, without waiting for the disk: for files that the
/// next boot does not need. `mode` is exact.
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

/// Removes what writers have left in a folder that were killed before their file was in place.
pub fn tidy(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let writer = name.to_str().and_then(writer_of);
        let changed = entry.metadata().and_then(|found| found.modified());
        let is_old = changed.is_ok_and(|changed| is_older(changed, MOMENT));
        let is_left =
            writer.is_some_and(|pid| is_old && !Path::new(&format!("/proc/{pid}")).exists());
        if is_left {
            // One that is gone already needs nothing.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file's last change was longer ago. A time in the future was set before the clock went back, nobody knows
/// how long ago: such a file counts as old, for it would be young for ever.
pub(crate) fn is_older(changed: SystemTime, than: Duration) -> bool {
    match changed.elapsed() {
        Ok(age) => age > than,
        Err(ahead) => ahead.duration() > AHEAD,
    }
}

/// The process that a temporary file's name has.
fn writer_of(name: &str) -> Option<u32> {
    let (rest, writer) = name.strip_prefix('.')?.rsplit_once('.')?;
    let (_, pid) = rest.rsplit_once('.')?;
    writer.parse::<u32>().ok()?;
    pid.parse().ok()
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
    fn what_a_killed_writer_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        // Numbers of processes end at 4,194,304.
        let (own, dead) = (process::id(), 1 << 30);
        let names = [
            format!(".facts.{own}.0"),
            format!(".facts.{dead}.0"),
            format!(".berth.prom.{dead}.3"),
            format!("facts.{dead}.0"),
            ".hidden".to_owned(),
            format!(".new.{dead}.1"),
        ];
        let now = SystemTime::now();
        // The clock may have gone back since then.
        for old in [now - 2 * MOMENT, now + 2 * AHEAD] {
            for name in &names {
                let file = File::create(dir.path().join(name)).unwrap();
                if !name.starts_with(".new") {
                    file.set_modified(old).unwrap();
                }
            }
            tidy(dir.path());
            let mut left = names_in(dir.path());
            left.sort();
            let mut stays: Vec<String> = [0, 3, 4, 5].map(|at: usize| names[at].clone()).into();
            stays.sort();
            assert_eq!(left, stays);
        }
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
