//! Keeps the counts: as words in a file that only root can open, so nobody else can
//! hold its lock, and in the public file beside it, which is replaced as a whole and never locked.
//! In: events. Out: both files. Nobody waits here for longer than a moment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;

use super::{Counters, Facts, KINDS, NAME};
use crate::atomic_file;
use crate::lock;
use crate::state::StateDir;
use crate::trust;

/// The private file's name in the state directory; another format will have another number.
pub const COUNTS: &str = "counts.1";
const MAGIC: &[u8; 8] = b"BERTHCT1";
const WORD: usize = size_of::<u64>();
/// The magic and the words, with room for counts to come.
const BYTES: usize = 256;
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;
/// Held while the counts are read and written.
const COUNTING: u64 = 0;
/// Held while the public file is written.
const PUBLISHING: u64 = 1;
/// The time to wait for another process that has the counts. It needs some microseconds, but a full node may let it wait
/// itself, and hundreds of steps can end together.
const A_MOMENT: Duration = Duration::from_millis(200);
/// The most times that the public file is written again because others counted meanwhile.
const MOST_TURNS: u32 = 100;

/// Adds to the counts of a node and writes the public file.
///
/// # Errors
/// A file that cannot be written or is not root's alone, or that another process keeps for longer
/// than a moment ([`ErrorKind::WouldBlock`]); the event is then not counted. The inner error is that of the public file:
/// the event is counted, and the next one publishes it.
pub fn add(dir: &StateDir, facts: &Facts, more: &Counters) -> io::Result<io::Result<()>> {
    let file = open(dir)?;
    let turn = lock::wait(&file, COUNTING, A_MOMENT)?
        .ok_or_else(|| io::Error::new(ErrorKind::WouldBlock, "another process keeps the counts"))?;
    let sum = now(&file, dir).plus(more);
    // What a later release counts behind them stays.
    file.write_all_at(&bytes(&sum), 0)?;
    drop(turn);
    Ok(publish_from(&file, dir, facts))
}

/// Writes the public file from the counts as they are.
///
/// # Errors
/// A file that cannot be written or is not root's alone.
pub fn publish(dir: &StateDir, facts: &Facts) -> io::Result<()> {
    publish_from(&open(dir)?, dir, facts)
}

/// Removes the public files if nothing is counted.
pub fn remove(dir: &StateDir) {
    for name in [NAME, super::POOLS] {
        // It may never have been there.
        let _ = fs::remove_file(dir.path().join(name));
    }
}

/// A process that finds another one writing leaves the work to it. The other one checks afterwards
/// whether somebody has counted meanwhile. So nobody waits, and the last counts are always
/// published.
fn publish_from(file: &File, dir: &StateDir, facts: &Facts) -> io::Result<()> {
    let path = dir.path().join(NAME);
    for _ in 0..MOST_TURNS {
        let Some(turn) = lock::wait(file, PUBLISHING, Duration::ZERO)? else {
            return Ok(());
        };
        let counts = now(file, dir);
        let text = counts.text(facts);
        atomic_file::replace(&path, text.as_bytes(), PUBLIC).map_err(|failed| failed.why)?;
        drop(turn);
        if now(file, dir) == counts {
            break;
        }
    }
    Ok(())
}

fn open(dir: &StateDir) -> io::Result<File> {
    trust::check_directory(dir.path()).map_err(io::Error::other)?;
    let path = dir.path().join(COUNTS);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&path)?;
    trust::check_private_file(&path, &file.metadata()?).map_err(io::Error::other)?;
    Ok(file)
}

/// The counts so far; a new file continues the counts that an earlier release has published.
fn now(file: &File, dir: &StateDir) -> Counters {
    let mut found = [0; BYTES];
    // A file that is cut is read up to its end.
    let length = file.read_at(&mut found, 0).unwrap_or_default();
    let whole = found.get(..length).unwrap_or_default();
    let Some(words) = whole.strip_prefix(MAGIC) else {
        return super::read(dir)
            .map_or_else(|_| Counters::default(), |text| Counters::parse(&text));
    };
    let mut values = [0; KINDS];
    for (value, word) in values.iter_mut().zip(words.chunks_exact(WORD)) {
        *value = u64::from_le_bytes(word.try_into().unwrap_or_default());
    }
    Counters::of(values)
}

