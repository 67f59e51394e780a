//! The tasks of a job that fill memory: whether they run, and where the kernel has them and their memory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use berth_tests::process;

use crate::filler::heard_file;
use crate::site::leaf;

/// Two tasks that fill memory, and show that they run.
pub struct Tasks {
    mark: String,
    size: u64,
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its mask.
    pub mask: String,
    /// The CPUs of its cgroup.
    pub fence: String,
}

impl Seen {
    /// With this mask in this fence.
    pub fn new(mask: &str, fence: &str) -> Self {
        Self {
            mask: mask.into(),
            fence: fence.into(),
        }
    }
}

impl Tasks {
    /// Tasks that are to begin, with so many MiB each. Nothing is there of earlier ones.
    pub fn new(mark: String, size: u64) -> Self {
        for task in 0..2 {
            let file = format!("{mark}.{task}");
            let _ = fs::remove_file(heard_file(&file));
            let _ = fs::remove_file(file);
        }
        Self { mark, size }
    }

    /// Where the files begin in which they show that they run.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    pub fn pids(&self) -> Vec<i32> {
        let mut pids = process::find("berth-resume", &self.mark);
        pids.sort_by_key(|pid| task_of(*pid));
        pids
    }

    /// How far each task has counted.
    pub fn beats(&self) -> BTreeMap<u32, u64> {
        let beat = |task| {
            let text = fs::read_to_string(format!("{}.{task}", self.mark)).ok()?;
            Some((task, text.parse().ok()?))
        };
        (0..2).filter_map(beat).collect()
    }

    /// How many tasks have noted a SIGTERM.
    pub fn heard(&self) -> usize {
        let files = (0..2).map(|task| heard_file(&format!("{}.{task}", self.mark)));
        files.filter(|file| Path::new(file).exists()).count()
    }

    /// Where its tasks are, in their order.
    pub fn seen(&self) -> Vec<Seen> {
        let seen = |pid: i32| Seen {
            mask: process::status(pid, "Cpus_allowed_list").unwrap_or_default(),
            fence: leaf(pid, "cpuset.cpus.effective"),
        };
        self.pids().into_iter().map(seen).collect()
    }

    /// The share of the tasks' own pages on a NUMA node, and whether all pages are seen: those on their way are not.
    pub fn share_on(&self, node: u32) -> (f64, bool) {
        let mut pages = BTreeMap::<u32, u64>::new();
        for pid in self.pids() {
            let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
            for line in maps.lines().filter(|line| line.contains("anon=")) {
                let words = line.split(' ').filter_map(|word| {
                    let (node, count) = word.strip_prefix('N')?.split_once('=')?;
                    Some((node.parse().ok()?, count.parse::<u64>().ok()?))
                });
                words.for_each(|(node, count)| *pages.entry(node).or_default() += count);
            }
        }
        let all: u64 = pages.values().sum();
        let there = pages.get(&node).copied().unwrap_or_default();
        (there as f64 / all.max(1) as f64, all >= 2 * self.size * 256)
    }
}

/// The frames of memory in which the pages of a process's largest mapping are, page by page.
pub fn frames(pid: i32) -> Vec<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("its mappings");
    let ranges = maps.lines().filter_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (start, end) = (number(start)?, number(end)?);
        line.contains("rw-p").then_some((end - start, start))
    });
    let (length, start) = ranges.max().expect("a mapping");
    let pagemap = fs::File::open(format!("/proc/{pid}/pagemap")).expect("its pages");
    let mut bytes = vec![0; (length / 4096 * 8) as usize];
    pagemap
        .read_exact_at(&mut bytes, start / 4096 * 8)
        .expect("its pages");
    let words = bytes.chunks_exact(8);
    let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    // The low 55 bits of one that is present.
    words.map(|word| word & ((1 << 55) - 1)).collect()
}

fn task_of(pid: i32) -> u32 {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let found = environment
        .split('\0')
        .find_map(|pair| pair.strip_prefix("SLURM_PROCID="));
    found.and_then(|text| text.parse().ok()).unwrap_or(u32::MAX)
}
