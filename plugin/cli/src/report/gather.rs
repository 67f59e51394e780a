//! The tasks of a node meet: local task 0 listens at a socket without a file, the others tell it
//! what they have. Who is at the other end is asked of the kernel: only the same user counts.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use berth_placement::{CpuId, CpuSet};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Uid;

use super::identity::Identity;
use super::read::Task;
use super::show::Node;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);
/// More than any task's words.
const MOST: u64 = 1 << 20;

/// What came of the meeting.
pub(crate) enum Gathered {
    /// The tasks' words are ours to print; of all of them, or of this one alone.
    All(Node),
    /// Another task prints them.
    Told,
}

/// Meets the other tasks of the node.
pub(crate) fn gather(me: &Identity, own: Task, patience: Duration) -> Gathered {
    let until = Instant::now() + patience;
    if me.local == 0 {
        return Gathered::All(listen(me, own, until));
    }
    match tell(me, &own, until) {
        Ok(()) => Gathered::Told,
        // Nobody listens: what this task has is said all the same.
        Err(_) => Gathered::All(node(me, vec![own])),
    }
}

fn address(me: &Identity) -> io::Result<SocketAddr> {
    let name = format!("berth-report/{}/{}", Uid::effective(), me.meeting);
    SocketAddr::from_abstract_name(name)
}

fn listen(me: &Identity, own: Task, until: Instant) -> Node {
    let mut tasks = vec![own];
    if let Ok(listener) = address(me).and_then(|at| UnixListener::bind_addr(&at)) {
        let _ = listener.set_nonblocking(true);
        while tasks.len() < me.local_count as usize && Instant::now() < until {
            match listener.accept() {
                Ok((stream, _)) => tasks.extend(hear(&stream, until)),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
    node(me, tasks)
}

fn hear(stream: &UnixStream, until: Instant) -> Option<Task> {
    if !is_mine(stream) {
        return None;
    }
    let left = until.saturating_duration_since(Instant::now());
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(left.max(PAUSE))).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST))
        .read_line(&mut line)
        .ok()?;
    serde_json::from_str(&line).ok()
}

fn tell(me: &Identity, own: &Task, until: Instant) -> io::Result<()> {
    let address = address(me)?;
    let stream = loop {
        match UnixStream::connect_addr(&address) {
            Ok(stream) => break stream,
            Err(why) if Instant::now() >= until => return Err(why),
            Err(_) => thread::sleep(PAUSE),
        }
    };
    if !is_mine(&stream) {
        return Err(io::Error::other("another user listens"));
    }
    let mut words = serde_json::to_string(own)?;
    words.push('\n');
    (&stream).write_all(words.as_bytes())
}

fn is_mine(stream: &UnixStream) -> bool {
    let peer = getsockopt(&stream.as_fd(), PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == Uid::effective().as_raw())
}

fn node(me: &Identity, mut tasks: Vec<Task>) -> Node {
    tasks.sort_by_key(|task| task.local);
    tasks.dedup_by_key(|task| task.local);
    let all: CpuSet = (0..me.local_count).map(CpuId).collect();
    let heard: CpuSet = tasks.iter().map(|task| CpuId(task.local)).collect();
    let missing = match tasks.as_slice() {
        [only] if only.local > 0 => CpuSet::new(),
        _ => all.difference(&heard),
    };
    Node::new(me, missing.to_string(), tasks)
}
