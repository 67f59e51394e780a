//! Moves a process's memory between NUMA nodes (migrate_pages(2)), and says how much is free there.
//! In: a process, NUMA nodes. Out: pages that stayed.

use std::fs;
use std::io;

use berth_placement::{NodeSet, NumaId};
use libc::pid_t;

const NODES: &str = "/sys/devices/system/node";

/// Moves the pages that lie on some NUMA nodes to others. Returns how many could not be moved: they are shared,
/// or locked, or there is no room.
///
/// # Errors
/// The kernel's answer: `ESRCH` if the process has ended, `EPERM` if its policies exclude the nodes.
pub fn migrate(pid: pid_t, from: &NodeSet, to: &NodeSet) -> io::Result<u64> {
    let (mut from, mut to) = (from.words().to_vec(), to.words().to_vec());
    let words = from.len().max(to.len());
    from.resize(words, 0);
    to.resize(words, 0);
    // The kernel uses one bit less than it is told.
    let bits = words * u64::BITS as usize + 1;
    // SAFETY: both are live slices of so many bits, and the kernel (migrate_pages(2)) only reads them.
    let left = unsafe {
        libc::syscall(
            libc::SYS_migrate_pages,
            pid,
            bits,
            from.as_ptr(),
            to.as_ptr(),
        )
    };
    u64::try_from(left).map_err(|_| io::Error::last_os_error())
}

/// The bytes that are free on a NUMA node, or that the kernel can free there: its cache. `None` if the kernel
/// does not say.
#[must_use]
pub fn free_bytes(node: NumaId) -> Option<u64> {
    let text = fs::read_to_string(format!("{NODES}/node{}/meminfo", node.0)).ok()?;
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
    fn an_ended_process_has_no_pages() {
        let node: NodeSet = [NumaId(0)].into_iter().collect();
        let why = migrate(pid_t::MAX, &node, &node).unwrap_err();
        let known = [libc::ESRCH, libc::ENOSYS, libc::EPERM];
        assert!(known.contains(&why.raw_os_error().unwrap()), "{why}");
    }
}
