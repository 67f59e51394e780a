//! The folder of the steps: a file for each entry, which its slurmstepd keeps locked. The kernel releases the lock when
//! that process ends, however it ends. The step lives on as long as its cgroup has a process: tasks outlive a
//! slurmstepd that was killed.
//! In: a folder. Out: the entries that live, and the files of the dead.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FallocateFlags, fallocate};

use super::entry::{Entry, TaskCgroup};
use super::process::Task;
use super::{LedgerError, step_cgroup};
use crate::lock;
use crate::trust::{self, open};

/// Its name in the node's state directory.
pub const NAME: &str = "steps";
/// It says whose a job is.
const FOLDER_MODE: u32 = 0o700;
const MODE: u32 = 0o600;
/// The byte that an entry's slurmstepd locks, together with those who look at the same moment.
const LIFE: u64 = 0;
/// Bytes at a file's end that are read: more than the longest line has.
const LAST_BYTES: u64 = 1 << 20;
/// A line that would be longer names no cgroups of tasks. Those of a task on each of 900 CPUs have room.
const MOST_BYTES: usize = 1 << 19;
/// A file that is not in place yet.
const UNFINISHED: &str = ".new";
/// Entries of one name at most: those of steps whose job was begun again while old tasks of it live.
const MOST_NAMESAKES: u32 = 1000;

/// The entries in the folder.
#[derive(Debug, Default)]
pub(super) struct StepEntries {
    pub living: Vec<Entry>,
    pub dead: Vec<PathBuf>,
}

/// Makes the folder where it is missing.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
        _ => Ok(()),
    }
}

/// Reads all of it; a folder that is missing is empty. An entry that is released meanwhile may be missing.
pub(super) fn read(folder: &Path) -> io::Result<StepEntries> {
    let mut found = StepEntries::default();
    let files = match fs::read_dir(folder) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(found),
        files => files?,
    };
    // One for all files: a node has hundreds of them.
    let mut buffer = vec![0; LAST_BYTES as usize];
    // All of them: an entry that is not read has cores that would be given twice. Only root makes files here.
    for file in files {
        let file = file?;
        // Whatever else stands there is none of ours.
        if !file.file_type()?.is_file() {
            continue;
        }
        let path = file.path();
        match read_one(&path, &mut buffer) {
            Ok((Some(entry), true)) => found.living.push(Entry {
                file: Some(path),
                ..entry
            }),
            // A later release's.
            Ok((None, true)) => {}
            Ok((_, false)) => found.dead.push(path),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
    }
    found
        .living
        .sort_by_key(|entry| (entry.step.job, entry.step.step, entry.made));
    Ok(found)
}

/// The entry, and whether it lives. A file without a whole line is of a writer that died.
fn read_one(path: &Path, buffer: &mut [u8]) -> io::Result<(Option<Entry>, bool)> {
    let mut file = open(path, OpenOptions::new().read(true))?;
    let entry = last(&mut file, buffer)?;
    // If the kernel does not answer, its cores must not be given away.
    let is_locked = lock::is_held(&file, LIFE).unwrap_or(true);
    let cgroup = entry.as_ref().and_then(|entry| entry.cgroup.as_deref());
    let lives = is_locked || cgroup.is_some_and(step_cgroup::has_processes);
    Ok((entry, lives))
}

/// The last whole line: a full file system, or the end of a writer, leaves any part of one behind it.
fn last(file: &mut File, buffer: &mut [u8]) -> io::Result<Option<Entry>> {
    let mut count = file.read(buffer)?;
    if count == buffer.len() {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        count = file.read(buffer)?;
    }
    let text = buffer.get(..count).unwrap_or_default();
    let mut lines = text.split(|byte| *byte == b'\n').rev();
    // The text behind the last line break is not whole.
    let _ = lines.next();
    Ok(lines.find_map(|line| serde_json::from_slice(line).ok()))
}