fn bytes(counts: &Counters) -> Vec<u8> {
    let words = counts.values().map(u64::to_le_bytes);
    MAGIC
        .iter()
        .chain(words.iter().flatten())
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::time::Instant;

    use super::*;
    use crate::counters::{State, read};

    struct Node {
        _base: tempfile::TempDir,
        dir: StateDir,
        facts: Facts,
    }

    fn node() -> Node {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let facts = Facts {
            node: "n1".into(),
            compat: "berth".into(),
            state: State::Working,
        };
        let _base = base;
        Node { _base, dir, facts }
    }

    const ONE: Counters = Counters {
        launches: 1,
        bound: 3,
        unbound: 0,
        refused: 0,
        differences: 0,
        switched_off: 0,
        binding_failed: 0,
        reserved_granted: 0,
        reserved_used: 0,
        confined: 0,
        not_confined: 0,
        in_pool: 0,
        pool_full: 0,
        others_waited: 0,
    };

    #[test]
    fn many_count_at_once_and_the_last_counts_are_published() {
        let node = node();
        // As each slurmstepd does: one after the other may find the counts busy.
        let count = || while add(&node.dir, &node.facts, &ONE).is_err() {};
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| count()));
            }
        });
        let text = read(&node.dir).unwrap();
        let all = Counters::parse(&text);
        assert_eq!((all.launches, all.bound, all.refused), (200, 600, 0));
        assert!(
            text.contains("berth_tasks_bound_total{node=\"n1\"} 600\n"),
            "{text}"
        );
        let mut names: Vec<_> = fs::read_dir(node.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, [NAME, COUNTS]);
        let mode = |name: &str| fs::metadata(node.dir.path().join(name)).unwrap().mode() & 0o7777;
        assert_eq!((mode(NAME), mode(COUNTS)), (0o644, 0o600));
    }

    #[test]
    fn what_a_user_can_lock_holds_nobody_up() {
        let node = node();
        add(&node.dir, &node.facts, &ONE).unwrap().unwrap();
        let paths = [node.dir.path().to_path_buf(), node.dir.path().join(NAME)];
        let held = paths.map(|path| File::open(path).unwrap());
        for file in &held {
            // SAFETY: the descriptor is open, and the call touches no memory of ours.
            let done = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
            assert_eq!(done, 0);
        }
        let since = Instant::now();
        add(&node.dir, &node.facts, &ONE).unwrap().unwrap();
        assert!(since.elapsed() < Duration::from_millis(100));
        let counts = Counters::parse(&read(&node.dir).unwrap());
        assert_eq!(counts.launches, 2);
    }

    #[test]
    fn what_is_not_published_is_counted_once() {
        let node = node();
        let public = node.dir.path().join(NAME);
        fs::create_dir(&public).unwrap();
        assert!(add(&node.dir, &node.facts, &ONE).unwrap().is_err());
        fs::remove_dir(&public).unwrap();
        add(&node.dir, &node.facts, &ONE).unwrap().unwrap();
        assert_eq!(Counters::parse(&read(&node.dir).unwrap()).launches, 2);
    }

    #[test]
    fn a_file_that_others_can_open_is_not_locked() {
        let node = node();
        add(&node.dir, &node.facts, &ONE).unwrap().unwrap();
        let path = node.dir.path().join(COUNTS);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let told = add(&node.dir, &node.facts, &ONE).unwrap_err().to_string();
        assert!(told.contains("only root may open it"), "{told}");
    }

    #[test]
    fn counts_go_on_from_the_release_before_and_any_file_is_read() {
        let node = node();
        let before = Counters {
            launches: 41,
            ..Counters::default()
        };
        let path = node.dir.path().join(NAME);
        fs::write(path, before.text(&node.facts)).unwrap();
        add(&node.dir, &node.facts, &ONE).unwrap().unwrap();
        let launches = || Counters::parse(&read(&node.dir).unwrap()).launches;
        assert_eq!(launches(), 42);
        for torn in [
            &b""[..],
            b"BERTH",
            b"somebody else's words, which are long",
            &[0xff; 999],
        ] {
            let path = node.dir.path().join(COUNTS);
            fs::write(path, torn).unwrap();
            let known = launches();
            add(&node.dir, &node.facts, &ONE).unwrap().unwrap();
            assert_eq!(launches(), known + 1, "{torn:?}");
        }
        remove(&node.dir);
        publish(&node.dir, &node.facts).unwrap();
        assert_eq!(launches(), 46);
    }
}
