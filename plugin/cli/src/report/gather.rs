//! The tasks of a node meet: local task 0 listens at a socket, and the others send their reports.
//! Nobody waits beyond the deadline, whatever the other side does.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use berth_placement::{CpuId, CpuSet};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::identity::Identity;
use super::meeting::{self, Meeting};
use super::read::Task;
use super::show::Node;

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
    let left = until.saturating_duration_since(Instant::now()).min(PAUSE);
    let all = speakers.iter().map(|speaker| speaker.stream.as_fd());
    let mut polls: Vec<_> = all
        .chain([meeting.as_fd()])
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    // What went wrong shows at the next read.
    let _ = poll(
        &mut polls,
        PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO),
    );
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
        for mut stream in meeting::find(&me.meeting, until) {
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
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(why);
                }
                let mut room = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
                let left = left.min(PAUSE);
                poll(
                    &mut room,
                    PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO),
                )?;
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
    let heard: CpuSet = tasks.iter().map(|task| CpuId(task.local)).collect();
    let missing = match tasks.as_slice() {
        [only] if only.local > 0 => CpuSet::new(),
        _ => all.difference(&heard),
    };
    Node::new(me, missing.to_string(), tasks)
}
