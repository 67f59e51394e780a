//! A system call in words: its name, and what makes it harmless or not: the file, whether it waits,
//! whether memory or a file is mapped.

use libc::pid_t;

use crate::calls::names::name;
use crate::calls::tracer::{Call, memory};

/// The longest path that is read.
const MOST: usize = 256;

/// The path at an address; up to the next page there is memory for sure.
fn path(thread: pid_t, address: u64) -> String {
    let to_page = 4096 - (address % 4096) as usize;
    let mut bytes = memory(thread, address, to_page.min(MOST));
    if !bytes.contains(&0) {
        bytes.extend(memory(thread, address + bytes.len() as u64, MOST));
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn file(thread: pid_t, descriptor: u64) -> String {
    let link = format!("/proc/{thread}/fd/{}", descriptor as i32);
    std::fs::read_link(link).map_or("?".into(), |path| path.to_string_lossy().into_owned())
}

/// Calls whose path is the first argument; under another number it stands behind a folder.
const PATH_FIRST: [&str; 9] = [
    "open", "access", "stat", "unlink", "rename", "mkdir", "readlink", "chmod", "chown",
];
/// Calls whose first argument is a descriptor.
const DESCRIPTOR: [&str; 11] = [
    "read",
    "write",
    "pread",
    "pwrite",
    "lseek",
    "fsync",
    "ftruncate",
    "ioctl",
    "close",
    "fchmod",
    "fchown",
];

/// The call in words.
#[must_use]
pub fn words(call: &Call) -> String {
    let name = name(call.number);
    let [first, second, third, _, fifth, _] = call.arguments;
    let thread = call.thread;
    match name.as_str() {
        "stat" if call.number == libc::SYS_fstat => format!("fstat {}", file(thread, first)),
        "stat" if is_at(call.number) && path(thread, second).is_empty() => {
            format!("fstat {}", file(thread, first))
        }
        of_path if PATH_FIRST.contains(&of_path) => {
            let at = if is_at(call.number) { second } else { first };
            format!("{name} {}", path(thread, at))
        }
        of_file if DESCRIPTOR.contains(&of_file) => format!("{name} {}", file(thread, first)),
        "fcntl" => format!("fcntl {} {}", command(second as i32), file(thread, first)),
        "flock" => {
            let waits = second as i32 & libc::LOCK_NB == 0;
            let how = if waits { "waiting" } else { "trying" };
            format!("flock {how} {}", file(thread, first))
        }
        "futex" => match second as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
            libc::FUTEX_WAKE => "futex wake".into(),
            _ => "futex wait".into(),
        },
        "mmap" if fifth as i32 == -1 => "mmap memory".into(),
        "mmap" => format!("mmap {}", file(thread, fifth)),
        "poll" => {
            let at_once = if call.number == libc::SYS_ppoll {
                third != 0 && memory(thread, third, 16) == [0; 16]
            } else {
                third == 0
            };
            let how = if at_once { "at once" } else { "waiting" };
            // Of its descriptors the first.
            let polled = memory(thread, first, 4);
            let polled = polled
                .try_into()
                .map_or(u64::MAX, |fd| u32::from_ne_bytes(fd).into());
            format!("poll {how} {}", file(thread, polled))
        }
        _ => name,
    }
}

/// Whether a call takes a folder before its path.
fn is_at(number: i64) -> bool {
    [
        libc::SYS_openat,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_unlinkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_mkdirat,
        libc::SYS_readlinkat,
        libc::SYS_fchmodat,
        libc::SYS_fchownat,
    ]
    .contains(&number)
}

fn command(command: i32) -> String {
    match command {
        libc::F_SETLK | libc::F_OFD_SETLK => "trying".into(),
        libc::F_SETLKW | libc::F_OFD_SETLKW => "waiting".into(),
        other => other.to_string(),
    }
}
