//! The ledger's file: a head, then slots of one size. It is in the state directory, for root alone,
//! and valid for this boot only. It is not mapped, because cutting the file must not end slurmd.
//! In: a state directory. Out: slots read and written, or an error.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::record::{HEAD, WORD};
use crate::lock::{self, Locked};
use crate::online::{boot_id, possible_cpus};
use crate::state::StateDir;
use crate::trust::{self, TrustError};

/// Its name; another format will have another number, so two releases of berth on one
/// node never misread each other's bytes.
pub const NAME: &str = "ledger.1";
const MAGIC: &[u8; 8] = b"BERTHLG1";
/// Bytes before the first slot: the magic, words of a slot, the boot.
pub(super) const HEAD_BYTES: u64 = 96;
/// A slot has room for at least this number of CPUs, even if the kernel has fewer.
const LEAST_CPUS: u32 = 1024;
/// Words of a slot that are free for later releases on the largest nodes; on smaller nodes the
/// words of missing CPUs are free too.
const ADDED_WORDS: usize = 8;
/// No kernel has more CPUs than these words have bits, and no release adds more words.
const MOST_WORDS: usize = 4096 + 256;
/// A file with more slots is not ours.
const MOST_SLOTS: u64 = 1 << 16;
/// The lock while the file is read and written.
const WHOLE: u64 = 0;
/// Behind a slot's first byte, which is the lock of its writers: the lock that its slurmstepd shares while it lives.
const LIFE: u64 = 1;
/// The lock of the process that reads the ledger and writes the public file.
pub(super) const PUBLIC: u64 = 1;

/// A ledger that cannot be used.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// A system call failed.
    #[error(
        "the ledger {path} could not be used: {action} failed: {why}; check that its directory \
         exists, is writable, and has room (ls -ld, df)"
    )]
    System {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        why: io::Error,
    },
    /// Somebody else could have written it.
    #[error("the ledger cannot be trusted: {0}")]
    Untrusted(#[from] TrustError),
    /// Another process keeps the lock.
    #[error(
        "another process holds the ledger {0} for too long; check which slurmd or slurmstepd is \
         stopped (ps -e -o pid,stat,args)"
    )]
    Busy(PathBuf),
    /// The step has CPUs that this kernel did not have when the file was made.
    #[error("the ledger {0} has no room for this step's CPU numbers; remove it while no step runs")]
    TooManyCpus(PathBuf),
    /// The slot of a step's entry has another step's by now.
    #[error(
        "this step's entry is no longer in the ledger {0}, and other steps may be bound to the same \
         cores; restart slurmd if it runs an older release of berth"
    )]
    Lost(PathBuf),
}

/// Words of a slot, if the file's head is one of ours and of this boot.
fn words(file: &File, boot: &str) -> Option<usize> {
    let mut head = [0; HEAD_BYTES as usize];
    file.read_exact_at(&mut head, 0).ok()?;
    let (magic, rest) = head.split_at_checked(MAGIC.len())?;
    let (words, then) = rest.split_at_checked(WORD)?;
    let words = usize::try_from(u64::from_le_bytes(words.try_into().ok()?)).ok()?;
    let then = std::str::from_utf8(then).ok()?.trim_end_matches('\0');
    let sane = (HEAD + 1..=HEAD + MOST_WORDS).contains(&words);
    (magic == MAGIC && then == boot && sane).then_some(words)
}

/// The open file.
#[derive(Debug)]
pub(super) struct LedgerFile {
    path: PathBuf,
    file: File,
    /// Device and number, which show whether the name still leads to this file.
    identity: (u64, u64),
    /// Words of a slot.
    pub words: usize,
    /// Whether something else stood there instead of a ledger of ours, and was discarded.
    pub replaced: bool,
}

