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
/// The file of the CPUs that the kernel gives a cgroup of the unified hierarchy.
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

/// The CPUs that exclusive cgroups of the old hierarchy hold.
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

/// The CPUs that the cgroup at the top of the unified hierarchy lacks, and the caller's too.
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
    use super::super::fake;
    use super::*;
    use crate::facts_text::hold;

    #[test]
    fn facts() {
        hold(include_str!("exclusive.txt"), |files, question| {
            let dir = fake::folder(files);
            let mut words = question.split(' ');
            let all = words.next().unwrap();
            let own: Vec<_> = words.map(ToString::to_string).collect();
            let top = |version| {
                let place = Place {
                    version,
                    ..Place::made_up(dir.path())
                };
                place.open().unwrap()
            };
            let found = match all {
                "v1" => exclusive(&top(Version::V1), &own),
                _ => missing_at_top(&top(Version::V2), &own, &CpuSet::from_list(all).unwrap()),
            };
            found.to_string()
        });
    }
}
