//! The cgroup below which Slurm keeps the jobs of a node: its scope.
//! In: the mounts and a node's name, or the place of a process. Out: the scope's place.

use super::mounts::Mount;
use super::{Mounts, Place, Version};

/// Where Slurm puts its scope below a unified mount. Source: `SYSTEM_CGSLICE` of cgroup_v2.h.
const SLICE: &str = "system.slice";
/// What users may put together themselves.
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

    #[test]
    fn hierarchies_without_cpusets_are_passed_over() {
        let systemds = "29 1 0:3 / /cg/systemd rw - cgroup c rw,name=systemd\n";
        let v1 = "31 1 0:4 / /cg/cpuset rw - cgroup c rw,cpuset\n";
        let v2 = "30 1 0:1 / /cg/unified rw - cgroup2 c rw\n";
        let tops = |text: &str| {
            let mounts = Mounts::of(text);
            let both = [Version::V1, Version::V2].map(|version| tops_of(&mounts, version));
            both.map(|tops| tops.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let none = Vec::<String>::new();
        assert_eq!(
            tops(&[systemds, v2].concat()),
            [none.clone(), vec!["/cg/unified".into()]]
        );
        assert_eq!(
            tops(&[systemds, v1].concat()),
            [vec!["/cg/cpuset".into()], none]
        );
    }

    #[test]
    fn slices_are_at_the_top_or_beside_process_1() {
        let mounts = Mounts::of("30 1 0:1 / /cg rw - cgroup2 c rw\n");
        for (text, expected) in [
            ("0::/\n", &["/cg"][..]),
            ("0::/init.scope\n", &["/cg"]),
            (
                "0::/docker.slice/docker-1.scope\n",
                &["/cg", "/cg/docker.slice"],
            ),
            ("0::/a/b/init.scope\n", &["/cg", "/cg/a/b"]),
        ] {
            let init = Place::read(text, &mounts, "cpuset").unwrap();
            let top = init.above(init.folders.len());
            let found = tops(top, Some(&init));
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_node_s_scope_is_found_from_a_process_in_it() {
        let v2 = Mounts::of("30 1 0:1 / /cg rw - cgroup2 c rw\n");
        let v1 = Mounts::of("30 1 0:1 / /cg rw - cgroup c rw,cpuset\n");
        for (mounts, text, scope) in [
            (
                &v2,
                "0::/system.slice/n1_slurmstepd.scope/job_1/step_0/slurm\n",
                Some("/cg/system.slice/n1_slurmstepd.scope"),
            ),
            (
                &v2,
                "0::/x/slurmstepd.scope/job_1\n",
                Some("/cg/x/slurmstepd.scope"),
            ),
            (&v2, "0::/system.slice/n2_slurmstepd.scope/job_1\n", None),
            (
                &v1,
                "4:cpuset:/slurm_n1/uid_0/job_1/step_0\n",
                Some("/cg/slurm_n1"),
            ),
            (&v1, "4:cpuset:/slurm/uid_0\n", Some("/cg/slurm")),
            (&v1, "4:cpuset:/slurm_n2/uid_0\n", None),
        ] {
            let place = Place::read(text, mounts, "cpuset").unwrap();
            let found = scope_of(&place, "n1").map(|place| place.to_string());
            assert_eq!(found.as_deref(), scope, "{text}");
        }
    }
}
