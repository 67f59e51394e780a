//! The words of the metrics file in this process's memory: adding to one takes no lock and no system call.
//! In: a node's state directory. Out: the words, or an error; then nothing is counted.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use siphasher::sip::SipHasher24;

use super::{
    ALL_WORDS, BYTES, Count, NAME, NAME_WORDS, NODE_WORDS, PoolCounts, SLOT_COUNTS, SLOT_NAME,
    SLOT_WORDS, WORD,
};
use crate::state::StateDir;
use crate::trust;

const MODE: u32 = 0o644;

/// The words, which stay mapped until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Mapped(&'static [AtomicU64]);

impl Mapped {
    /// Maps the file, which is made if it is missing. Nobody locks it, so nobody who can open it delays anybody.
    ///
    /// # Errors
    /// A directory or file that is not root's alone to write, or no room for the file.
    pub fn open(dir: &StateDir) -> io::Result<Self> {
        dir.prepare().map_err(io::Error::other)?;
        let path = dir.path().join(NAME);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = trust::open(&path, options.mode(MODE))?;
        let found = file.metadata()?;
        trust::check_file(&path, &found).map_err(io::Error::other)?;
        if found.len() < BYTES as u64 {
            // Whatever this process's umask is.
            file.set_permissions(Permissions::from_mode(MODE))?;
            reserve(&file)?;
        }
        map(&file)
    }

    /// Adds to a count.
    pub fn add(self, count: Count, more: u64) {
        if let Some(word) = self.0.get(count as usize).filter(|_| more > 0) {
            word.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Adds a step to its pool's counts; more pools than there are slots are not counted.
    pub fn add_to_pool(self, pool: &str, more: PoolCounts) {
        let slots = self.0.get(NODE_WORDS..).unwrap_or_default();
        let Some(slot) = slots
            .chunks_exact(SLOT_WORDS)
            .find(|slot| is_of(slot, mark(pool)))
        else {
            return;
        };
        // Whoever has taken the slot may have been killed before it wrote the name.
        let names = slot.iter().skip(SLOT_NAME).take(NAME_WORDS);
        for (word, bytes) in names.zip(pool.as_bytes().chunks(WORD)) {
            let mut name = [0; WORD];
            for (to, from) in name.iter_mut().zip(bytes) {
                *to = *from;
            }
            word.store(u64::from_ne_bytes(name), Ordering::Relaxed);
        }
        for (word, more) in slot.iter().skip(SLOT_COUNTS).zip(more.values()) {
            word.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// Whether the slot is of the pool with this mark; a free one becomes its slot.
fn is_of(slot: &[AtomicU64], mark: u64) -> bool {
    slot.first().is_some_and(|word| {
        let taken = word.compare_exchange(0, mark, Ordering::Relaxed, Ordering::Relaxed);
        taken.map_or_else(|before| before == mark, |_| true)
    })
}

/// The first word of a pool's slot: never 0, and the same in every process.
pub(super) fn mark(pool: &str) -> u64 {
    SipHasher24::new().hash(pool.as_bytes()).max(1)
}

/// Space on the disk for all words: a full one must be an error here, and no signal when a word is written.
fn reserve(file: &File) -> io::Result<()> {
    // SAFETY: takes numbers only; the descriptor is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, BYTES as libc::off_t) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn map(file: &File) -> io::Result<Mapped> {
    // SAFETY: a new mapping at a place of the kernel's choice; nothing of ours is there. The file has so many bytes.
    let words = unsafe {
        libc::mmap(
            ptr::null_mut(),
            BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if words == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: whole pages that hold so many words, aligned, readable and writable, and never unmapped; other processes
    // change them by atomic operations alone, and only root could truncate the file.
    let words = unsafe { std::slice::from_raw_parts(words.cast::<AtomicU64>(), ALL_WORDS) };
    Ok(Mapped(words))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::metrics::{Metrics, SLOTS};

    fn node() -> (tempfile::TempDir, StateDir) {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        (base, dir)
    }

    #[test]
    fn many_count_at_once_and_nothing_is_lost() {
        let (_base, dir) = node();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // As each slurmstepd does.
                    let words = Mapped::open(&dir).unwrap();
                    (0..5000).for_each(|_| words.add(Count::Launches, 1));
                    words.add(Count::Bound, 3);
                });
            }
        });
        let read = Metrics::read(&dir).unwrap();
        let counts = [Count::Launches, Count::Bound, Count::OthersWaited];
        assert_eq!(counts.map(|count| read.get(count)), [20_000, 12, 0]);
        let found = fs::metadata(dir.path().join(NAME)).unwrap();
        assert_eq!((found.mode() & 0o7777, found.len()), (MODE, BYTES as u64));
        assert!(found.blocks() * 512 >= found.len(), "its space is reserved");
    }

    #[test]
    fn pools_have_slots_until_all_are_taken() {
        let (_base, dir) = node();
        let words = Mapped::open(&dir).unwrap();
        let more = |steps| PoolCounts {
            steps,
            requested: 4,
            ..PoolCounts::default()
        };
        let long = "p".repeat(NAME_WORDS * WORD);
        words.add_to_pool("multi8", more(1));
        words.add_to_pool(&long, more(2));
        words.add_to_pool("multi8", more(3));
        let pools = Metrics::read(&dir).unwrap().pools();
        assert_eq!(pools["multi8"], [4, 8, 0, 0]);
        assert_eq!(pools[&long], [2, 4, 0, 0]);
        for number in 0..SLOTS {
            words.add_to_pool(&format!("pool{number}"), more(1));
        }
        let pools = Metrics::read(&dir).unwrap().pools();
        assert_eq!(pools.len(), SLOTS);
        assert!(!pools.contains_key(&format!("pool{}", SLOTS - 1)));
    }

    #[test]
    fn a_name_that_its_writer_did_not_finish_is_written_by_the_next_one() {
        let (_base, dir) = node();
        let words = Mapped::open(&dir).unwrap();
        words.0[NODE_WORDS].store(mark("multi8"), Ordering::Relaxed);
        assert!(Metrics::read(&dir).unwrap().pools().is_empty());
        words.add_to_pool("multi8", PoolCounts::default());
        assert!(Metrics::read(&dir).unwrap().pools().contains_key("multi8"));
    }

    #[test]
    fn a_cut_file_is_made_whole_and_anothers_is_not_mapped() {
        let (base, dir) = node();
        Mapped::open(&dir).unwrap().add(Count::Refused, 7);
        let path = dir.path().join(NAME);
        fs::write(&path, fs::read(&path).unwrap().split_at(4 * WORD).0).unwrap();
        Mapped::open(&dir).unwrap().add(Count::Refused, 1);
        let read = Metrics::read(&dir).unwrap();
        assert_eq!(read.get(Count::Refused), 8);
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        let why = Mapped::open(&dir).unwrap_err().to_string();
        assert!(why.contains("can be written by its group"), "{why}");
        fs::rename(&path, base.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(base.path().join("elsewhere"), &path).unwrap();
        assert!(Mapped::open(&dir).is_err(), "a link");
    }
}
