//! CPUs that this host's kernel keeps free of ordinary work. In: two files of the kernel's.
//! Out: a set, which is empty if the kernel does not list any.

use std::fs::File;
use std::io::Read;

use berth_placement::CpuSet;

/// `isolcpus=` and `nohz_full=`, as the kernel shows them.
const LISTS: [&str; 2] = [
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
];

/// The CPUs of both lists.
pub(crate) fn isolated() -> CpuSet {
    let mut cpus = CpuSet::new();
    for list in LISTS {
        cpus.insert_all(&read(list).unwrap_or_default());
    }
    cpus
}

/// If nothing is isolated, one file is empty, and the other one may contain `(null)`.
fn read(path: &str) -> Option<CpuSet> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    // The kernel fills a page at most.
    file.take(1 << 16).read_to_end(&mut text).ok()?;
    CpuSet::from_list(std::str::from_utf8(&text).ok()?.trim()).ok()
}
