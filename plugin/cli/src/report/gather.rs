//! The tasks of a node meet: local task 0 listens at a socket, and the others send it their reports. The socket lies
//! in a folder that task 0 makes afresh, under a name that nobody can guess, for its own user alone; the others look
//! only for such folders of their own user, so nobody else can take the meeting's place or hold it up. Nobody waits
//! beyond the deadline, whatever the other side does.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use berth_placement::{CpuId, CpuSet};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket,
    sockopt::PeerCredentials,
};
use nix::unistd::Uid;

use super::Node;
use super::identity::Identity;
use super::read::Task;

/// The time to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);
/// More bytes than any task's report.
const MOST: usize = 1 << 20;
/// The number of tasks that are read at the same time, so a silent task does not delay the
/// others.
const MOST_AT_ONCE: usize = 512;

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
        return Gathered::All(listen(me, own, until));
    }
    match tell(me, &own, until) {
        Ok(()) => Gathered::Told,
        // Nobody listens, so this task prints its own report.
        Err(_) => Gathered::All(node(me, vec![own])),
    }
}

/// A task that has connected, and its words so far.
struct Speaker {
    stream: UnixStream,
    words: Vec<u8>,
}

fn listen(me: &Identity, own: Task, until: Instant) -> Node {
    let mut tasks = vec![own];
    let Ok(meeting) = Meeting::open(&me.meeting) else {
        return node(me, tasks);
    };
    let mut speakers: Vec<Speaker> = Vec::new();
    while tasks.len() < me.local_count as usize && Instant::now() < until {
        while speakers.len() < MOST_AT_ONCE
            && let Some(stream) = meeting.accept()
        {
            let words = Vec::new();
            speakers.push(Speaker { stream, words });
        }
        speakers.retain_mut(|speaker| match speaker.hear() {
            Ok(None) => true,
            Ok(Some(task)) => {
                tasks.push(task);
                false
            }
            Err(_) => false,
        });
        wait(&meeting, &speakers, until);
    }
    node(me, tasks)
}

/// Waits until a task connects or sends something, and not beyond the deadline.
fn wait(meeting: &Meeting, speakers: &[Speaker], until: Instant) {
    let all = speakers.iter().map(|speaker| speaker.stream.as_fd());
    let mut polls: Vec<_> = all
        .chain([meeting.as_fd()])
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    // What went wrong shows at the next read.
    let _ = poll(&mut polls, pause(until));
}

fn pause(until: Instant) -> PollTimeout {
    let left = until.saturating_duration_since(Instant::now()).min(PAUSE);
    PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)
}

impl Speaker {
    /// What is there by now; the task once its line is complete.
    fn hear(&mut self) -> io::Result<Option<Task>> {
        let mut part = [0; 4096];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.words.extend_from_slice(&part[..length]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
            if self.words.ends_with(b"\n") {
                return Ok(Some(serde_json::from_slice(&self.words)?));
            }
            if self.words.len() > MOST {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }
}

fn tell(me: &Identity, own: &Task, until: Instant) -> io::Result<()> {
    let mut words = serde_json::to_vec(own)?;
    words.push(b'\n');
    loop {
        // A process of ours that listens and never reads must not hide the meeting.
        for mut stream in find(&me.meeting, until) {
            if send(&mut stream, &words, until).is_ok() {
                return Ok(());
            }
        }
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(PAUSE);
    }
}

fn send(stream: &mut UnixStream, words: &[u8], until: Instant) -> io::Result<()> {
    let mut rest = words;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(length) => rest = &rest[length..],
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() >= until {
                    return Err(why);
                }
                let mut room = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
                poll(&mut room, pause(until))?;
            }
            Err(why) => return Err(why),
        }
    }
    Ok(())
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

/// The socket in the folder.
const SOCKET: &str = "socket";
/// The most folders of ours to which connections are made: tasks that were killed leave some.
const MOST_FOLDERS: usize = 64;

/// A meeting that this task has opened. Dropped, it leaves nothing behind.
#[derive(Debug)]
struct Meeting {
    listener: UnixListener,
    _folder: Folder,
}

/// A folder with a socket in it, both removed when this is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Meeting {
    /// Opens it under the first folder where that can be done.
    fn open(name: &str) -> io::Result<Self> {
        let mut failed = io::ErrorKind::NotFound.into();
        for base in bases() {
            match Self::open_in(&base, name) {
                Ok(meeting) => return Ok(meeting),
                Err(why) => failed = why,
            }
        }
        Err(failed)
    }

    fn open_in(base: &Path, name: &str) -> io::Result<Self> {
        let folder = base.join(format!("{}{}", prefix(name), random()?));
        DirBuilder::new().mode(0o700).create(&folder)?;
        // From here on the folder is removed, whatever fails.
        let folder = Folder(folder);
        let listener = UnixListener::bind(folder.0.join(SOCKET))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            _folder: folder,
        })
    }

    /// The next of our user's tasks, if one is waiting.
    fn accept(&self) -> Option<UnixStream> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        is_mine(&stream).then_some(stream)
    }
}

impl AsFd for Meeting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody else can have put anything in there. If the folder is gone already, that is fine.
        let _ = fs::remove_file(self.0.join(SOCKET));
        let _ = fs::remove_dir(&self.0);
    }
}

/// Connections to what looks like the meeting, each made without waiting. Others may have filled a
/// shared folder with entries of theirs, which are looked over until the deadline.
fn find(name: &str, until: Instant) -> Vec<UnixStream> {
    let prefix = prefix(name);
    let mut found = Vec::new();
    for base in bases() {
        let entries = fs::read_dir(&base).into_iter().flatten();
        for entry in entries.take_while(|_| Instant::now() < until).flatten() {
            if !entry.file_name().to_string_lossy().starts_with(&prefix) {
                continue;
            }
            if is_own_folder(&entry.path())
                && let Ok(stream) = connect_at_once(&entry.path().join(SOCKET))
                && is_mine(&stream)
            {
                found.push(stream);
            }
            if found.len() >= MOST_FOLDERS {
                return found;
            }
        }
    }
    found
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

fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// Ours alone, and no link.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir() && found.uid() == Uid::effective().as_raw() && found.mode() & 0o7777 == 0o700
    })
}

/// A listener whose queue is full is left alone instead of waited for.
fn connect_at_once(path: &Path) -> nix::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(socket))
}

fn is_mine(stream: &UnixStream) -> bool {
    let peer = getsockopt(&stream.as_fd(), PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == Uid::effective().as_raw())
}