impl LedgerFile {
    /// Opens it, and makes it again if it is missing, is of another boot, or is not a ledger.
    pub fn open(dir: &StateDir) -> Result<Self, LedgerError> {
        let path = dir.path().join(NAME);
        let failed = |action| {
            let path = path.clone();
            move |why| LedgerError::System { path, action, why }
        };
        trust::check_directory(dir.path())?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&path)
            .map_err(failed("opening it"))?;
        let found = file.metadata().map_err(failed("looking at it"))?;
        trust::check_private_file(&path, &found)?;
        let boot = boot_id().map_err(failed("reading the boot id"))?;
        let mut ledger = Self {
            identity: (found.dev(), found.ino()),
            words: words(&file, &boot).unwrap_or_default(),
            path,
            file,
            replaced: false,
        };
        if ledger.words == 0 {
            (ledger.words, ledger.replaced) = ledger.begin(&boot)?;
        }
        Ok(ledger)
    }

    /// Opens it only for reading; nothing if there is none of this boot.
    pub fn look(dir: &StateDir) -> Result<Option<Self>, LedgerError> {
        let path = dir.path().join(NAME);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&path);
        let failed = |action, why| LedgerError::System {
            path: path.clone(),
            action,
            why,
        };
        let file = match opened {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|why| failed("opening it", why))?,
        };
        let found = file
            .metadata()
            .map_err(|why| failed("looking at it", why))?;
        trust::check_private_file(&path, &found)?;
        let boot = boot_id().map_err(|why| failed("reading the boot id", why))?;
        Ok(words(&file, &boot).map(|words| Self {
            identity: (found.dev(), found.ino()),
            path,
            file,
            words,
            replaced: false,
        }))
    }

    /// Empties the file and writes its head. Returns a slot's words, and whether something
    /// else stood there.
    fn begin(&self, boot: &str) -> Result<(usize, bool), LedgerError> {
        let _whole = self.lock(Duration::from_secs(1))?;
        // Another process of this node may have been faster.
        if let Some(words) = words(&self.file, boot) {
            return Ok((words, false));
        }
        let mut magic = [0; MAGIC.len()];
        let empty = self.file.read_exact_at(&mut magic, 0).is_err();
        let words_of = |cpus: u32| cpus.div_ceil(u64::BITS) as usize;
        let cpus = words_of(possible_cpus().unwrap_or_default()) + ADDED_WORDS;
        let words = HEAD + cpus.max(words_of(LEAST_CPUS));
        let mut head = [0; HEAD_BYTES as usize];
        let length = (words as u64).to_le_bytes();
        let text = MAGIC.iter().chain(&length).chain(boot.as_bytes());
        for (place, byte) in head.iter_mut().zip(text) {
            *place = *byte;
        }
        self.file
            .set_len(0)
            .and_then(|()| self.file.write_all_at(&head, 0))
            .map_err(|why| self.failed("beginning it", why))?;
        Ok((words, !empty && magic != *MAGIC))
    }

    /// The same file, opened once more: a lock of its own keeps an entry alive.
    ///
    /// # Errors
    /// [`LedgerError`]; `Lost` if its name leads to another file now.
    pub fn again(&self) -> Result<Self, LedgerError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(&self.path);
        let file = file.map_err(|why| self.failed("opening it", why))?;
        match self.is_current() {
            true => Ok(Self {
                path: self.path.clone(),
                file,
                ..*self
            }),
            false => Err(LedgerError::Lost(self.path.clone())),
        }
    }

    /// Whether its name still leads to it: an administrator may have removed it.
    pub fn is_current(&self) -> bool {
        let found = std::fs::symlink_metadata(&self.path);
        found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity)
    }

    pub fn lock(&self, patience: Duration) -> Result<Locked<'_>, LedgerError> {
        self.lock_byte(WHOLE, patience)?
            .ok_or_else(|| LedgerError::Busy(self.path.clone()))
    }

    pub fn lock_byte(
        &self,
        byte: u64,
        patience: Duration,
    ) -> Result<Option<Locked<'_>>, LedgerError> {
        lock::wait(&self.file, byte, patience).map_err(|why| self.failed("locking it", why))
    }

    /// From now on a slot's entry lives until this file is closed, whatever number the process has for others: since 25.11
    /// Slurm can start a slurmstepd in a PID namespace of its job's. Where nothing can be locked, its number still counts.
    pub fn keep_alive(&self, slot: usize) {
        let _ = lock::share(&self.file, self.offset(slot) + LIFE);
    }

    /// Whether a slurmstepd keeps a slot's entry alive. If the kernel does not answer, its cores must not be given away.
    pub fn is_kept_alive(&self, slot: usize) -> bool {
        lock::is_held(&self.file, self.offset(slot) + LIFE).unwrap_or(true)
    }

    /// All slots, one after the other; a last one that is cut is left out.
    pub fn read_all(&self) -> Result<Vec<u64>, LedgerError> {
        let length = self
            .file
            .metadata()
            .map_err(|why| self.failed("looking at it", why))?
            .len();
        let slots = (length.saturating_sub(HEAD_BYTES) / self.slot_bytes()).min(MOST_SLOTS);
        self.read_words(HEAD_BYTES, slots as usize * self.words)
    }

    pub fn read_words(&self, offset: u64, words: usize) -> Result<Vec<u64>, LedgerError> {
        let mut bytes = vec![0; words * WORD];
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|why| self.failed("reading", why))?;
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok(bytes.chunks_exact(WORD).map(word).collect())
    }

    /// Writes with one system call. A slot's parts lie within a page, so nobody sees half of a
    /// write.
    pub fn write_words(&self, offset: u64, words: &[u64]) -> Result<(), LedgerError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.file
            .write_all_at(&bytes, offset)
            .map_err(|why| self.failed("writing", why))
    }

    pub fn slot_bytes(&self) -> u64 {
        (self.words * WORD) as u64
    }

    pub fn offset(&self, slot: usize) -> u64 {
        HEAD_BYTES + slot as u64 * self.slot_bytes()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn failed(&self, action: &'static str, why: io::Error) -> LedgerError {
        LedgerError::System {
            path: self.path.clone(),
            action,
            why,
        }
    }
}
