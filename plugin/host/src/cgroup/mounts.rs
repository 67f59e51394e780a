//! Where cgroups are mounted.
//! In: the text of `/proc/self/mountinfo`. Out: the mounts, those of the usual place first, and of each place the latest.

use std::path::PathBuf;

use super::{FenceError, Version};
use crate::kernel_text;

/// Where Slurm too has them, unless cgroup.conf says otherwise. A copy elsewhere may be a container's or a chroot's, and go.
const USUAL: &str = "/sys/fs/cgroup";
/// The kernel's file.
const MOUNTINFO: &str = "/proc/self/mountinfo";
/// More mounts of cgroups than any host has.
const MOST_MOUNTS: usize = 256;

/// One mount of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub version: Version,
    /// The controllers of version 1, with commas between.
    controllers: String,
    /// The cgroup that stands at the mount point.
    pub root: String,
    pub point: PathBuf,
}

/// The mounts of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts(pub(super) Vec<Mount>);

impl Mounts {
    /// Reads them.
    ///
    /// # Errors
    /// [`FenceError::Place`]: the kernel's file that cannot be read.
    pub fn read() -> Result<Self, FenceError> {
        let text = kernel_text::read(MOUNTINFO);
        let text = text.map_err(|why| FenceError::Place(format!("{MOUNTINFO}: {why}")))?;
        Ok(Self::of(&text))
    }

    pub(crate) fn of(text: &str) -> Self {
        let found = text.lines().rev().filter_map(Mount::of);
        let is_usual = |one: &Mount| one.point.starts_with(USUAL);
        let (usual, others): (Vec<_>, Vec<_>) = found.partition(is_usual);
        let all = usual.into_iter().chain(others);
        Self(all.take(MOST_MOUNTS).collect())
    }
}

impl Mount {
    /// Whether it has a controller: one of version 2 may have each.
    pub(super) fn has(&self, controller: &str) -> bool {
        self.version == Version::V2 || self.controllers.split(',').any(|name| name == controller)
    }

    /// `36 25 0:31 /root /point options … - type source options`
    fn of(line: &str) -> Option<Self> {
        let (ours, others) = line.split_once(" - ")?;
        let mut ours = ours.split(' ');
        let (root, point) = (ours.nth(3)?, ours.next()?);
        let mut others = others.split(' ');
        let version = match others.next()? {
            "cgroup2" => Version::V2,
            "cgroup" => Version::V1,
            _ => return None,
        };
        Some(Self {
            version,
            controllers: others.nth(1).unwrap_or_default().into(),
            root: plain(root),
            point: plain(point).into(),
        })
    }
}

/// A path in which the kernel wrote blanks and the like as `\040`.
fn plain(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(3).unwrap_or(("", part));
        match u8::from_str_radix(code, 8) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend_from_slice(code.as_bytes()),
        }
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_each_kind_are_found() {
        let text = "\
22 1 0:20 / /proc rw - proc proc rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
36 31 0:33 /job /mnt/a\\040b rw - cgroup2 none rw,nsdelegate
broken - cgroup2
";
        let Mounts(found) = Mounts::of(text);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.version, one.root.as_str(), one.point.to_str()))
            .collect();
        let expected = [
            (Version::V1, "/", Some("/sys/fs/cgroup/memory")),
            (Version::V1, "/", Some("/sys/fs/cgroup/cpuset")),
            (Version::V2, "/job", Some("/mnt/a b")),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn odd_escapes_are_kept() {
        for (written, means) in [("/a\\", "/a"), ("/a\\9", "/a9"), ("/\\134x", "/\\x")] {
            assert_eq!(plain(written), means, "{written}");
        }
    }
}
