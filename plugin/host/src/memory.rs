//! Sets in the kernel which NUMA nodes the calling task's memory comes from, and reads back the kernel's policy;
//! moves a process's memory between nodes (migrate_pages(2)), and says how much is free on one.
//! In: a kind, node words, a process. Out: nothing, or an error number.
//! The policy uses raw system calls and no library: a task calls these between fork and exec, where
//! nothing may allocate or lock.

use std::mem::size_of_val;
use std::{io, ptr};

use berth_placement::{NodeSet, NumaId};
use libc::{c_int, c_long, c_ulong, pid_t};

use crate::kernel_text;

/// Words for every node that the kernel can have (`MAX_NUMNODES` is at most 1024,
/// and it takes and gives fewer or more).
pub const WORDS: usize = 64;

/// NUMA nodes as the kernel's words, lowest first.
pub type Nodes = [u64; WORDS];

// The kernel's masks are arrays of `unsigned long`; ours are of u64.
const _: () = assert!(
    cfg!(target_endian = "little") || size_of::<c_ulong>() == size_of::<u64>(),
    "the kernel's words are not ours on this platform"
);

/// The meaning of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Memory comes only from these nodes.
    Bind,
    /// Memory comes from the first of them, and from others when it is full.
    Prefer,
    /// Memory comes from all of them, and from others when they are full. Kernels before 5.15 take
    /// the first of them alone.
    PreferMany,
}

/// linux/mempolicy.h, since 5.15; libc has no name for it.
const MPOL_PREFERRED_MANY: c_int = 5;

/// Whether this kernel has memory policies. Source: `numa_available`.
#[must_use]
pub fn is_available() -> bool {
    // SAFETY: get_mempolicy(2) with null pointers writes nothing.
    let result = unsafe { get(ptr::null_mut(), ptr::null_mut(), 0, 0) };
    result == 0 || !matches!(errno(), libc::ENOSYS | libc::EPERM)
}

/// Sets the calling thread's policy; programs that it starts inherit the policy.
///
/// The kernel silently drops nodes that have no memory or are outside the cpuset,
/// and refuses only when none is left: read back with [`policy`].
///
/// # Errors
/// The kernel's error number: `EINVAL` for no usable node.
pub fn set_policy(kind: Kind, nodes: &[u64]) -> Result<(), i32> {
    let mode = match kind {
        Kind::Bind => libc::MPOL_BIND,
        Kind::Prefer => libc::MPOL_PREFERRED,
        Kind::PreferMany => MPOL_PREFERRED_MANY,
    };
    match set(mode, nodes) {
        Err(libc::EINVAL) if kind == Kind::PreferMany => set(libc::MPOL_PREFERRED, nodes),
        done => done,
    }
}

fn set(mode: c_int, nodes: &[u64]) -> Result<(), i32> {
    // SAFETY: `nodes` is a live slice, and the kernel (set_mempolicy(2)) only reads
    // as many bits of it as it is told, which are all of them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            mode,
            nodes.as_ptr(),
            bits_of(nodes),
        )
    };
    if result < 0 { Err(errno()) } else { Ok(()) }
}

/// The calling thread's policy and its nodes; `None` if memory is left to the
/// kernel, with the nodes that the thread may use.
///
/// # Errors
/// The kernel's error number: `EINVAL` for more nodes than there is room for.
pub fn policy() -> Result<(Option<Kind>, Nodes), i32> {
    let mut mode: c_int = 0;
    let nodes = nodes_with(&raw mut mode, 0)?;
    let kind = match mode {
        libc::MPOL_BIND => Kind::Bind,
        MPOL_PREFERRED_MANY => Kind::PreferMany,
        // Without a node the policy means: near the CPU.
        libc::MPOL_PREFERRED if nodes.iter().any(|word| *word != 0) => Kind::Prefer,
        _ => return allowed().map(|nodes| (None, nodes)),
    };
    Ok((Some(kind), nodes))
}

/// The nodes that the calling thread may use.
///
/// # Errors
/// As for [`policy`].
pub fn allowed() -> Result<Nodes, i32> {
    nodes_with(ptr::null_mut(), MEMS_ALLOWED)
}

/// `MPOL_F_MEMS_ALLOWED` of the kernel's `mempolicy.h`.
const MEMS_ALLOWED: c_ulong = 1 << 2;

