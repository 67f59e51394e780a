//! The cgroup below which Slurm keeps the jobs of a node: its scope.
//! In: the mounts and a node's name, or the place of a process. Out: the scope's place.

use super::mounts::Mount;
use super::{Mounts, Place, Version};

/// Where Slurm puts its scope below a unified mount. Source: `SYSTEM_CGSLICE` of cgroup_v2.h.
const SLICE: &str = "system.slice";
/// The cgroup below which users may make others themselves.
const USERS: &str = "user.slice";
/// The most folders at the top that are looked at.
const MOST_SLICES: usize = 256;

/// The cgroup below which Slurm keeps the jobs of a node, if a process at this place is in it.
#[must_use]
pub fn scope_of(place: &Place, node: &str) -> Option<Place> {
    let is_scope = |folder: &String| names(place.version, node).contains(folder);
    let at = place.folders.iter().position(is_scope)?;
    Some(place.above(place.folders.len() - at - 1))
}

/// Those of them that are at their usual places: in a slice of the unified hierarchy (`CgroupSlice` of cgroup.conf names
/// another than the usual one), at its top or beside process 1, or at the top of version 1.
#[must_use]
pub fn usual_scopes(mounts: &Mounts, node: &str) -> Vec<Place> {
    let v1 = tops_of(mounts, Version::V1);
    let version = if v1.is_empty() {
        Version::V2
    } else {
        Version::V1
    };
    let places = match version {
        Version::V1 => v1,
        Version::V2 => {
            let init = Place::of(1, mounts).ok();
            let all = unified(mounts).into_iter();
            let tops = all.flat_map(|top| tops(top, init.as_ref()));
            tops.flat_map(|top| slices(&top)).collect()
        }
    };
    let named = places
        .into_iter()
        .flat_map(|above| names(version, node).map(|name| above.below(&name)));
    named.filter(|place| place.open().is_ok()).collect()
}

/// The tops of the unified hierarchy's mounts.
#[must_use]
pub fn unified(mounts: &Mounts) -> Vec<Place> {
    tops_of(mounts, Version::V2)
}

/// The tops of the mounts that may have cpusets.
fn tops_of(mounts: &Mounts, version: Version) -> Vec<Place> {
    let is_it = |mount: &&Mount| mount.version == version && mount.has("cpuset");
    let top = |mount: &Mount| Place {
        version,
        point: mount.point.clone(),
        folders: Vec::new(),
        is_made_up: false,
    };
    mounts.0.iter().filter(is_it).map(top).collect()
}

/// Where its slices may be: at the top and, from 24.11 on, in the folder in which process 1 has its own. The second is
/// another one in a container that sees the host's cgroups. Source: `_get_init_cg_path` of cgroup_v2.c.
fn tops(top: Place, init: Option<&Place>) -> Vec<Place> {
    let beside_init = init
        .filter(|init| top.holds(init) && init.folders.len() > 1)
        .map(|init| init.above(1));
    std::iter::once(top).chain(beside_init).collect()
}

/// The slices in which Slurm may have its scope, the usual one first. Users have another.
fn slices(top: &Place) -> Vec<Place> {
    let mut found = vec![SLICE.to_owned()];
    let names = top.open().map(|top| top.children(MOST_SLICES));
    let others = names.unwrap_or_default().into_iter();
    found.extend(
        others.filter(|name| name.ends_with(".slice") && ![SLICE, USERS].contains(&name.as_str())),
    );
    found.iter().map(|name| top.below(name)).collect()
}

/// The names of a scope: where several slurmds run on a host, each has its own.
fn names(version: Version, node: &str) -> [String; 2] {
    match version {
        Version::V1 => ["slurm".into(), format!("slurm_{node}")],
        Version::V2 => [
            "slurmstepd.scope".into(),
            format!("{node}_slurmstepd.scope"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts_text::hold;

    fn shown(places: &[Place]) -> String {
        let places: Vec<_> = places.iter().map(ToString::to_string).collect();
        format!("{places:?}")
    }

    #[test]
    fn facts() {
        hold(include_str!("scopes.txt"), |about, text| {
            let kind = about.strip_prefix("scope ").unwrap_or("cgroup2");
            let mounts = Mounts::of(&format!("30 1 0:1 / /cg rw - {kind} c rw,cpuset\n"));
            let place = || Place::read(text, &mounts, "cpuset").unwrap();
            match about {
                "tops" => {
                    let of = |version| shown(&tops_of(&Mounts::of(text), version));
                    format!("{} {}", of(Version::V1), of(Version::V2))
                }
                "slices" => {
                    let init = place();
                    shown(&tops(init.above(init.folders.len()), Some(&init)))
                }
                _ => format!(
                    "{:?}",
                    scope_of(&place(), "n1").map(|found| found.to_string())
                ),
            }
        });
    }
}
