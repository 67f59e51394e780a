//! Follows threads through their system calls with ptrace(2), on every processor that the kernel
//! has PTRACE_GET_SYSCALL_INFO for. One tracer in a process: it waits for all children.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::{c_void, pid_t};

/// A system call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The thread.
    pub thread: pid_t,
    /// Its number in the kernel's table.
    pub number: i64,
    /// As the registers have them.
    pub arguments: [u64; 6],
}

/// PTRACE_SYSCALL_INFO_ENTRY
const ENTRY: u8 = 1;
/// What a stop at a system call adds to SIGTRAP.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

fn request(what: libc::c_uint, thread: pid_t, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: what is passed as a pointer is a record of the caller's, as long as it says.
    let done = unsafe { libc::ptrace(what, thread, address as *mut c_void, data as *mut c_void) };
    match done {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}

/// Starts a program that stops before its first instruction, to be followed; its children are not.
///
/// # Errors
/// What the system says.
pub fn start(command: &mut Command) -> io::Result<pid_t> {
    let asked = || request(libc::PTRACE_TRACEME, 0, 0, 0).map(drop);
    // SAFETY: between fork and exec nothing but a system call.
    let child = unsafe { command.pre_exec(asked) }.spawn()?;
    let pid = child.id() as pid_t;
    wait(pid)?;
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SETOPTIONS, pid, 0, options as usize)?;
    request(libc::PTRACE_SYSCALL, pid, 0, 0)?;
    Ok(pid)
}

/// Follows all threads of a running process, also those that it starts, but not its children.
///
/// # Errors
/// What the system says.
pub fn attach(pid: pid_t) -> io::Result<Vec<pid_t>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = entry?.file_name();
        let Some(thread) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE;
        request(libc::PTRACE_SEIZE, thread, 0, options as usize)?;
        request(libc::PTRACE_INTERRUPT, thread, 0, 0)?;
        threads.push(thread);
    }
    Ok(threads)
}

/// Lets go of all threads of a process that was attached to.
///
/// # Errors
/// What the system says.
pub fn detach(pid: pid_t) -> io::Result<()> {
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = entry?.file_name();
        let Some(thread) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // Only a thread that is stopped can be let go.
        if request(libc::PTRACE_DETACH, thread, 0, 0).is_err() {
            request(libc::PTRACE_INTERRUPT, thread, 0, 0)?;
            wait(thread)?;
            request(libc::PTRACE_DETACH, thread, 0, 0)?;
        }
    }
    Ok(())
}

fn wait(who: pid_t) -> io::Result<(pid_t, i32)> {
    let mut status = 0;
    // SAFETY: the kernel fills a number.
    match unsafe { libc::waitpid(who, &raw mut status, libc::__WALL) } {
        -1 => Err(io::Error::last_os_error()),
        thread => Ok((thread, status)),
    }
}

/// Lets what is followed run on, and tells of each call, until it has ended or `each` says false.
///
/// # Errors
/// What the system says.
pub fn follow(mut each: impl FnMut(&Call) -> bool) -> io::Result<()> {
    loop {
        let (thread, status) = match wait(-1) {
            Err(why) if why.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
            found => found?,
        };
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        let event = status >> 16;
        if signal == AT_CALL
            && let Some(call) = entered(thread)
            && !each(&call)
        {
            return Ok(());
        }
        // Only a signal that somebody sent is passed on.
        let passed = if signal == AT_CALL || event != 0 || signal == libc::SIGTRAP {
            0
        } else {
            signal
        };
        // A thread that was killed meanwhile has nothing to run on with.
        let _ = request(libc::PTRACE_SYSCALL, thread, 0, passed as usize);
    }
}

/// The call that a thread has stopped at, before it is made.
fn entered(thread: pid_t) -> Option<Call> {
    // SAFETY: a record of numbers.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let (size, at) = (size_of_val(&info), &raw mut info);
    request(libc::PTRACE_GET_SYSCALL_INFO, thread, size, at.addr()).ok()?;
    if info.op != ENTRY {
        return None;
    }
    // SAFETY: the kernel has filled this member, as `op` says.
    let entry = unsafe { info.u.entry };
    Some(Call {
        thread,
        number: entry.nr as i64,
        arguments: entry.args,
    })
}

/// Bytes of a stopped thread's memory, as many as are there.
#[must_use]
pub fn memory(thread: pid_t, address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; length];
    let into = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: length,
    };
    let from = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: length,
    };
    // SAFETY: one place of ours of that length; the kernel checks the other's.
    let read = unsafe { libc::process_vm_readv(thread, &raw const into, 1, &raw const from, 1, 0) };
    bytes.truncate(usize::try_from(read).unwrap_or(0));
    bytes
}