fn nodes_with(mode: *mut c_int, flags: c_ulong) -> Result<Nodes, i32> {
    let mut nodes = [0; WORDS];
    // SAFETY: both callers pass null or a live number; `nodes` is ours, and the kernel
    // writes no more bits than it is told there are.
    let result = unsafe { get(mode, nodes.as_mut_ptr(), bits_of(&nodes), flags) };
    if result < 0 { Err(errno()) } else { Ok(nodes) }
}

/// # Safety
/// `mode` is null or a number to write to; `nodes` is null or has room for `bits`.
unsafe fn get(mode: *mut c_int, nodes: *mut u64, bits: c_ulong, flags: c_ulong) -> c_long {
    let nowhere = ptr::null_mut::<u8>();
    // SAFETY: the caller's promise; get_mempolicy(2) keeps none of the pointers.
    unsafe { libc::syscall(libc::SYS_get_mempolicy, mode, nodes, bits, nowhere, flags) }
}

/// The kernel uses one bit less than the given number, when it reads (`get_nodes`) and
/// when it writes (`copy_nodes_to_user`).
fn bits_of(nodes: &[u64]) -> c_ulong {
    8 * size_of_val(nodes) as c_ulong + 1
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

const NODES: &str = "/sys/devices/system/node";

/// Moves the pages of a process that lie on some nodes to others; returns how many stayed. It takes as long as the kernel
/// needs for them.
///
/// # Errors
/// The kernel's answer: `ESRCH` once the process has ended, `ENOSYS` on a kernel without NUMA.
pub fn migrate(pid: pid_t, from: &NodeSet, to: &NodeSet) -> io::Result<u64> {
    let (from, to) = (words(from), words(to));
    // SAFETY: both masks live during the call, and the kernel reads no more bits of them than they have.
    let left: c_long = unsafe {
        libc::syscall(
            libc::SYS_migrate_pages,
            pid,
            bits_of(&from),
            from.as_ptr(),
            to.as_ptr(),
        )
    };
    u64::try_from(left).map_err(|_| io::Error::last_os_error())
}

/// Some nodes as the kernel's words, without memory of their own.
#[must_use]
pub fn words(nodes: &NodeSet) -> Nodes {
    let mut words = [0; WORDS];
    for NumaId(node) in nodes.iter() {
        if let Some(word) = words.get_mut((node / u64::BITS) as usize) {
            *word |= 1 << (node % u64::BITS);
        }
    }
    words
}

/// The bytes that are free on a NUMA node, or that the kernel can free there: its cache. `None` if the kernel
/// does not say.
#[must_use]
pub fn free_bytes(node: NumaId) -> Option<u64> {
    let text = kernel_text::read(format!("{NODES}/node{}/meminfo", node.0)).ok()?;
    let names = [
        "MemFree:",
        "Inactive(file):",
        "Active(file):",
        "SReclaimable:",
    ];
    Some(names.iter().filter_map(|name| bytes(&text, name)).sum())
}

/// A line `Node 0 MemFree:  123 kB`.
fn bytes(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.split_once(name).map(|(_, rest)| rest))?;
    let number: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(number << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_meminfo() {
        let text = "Node 0 MemTotal:  16 kB\nNode 0 MemFree:   8 kB\nNode 0 Active(file): 2 kB\n";
        assert_eq!(bytes(text, "MemFree:"), Some(8 << 10));
        assert_eq!(bytes(text, "Active(file):"), Some(2 << 10));
        assert_eq!(bytes(text, "Slab:"), None);
    }

    #[test]
    fn every_node_has_its_bit() {
        let nodes: NodeSet = [0, 63, 64, 1023].map(NumaId).into_iter().collect();
        let words = super::words(&nodes);
        assert_eq!((words[0], words[1], words[15]), (1 | 1 << 63, 1, 1 << 63));
    }

    #[test]
    fn the_kernel_answers() {
        let own = std::process::id() as pid_t;
        let node: NodeSet = [NumaId(0)].into_iter().collect();
        match migrate(own, &node, &node) {
            Ok(left) => assert_eq!(left, 0),
            // A kernel without NUMA nodes, or a fence around this test.
            Err(why) => assert!(
                [libc::ENOSYS, libc::EPERM].contains(&why.raw_os_error().unwrap()),
                "{why}"
            ),
        }
    }
}
