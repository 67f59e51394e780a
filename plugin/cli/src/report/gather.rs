//! The tasks of a node meet: local task 0 makes a folder, and the others put their reports into it, each as a file that
//! task 0 removes once it has read it. The folder has a name that nobody can guess, and is for its own user alone; the
//! others look only for such folders of their own user, so nobody else can take the meeting's place or hold it up.
//! Nobody waits beyond the deadline, whatever the other side does.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use berth_placement::{CpuId, CpuSet};
use nix::fcntl::OFlag;
use nix::unistd::Uid;
use tempfile::TempDir;

use super::Node;
use super::identity::Identity;
use super::read::Task;

/// The time to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);
/// More bytes than any task's report.
const MOST: u64 = 1 << 20;

/// The result of the meeting.
pub(crate) enum Gathered {
    /// The tasks' words are ours to print; of all of them, or of this one alone.
    All(Node),
    /// Another task prints them.
    Told,
}

/// Meets the other tasks of the node.
pub(crate) fn gather(me: &Identity, own: Task, patience: Duration) -> Gathered {
    let until = Instant::now() + patience;
    if me.local_count < 2 {
        return Gathered::All(node(me, vec![own]));
    }
    if me.local == 0 {
        return Gathered::All(collect(me, own, until));
    }
    match hand_over(me, &own, until) {
        true => Gathered::Told,
        // Nobody has read it, so this task prints its own report.
        false => Gathered::All(node(me, vec![own])),
    }
}

/// The reports of all tasks, or of those that come in time.
fn collect(me: &Identity, own: Task, until: Instant) -> Node {
    let mut tasks = vec![own];
    let Some(meeting) = open(&me.meeting) else {
        return node(me, tasks);
    };
    while tasks.len() < me.local_count as usize && Instant::now() < until {
        thread::sleep(PAUSE);
        tasks.extend(take(meeting.path()));
    }
    node(me, tasks)
}

/// Puts the report into every folder of the meeting, because one of them may be what a killed task has left behind.
/// Returns whether somebody has read it in time.
fn hand_over(me: &Identity, own: &Task, until: Instant) -> bool {
    let words = serde_json::to_vec(own).unwrap_or_default();
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    while Instant::now() < until {
        for folder in folders(&me.meeting, until) {
            let file = folder.join(me.local.to_string());
            if !files.contains(&file) && put(&file, &words).is_ok() {
                files.insert(file);
            }
        }
        thread::sleep(PAUSE);
        if files.iter().any(|file| !file.exists()) {
            return true;
        }
    }
    for file in files {
        let _ = fs::remove_file(file);
    }
    false
}

/// Writes a file that is whole as soon as it has its name.
fn put(file: &Path, words: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension(UNFINISHED);
    fs::write(&unfinished, words)?;
    fs::rename(unfinished, file)
}

fn node(me: &Identity, mut tasks: Vec<Task>) -> Node {
    tasks.sort_by_key(|task| task.local);
    tasks.dedup_by_key(|task| task.local);
    let all: CpuSet = (0..me.local_count).map(CpuId).collect();
    let reporting: CpuSet = tasks.iter().map(|task| CpuId(task.local)).collect();
    let missing = match tasks.as_slice() {
        [only] if only.local > 0 => CpuSet::new(),
        _ => all.difference(&reporting),
    };
    Node::new(me, missing.to_string(), tasks)
}

/// The extension of a file that is being written.
const UNFINISHED: &str = "part";
/// The most folders of ours that count: tasks that were killed leave some.
const MOST_FOLDERS: usize = 64;

/// A folder for the meeting, under the first other folder where one can be made. Dropped, it leaves nothing behind.
fn open(name: &str) -> Option<TempDir> {
    let own = Permissions::from_mode(0o700);
    let mut made = bases().into_iter().map(|base| {
        let mut folder = tempfile::Builder::new();
        folder
            .prefix(&prefix(name))
            .permissions(own.clone())
            .tempdir_in(base)
    });
    made.find_map(Result::ok)
}

/// The reports that have come, each of which is removed.
fn take(meeting: &Path) -> Vec<Task> {
    let entries = fs::read_dir(meeting).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let whole = files.filter(|file| file.extension().is_none());
    let read = whole.filter_map(|file| {
        let words = read(&file);
        let _ = fs::remove_file(&file);
        serde_json::from_slice(&words.ok()?).ok()
    });
    read.collect()
}

/// The content of a file. A pipe in its place is not waited for.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
    let file = options.read(true).custom_flags(flags.bits()).open(file)?;
    let mut words = Vec::new();
    file.take(MOST).read_to_end(&mut words)?;
    Ok(words)
}

/// Our own folders that look like the meeting's. Others may have filled a shared folder with entries of theirs, which
/// are looked over until the deadline.
fn folders(name: &str, until: Instant) -> Vec<PathBuf> {
    let prefix = prefix(name);
    let entries = bases().into_iter().flat_map(fs::read_dir).flatten();
    let entries = entries.take_while(|_| Instant::now() < until).flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    let own = named
        .map(|entry| entry.path())
        .filter(|path| is_own_folder(path));
    own.take(MOST_FOLDERS).collect()
}

/// Where all tasks of a step look: its own temporary folder first.
fn bases() -> Vec<PathBuf> {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from);
    let usual = ["/dev/shm", "/tmp"].map(PathBuf::from);
    let all = own.into_iter().chain(usual);
    let mut bases: Vec<PathBuf> = Vec::new();
    for base in all.filter(|base| base.is_absolute()) {
        if !bases.contains(&base) {
            bases.push(base);
        }
    }
    bases
}

/// A node's name comes from the environment: it must not lead out of the folder.
fn prefix(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() || ".-_".contains(letter) => letter,
            _ => '_',
        })
        .take(128)
        .collect();
    format!("berth-report.{plain}.")
}

/// Ours alone, and no link.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir() && found.uid() == Uid::effective().as_raw() && found.mode() & 0o7777 == 0o700
    })
}
