//! Moves a process's memory between NUMA nodes slice by slice, so that whoever does it can stop between two slices
//! (move_pages(2), on the pages that /proc/PID/pagemap says are there); and says how much is free on a node.
//! In: a process, NUMA nodes. Out: how many pages moved, and how many stayed.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::ptr;

use berth_placement::{NodeSet, NumaId};
use libc::{c_int, pid_t};

use crate::kernel_text;
use crate::process_stat::living_thread;

const NODES: &str = "/sys/devices/system/node";
/// Pages of the address space that one slice looks at: 16 MiB with pages of 4 KiB.
const SLICE: usize = 4096;
/// Parts of the address space that one slice looks at.
const PARTS: usize = 256;
/// A list of as many mappings as Linux allows is shorter.
const MOST_MAPS: u64 = 64 << 20;
/// The kernel stops at pages that it cannot move, such as those that are locked for a device. So often a slice
/// goes on behind such pages, and so often where the slice before moved nothing.
const TRIES: u32 = 8;
const TRIES_AFTER_NONE: u32 = 1;
/// The bit of /proc/PID/pagemap that says that a page is in memory.
const PRESENT: u64 = 1 << 63;
/// Moves pages that other processes use, too. Source: linux/mempolicy.h
const MPOL_MF_MOVE_ALL: c_int = 4;

/// The memory of a process that is being moved.
#[derive(Debug)]
pub struct Moving {
    pid: pid_t,
    /// The process's memory as it was at the beginning: without content once it has ended or became another program.
    pagemap: File,
    /// What has not been looked at: page numbers.
    parts: VecDeque<(u64, u64)>,
    from: NodeSet,
    to: NodeSet,
    page: u64,
    tries: u32,
    /// Pages that are in memory, and of which move_pages(2) says that they are not.
    hidden: u64,
    /// Pages' addresses that are looked at: more, as long as none of them has a page.
    window: u64,
}

/// The widest window: a program may reserve far more addresses than it has memory.
const WIDEST: u64 = 1 << 18;

/// What became of the pages of a slice that lay on the nodes to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Pages that are elsewhere now.
    pub moved: u64,
    /// Pages that stayed: they are locked, or there is no room.
    pub left: u64,
}

impl Moving {
    /// The memory that a process has now, to be moved from some NUMA nodes to others.
    ///
    /// # Errors
    /// The kernel's answer: `ENOENT` or `ESRCH` if the process has ended.
    pub fn begin(pid: pid_t, from: &NodeSet, to: &NodeSet) -> io::Result<Self> {
        // A first thread that has ended has no memory.
        let pid = living_thread(pid).unwrap_or(pid);
        let pagemap = File::open(format!("/proc/{pid}/pagemap"))?;
        let maps = File::open(format!("/proc/{pid}/maps"))?.take(MOST_MAPS);
        let page = page_size();
        Ok(Self {
            pid,
            pagemap,
            parts: parts(BufReader::new(maps), page),
            from: from.clone(),
            to: to.clone(),
            page,
            tries: TRIES,
            hidden: 0,
            window: SLICE as u64,
        })
    }

    /// Moves the next slice; `None` if there is no more.
    ///
    /// # Errors
    /// The kernel's answer: `ESRCH` if the process has ended.
    pub fn slice(&mut self) -> io::Result<Option<Slice>> {
        if self.parts.is_empty() {
            return self.rest();
        }
        let there = self.there()?;
        let (_, nodes) = move_pages(self.pid, &there, None)?;
        let hidden = nodes.iter().filter(|node| **node == -libc::ENOENT);
        self.hidden += hidden.count() as u64;
        let mut pages = self.on_nodes_to_leave(there, nodes);
        let before = pages.len();
        let mut left = 0;
        for _ in 0..self.tries {
            if pages.is_empty() || self.moved(&pages)? {
                break;
            }
            pages = self.to_leave(pages)?;
            // Where the kernel stopped; it has not tried all of those behind.
            if !pages.is_empty() {
                pages.remove(0);
                left += 1;
            }
        }
        left += self.to_leave(pages)?.len();
        let moved = before.saturating_sub(left);
        self.tries = match moved == 0 && left > 0 {
            true => TRIES_AFTER_NONE,
            false => TRIES,
        };
        Ok(Some(Slice {
            moved: moved as u64,
            left: left as u64,
        }))
    }

    /// Some kernels, such as 6.1, hide pages from move_pages(2) that their NUMA balancing watches. These go in one
    /// piece.
    fn rest(&mut self) -> io::Result<Option<Slice>> {
        if self.hidden == 0 {
            return Ok(None);
        }
        let hidden = std::mem::take(&mut self.hidden);
        let left = migrate(self.pid, &self.from, &self.to)?;
        Ok(Some(Slice {
            moved: hidden.saturating_sub(left),
            left,
        }))
    }