/// Writes a new entry, which is whole and locked before its name appears. The ledger is locked.
pub(super) fn write(folder: &Path, entry: &mut Entry) -> io::Result<(File, PathBuf)> {
    let unfinished = folder.join(UNFINISHED);
    let _ = fs::remove_file(&unfinished);
    let mut options = OpenOptions::new();
    options.create_new(true).read(true).append(true).mode(MODE);
    let mut file = open(&unfinished, &mut options)?;
    let path = free_name(folder, &entry.file_name())?;
    let written = lock::share(&file, LIFE)
        .and_then(|()| append(&mut file, entry))
        .and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written.map(|()| (file, path))
}

fn free_name(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let further = (2..MOST_NAMESAKES).map(|number| format!("{name}-{number}"));
    let mut all = [name.to_owned()].into_iter().chain(further);
    all.find_map(|name| {
        let path = folder.join(name);
        let is_free =
            fs::symlink_metadata(&path).is_err_and(|why| why.kind() == io::ErrorKind::NotFound);
        is_free.then_some(path)
    })
    .ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// One line more, which counts from then on. A part of a line is none, and a line break ends what a full file system has
/// left of an earlier one. The entry loses the cgroups of its tasks if these have no room.
fn append(file: &mut File, entry: &mut Entry) -> io::Result<()> {
    let line = |entry: &Entry| Ok::<_, io::Error>(format!("\n{}\n", serde_json::to_string(entry)?));
    let mut text = line(entry)?;
    if text.len() > MOST_BYTES {
        entry.leaves.clear();
        text = line(entry)?;
    }
    file.write_all(text.as_bytes())
}

/// One line more in the file of an entry that was read. The ledger is locked. What nobody reads any more of a file that
/// became long is given back.
pub(super) fn change(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut file = open(path, OpenOptions::new().append(true))?;
    append(&mut file, &mut entry.clone())?;
    let unread = file.metadata()?.len().saturating_sub(2 * LAST_BYTES);
    if unread > LAST_BYTES {
        let gives_back = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        // A file system that cannot do that keeps it.
        let _ = fallocate(&file, gives_back, 0, unread as i64);
    }
    Ok(())
}

/// An entry that was written, until its step ends.
#[derive(Debug)]
pub struct OwnEntry {
    file: File,
    path: PathBuf,
    entry: Entry,
}

impl OwnEntry {
    pub(super) fn new(file: File, path: PathBuf, entry: Entry) -> Self {
        Self { file, path, entry }
    }

    /// The entry as it stands.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The last task has started: the first one shows whether the step is suspended, and its cgroup whether it lives on.
    /// From now on only a service writes into the file.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn started(&mut self, pid: i32, leaves: Vec<TaskCgroup>) -> Result<(), LedgerError> {
        let cgroup = self.entry.cgroup.clone();
        self.write(Entry {
            task: Some(Task::of(pid)),
            leaves,
            cgroup: cgroup.or_else(|| step_cgroup::of(pid)),
            ..self.entry.clone()
        })
    }

    /// Tasks wait for this, so it takes no lock. Nobody else writes into the file before they have started.
    fn write(&mut self, mut entry: Entry) -> Result<(), LedgerError> {
        if !trust::is_at(&self.path, &self.file) {
            return Err(LedgerError::Lost(self.path.clone()));
        }
        append(&mut self.file, &mut entry).map_err(|why| self.failed("writing", why))?;
        self.entry = entry;
        Ok(())
    }

    /// The step has ended: its cores are free before anybody learns of it.
    ///
    /// # Errors
    /// [`LedgerError`]; the cores are then free when this process ends.
    pub fn release(self) -> Result<(), LedgerError> {
        match trust::is_at(&self.path, &self.file) {
            true => fs::remove_file(&self.path).map_err(|why| self.failed("removing it", why)),
            false => Ok(()),
        }
    }

    fn failed(&self, action: &'static str, why: io::Error) -> LedgerError {
        LedgerError::System {
            path: self.path.clone(),
            action,
            why,
        }
    }
}
