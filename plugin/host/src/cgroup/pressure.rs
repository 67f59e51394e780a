//! The CPU time of a cgroup's threads, and how long they waited for a CPU, as the kernel sums both up.
//! In: a folder of the unified hierarchy. Out: microseconds since the cgroup was made.

use std::str::FromStr;

use super::{FenceError, Folder};

/// The time in which at least one thread of this cgroup waited for a CPU. Nothing where the kernel does not count it (`psi=0`).
pub(super) fn waited(cgroup: &Folder) -> Option<u64> {
    pressure(&cgroup.read("cpu.pressure").ok()?, "some ", "total=")
}

/// The CPU time of all threads of this cgroup, also of those that have ended.
pub(super) fn used(cgroup: &Folder) -> Result<u64, FenceError> {
    const FILE: &str = "cpu.stat";
    let used = usage(&cgroup.read(FILE)?);
    used.ok_or_else(|| FenceError::Place(format!("{} has no usage_usec", cgroup.file(FILE))))
}

/// The time in which threads of this cgroup wanted a CPU and none of them had one. Nothing where the kernel does not count it
/// (before Linux 5.13, or `psi=0`).
pub(super) fn all_waited(cgroup: &Folder) -> Option<u64> {
    pressure(&cgroup.read("cpu.pressure").ok()?, "full ", "total=")
}

/// A field of the line of `cpu.pressure` that begins with a word.
pub(super) fn pressure<T: FromStr>(text: &str, line: &str, field: &str) -> Option<T> {
    let found = text.lines().find_map(|one| one.strip_prefix(line))?;
    let mut words = found.split_whitespace();
    words
        .find_map(|word| word.strip_prefix(field))?
        .parse()
        .ok()
}

fn usage(text: &str) -> Option<u64> {
    let used = text
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "));
    used?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;

    #[test]
    fn the_kernels_lines() {
        let text = "some avg10=0.12 avg60=0.00 avg300=0.00 total=4711\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let total = |text, line| pressure::<u64>(text, line, "total=");
        assert_eq!(total(text, "some "), Some(4711));
        assert_eq!(total(text, "full "), Some(7));
        assert_eq!(total("full avg10=0.00 total=7\n", "some "), None);
        assert_eq!(total("", "full "), None);
        let text = "usage_usec 75022443\nuser_usec 51632000\nsystem_usec 23390443\n";
        assert_eq!(usage(text), Some(75_022_443));
        assert_eq!(usage("nr_periods 0\n"), None);
    }
    #[test]
    fn a_kernel_that_does_not_count_gives_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let cgroup = fake::open(dir.path());
        assert_eq!(waited(&cgroup), None);
        assert!(used(&cgroup).is_err());
        let put = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
        put("cpu.pressure", "some avg10=0.00 total=4711\n");
        put("cpu.stat", "usage_usec 99\n");
        assert_eq!((waited(&cgroup), all_waited(&cgroup)), (Some(4711), None));
        assert_eq!(used(&cgroup).unwrap(), 99);
        put("cpu.stat", "nr_periods 0\n");
        let why = used(&cgroup).unwrap_err().to_string();
        assert!(why.ends_with("/cpu.stat has no usage_usec"), "{why}");
    }
}