    /// The addresses of the next pages that are in memory.
    fn there(&mut self) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        let mut room = self.window;
        for _ in 0..PARTS {
            let Some((start, end)) = self.parts.pop_front() else {
                break;
            };
            let upto = end.min(start + room);
            room -= upto - start;
            if upto < end {
                self.parts.push_front((upto, end));
            }
            let mut bytes = vec![0; (upto - start) as usize * size_of::<u64>()];
            let length = self.pagemap.read_at(&mut bytes, start * 8)?;
            let words = bytes.get(..length).unwrap_or_default().chunks_exact(8);
            let is_there = |word: &[u8]| {
                let word = word.try_into().map(u64::from_le_bytes);
                word.is_ok_and(|word| word & PRESENT != 0)
            };
            let pages = (start..upto).zip(words);
            let pages = pages.filter(|(_, word)| is_there(word));
            found.extend(pages.map(|(number, _)| number * self.page));
            // A wide window may have more pages than one slice moves.
            if let Some(next) = found.get(SLICE).copied() {
                found.truncate(SLICE);
                self.parts.push_front((next / self.page, upto));
                break;
            }
            if room == 0 {
                break;
            }
        }
        self.window = match found.is_empty() {
            true => (self.window * 2).min(WIDEST),
            false => SLICE as u64,
        };
        Ok(found)
    }

    /// Those of some pages that lie on the nodes to leave.
    fn to_leave(&self, pages: Vec<u64>) -> io::Result<Vec<u64>> {
        if pages.is_empty() {
            return Ok(pages);
        }
        let (_, nodes) = move_pages(self.pid, &pages, None)?;
        Ok(self.on_nodes_to_leave(pages, nodes))
    }

    fn on_nodes_to_leave(&self, pages: Vec<u64>, nodes: Vec<c_int>) -> Vec<u64> {
        let is_there =
            |node: &c_int| u32::try_from(*node).is_ok_and(|n| self.from.contains(NumaId(n)));
        let found = pages.into_iter().zip(nodes);
        let found = found.filter(|(_, node)| is_there(node));
        found.map(|(page, _)| page).collect()
    }

    /// Moves them; whether the kernel says that all are where they should be. Several nodes take turns.
    fn moved(&self, pages: &[u64]) -> io::Result<bool> {
        let targets: Vec<_> = self.to.iter().map(|node| node.0 as c_int).collect();
        // Pages of one target in a row are moved together.
        let each = pages.len().div_ceil(targets.len().max(1)).max(1);
        let target = |at: usize| targets.get(at / each).copied();
        let nodes: Vec<_> = (0..pages.len()).filter_map(target).collect();
        if nodes.len() != pages.len() {
            return Ok(false);
        }
        let (left, _) = move_pages(self.pid, pages, Some(&nodes))?;
        Ok(left == 0)
    }
}

/// The parts of an address space that can have pages, as numbers of pages.
fn parts(maps: impl BufRead, page: u64) -> VecDeque<(u64, u64)> {
    let mut found = VecDeque::new();
    for line in maps.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split(' ');
        let (Some(range), Some(may)) = (words.next(), words.next()) else {
            continue;
        };
        let ends = range.split_once('-').and_then(|(start, end)| {
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(start)? / page, number(end)? / page))
        });
        // Reserved addresses have no pages, and the kernel's own are not the process's.
        let is_own = |ends: &(u64, u64)| ends.0 < ends.1 && ends.1 <= i64::MAX as u64 / page;
        if let Some(ends) = ends.filter(|ends| is_own(ends) && !may.starts_with("---")) {
            found.push_back(ends);
        }
    }
    found
}

/// Moves pages of a process, or without `nodes` only looks where they are. Returns how many the kernel says it did
/// not move, and for each page its node or an error.
fn move_pages(pid: pid_t, pages: &[u64], nodes: Option<&[c_int]>) -> io::Result<(u64, Vec<c_int>)> {
    let mut status = vec![-libc::ENOENT; pages.len()];
    let targets = nodes.filter(|nodes| nodes.len() == pages.len());
    // SAFETY: all slices live during the call and have `pages.len()` members; the kernel (move_pages(2)) writes
    // only into `status`. The addresses are another process's, and are not followed here.
    let left = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            pages.len(),
            pages.as_ptr(),
            targets.map_or(ptr::null(), <[c_int]>::as_ptr),
            status.as_mut_ptr(),
            MPOL_MF_MOVE_ALL,
        )
    };
    match u64::try_from(left) {
        Ok(left) => Ok((left, status)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Moves all pages of a process that lie on some NUMA nodes. Returns how many could not be moved.
fn migrate(pid: pid_t, from: &NodeSet, to: &NodeSet) -> io::Result<u64> {
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

fn page_size() -> u64 {
    // SAFETY: the call takes a number and touches no memory of ours.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096).max(1)
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
#[path = "migrate_tests.rs"]
mod tests;
