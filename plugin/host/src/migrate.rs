//! Moves a process's memory between NUMA nodes (migrate_pages(2)), and says how much is free on a node.

use std::io;

use berth_placement::{NodeSet, NumaId};
use libc::{c_long, c_ulong, pid_t};

use crate::kernel_text;

const NODES: &str = "/sys/devices/system/node";
/// The words of a mask that has every NUMA node of Linux (`MAX_NUMNODES`).
const WORDS: usize = 1024 / u64::BITS as usize;

/// Moves the pages of a process that lie on some nodes to others; returns how many stayed. It takes as long as the kernel
/// needs for them.
///
/// # Errors
/// The kernel's answer: `ESRCH` once the process has ended, `ENOSYS` on a kernel without NUMA.
pub fn migrate(pid: pid_t, from: &NodeSet, to: &NodeSet) -> io::Result<u64> {
    let (from, to) = (mask(from), mask(to));
    // The kernel uses one bit less than the given number.
    let bits = 8 * size_of_val(&from) as c_ulong + 1;
    // SAFETY: both masks live during the call, and the kernel reads no more bits of them than they have.
    let left: c_long = unsafe {
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

fn mask(nodes: &NodeSet) -> [u64; WORDS] {
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
        let words = mask(&nodes);
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
