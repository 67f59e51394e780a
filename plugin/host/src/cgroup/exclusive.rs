//! CPUs that other software holds for itself by a cgroup of its own.
//! In: the files of the hierarchy with cpusets. Out: a set, which is empty where nobody does.
//!
//! The unified hierarchy: a partition (`cpuset.cpus.partition`) takes its CPUs from the cgroup at the top. The old
//! one: `cpuset.cpu_exclusive` of a cgroup right below the top; the kernel lets no deeper one have it alone.

use berth_placement::CpuSet;

use super::{Folder, Mounts, Place, Version};

/// Far more cgroups than stand right below the top of a hierarchy.
const MOST: usize = 4096;
/// How the names of Slurm's own begin there.
const SLURMS: &str = "slurm";
/// What the kernel gives a cgroup of the unified hierarchy.
const EFFECTIVE: &str = "cpuset.cpus.effective";

/// Those among `online` that are held by others than Slurm and the caller's own cgroup.
#[must_use]
pub fn held_by_others(online: &CpuSet) -> CpuSet {
    read_held(online).unwrap_or_default().intersection(online)
}

fn read_held(online: &CpuSet) -> Option<CpuSet> {
    let own = Place::of(0, &Mounts::read().ok()?).ok()?;
    let top = own.above(own.folders.len()).open().ok()?;
    Some(match own.version {
        Version::V1 => exclusive(&top, &own.folders),
        Version::V2 => missing_at_top(&top, &own.folders, online),
    })
}

/// What the cgroups of the old hierarchy hold.
fn exclusive(top: &Folder, own: &[String]) -> CpuSet {
    let mut names = top.children(MOST);
    names.retain(|name| own.first() != Some(name) && !name.starts_with(SLURMS));
    let mut held = CpuSet::new();
    for folder in names.iter().filter_map(|name| top.child(name).ok()) {
        if folder
            .read("cpuset.cpu_exclusive")
            .is_ok_and(|is| is == "1")
        {
            held.insert_all(&folder.cpus("cpuset.cpus"));
        }
    }
    held
}

/// What the cgroup at the top of the unified hierarchy lacks, and the caller's has not.
fn missing_at_top(top: &Folder, own: &[String], online: &CpuSet) -> CpuSet {
    // In a container the top is a cgroup like others, whose CPUs are limited for other reasons.
    let is_real = top.read("cgroup.type").is_err();
    let left = top.cpus(EFFECTIVE);
    if !is_real || left.is_empty() {
        return CpuSet::new();
    }
    let taken = online.difference(&left);
    match taken.is_empty() {
        true => taken,
        false => taken.difference(&innermost(top, own).unwrap_or_default()),
    }
}

/// The CPUs of the caller's cgroup, or of the nearest above it that has the controller.
fn innermost(top: &Folder, own: &[String]) -> Option<CpuSet> {
    let (name, below) = own.split_first()?;
    let folder = top.child(name).ok()?;
    let own = || Some(folder.cpus(EFFECTIVE)).filter(|cpus| !cpus.is_empty());
    innermost(&folder, below).or_else(own)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::fake::write as put;
    use super::*;

    fn top(point: &Path, version: Version) -> Folder {
        let place = Place {
            version,
            ..Place::made_up(point)
        };
        place.open().unwrap()
    }

    fn folders(own: &[&str]) -> Vec<String> {
        own.iter().map(ToString::to_string).collect()
    }

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn exclusive_cgroups_of_others_count() {
        let dir = tempfile::tempdir().unwrap();
        let sets = [
            ("database", "1", "4-5"),
            ("shared", "0", "6"),
            ("slurm_n1", "1", "0-3"),
            ("system", "1", "8-9"),
        ];
        for (name, exclusive, cpus) in sets {
            put(
                dir.path(),
                &format!("{name}/cpuset.cpu_exclusive"),
                exclusive,
            );
            put(dir.path(), &format!("{name}/cpuset.cpus"), cpus);
        }
        let own = folders(&["system", "slurmd"]);
        assert_eq!(exclusive(&top(dir.path(), Version::V1), &own), set("4-5"));
    }

    #[test]
    fn partitions_of_others_count() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "cpuset.cpus.effective", "0-3,8-15\n");
        let (top, own) = (
            top(dir.path(), Version::V2),
            folders(&["system.slice", "slurmd.service"]),
        );
        assert_eq!(missing_at_top(&top, &own, &set("0-15")), set("4-7"));
        // slurmd's own slice is a partition too; the service has no file of its own.
        put(dir.path(), "system.slice/cpuset.cpus.effective", "6-7\n");
        assert_eq!(missing_at_top(&top, &own, &set("0-15")), set("4-5"));
        // A container's top is limited, and nothing is held.
        put(dir.path(), "cgroup.type", "domain\n");
        assert_eq!(missing_at_top(&top, &own, &set("0-15")), CpuSet::new());
    }

    #[test]
    fn nothing_is_held_where_nothing_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let own = folders(&["system.slice"]);
        assert_eq!(
            exclusive(&top(dir.path(), Version::V1), &own),
            CpuSet::new()
        );
        let unified = top(dir.path(), Version::V2);
        assert_eq!(missing_at_top(&unified, &own, &set("0-3")), CpuSet::new());
    }
}
