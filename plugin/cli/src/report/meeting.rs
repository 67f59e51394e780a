//! Where the tasks of one launch on one node meet: a socket in a folder that local task 0 makes
//! afresh, under a name that nobody can guess, for its own user alone. The others look for such
//! folders of their own user, so nobody else can take the meeting's place or hold it up.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket,
    sockopt::PeerCredentials,
};
use nix::unistd::Uid;

/// The socket in the folder.
const SOCKET: &str = "socket";
/// The most folders of ours to which connections are made: tasks that were killed leave some.
const MOST_FOLDERS: usize = 64;

/// A meeting that this task has opened. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Meeting {
    listener: UnixListener,
    _folder: Folder,
}

/// A folder with a socket in it, both removed when this is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Meeting {
    /// Opens it under the first folder where that can be done.
    pub(super) fn open(name: &str) -> io::Result<Self> {
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
    pub(super) fn accept(&self) -> Option<UnixStream> {
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
pub(super) fn find(name: &str, until: Instant) -> Vec<UnixStream> {
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
