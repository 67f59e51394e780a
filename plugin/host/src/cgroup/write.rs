//! Writes the CPUs and NUMA nodes of a cgroup, and reads back what the kernel makes of them.
//! In: a folder, the sets. Out: nothing, or why the cgroup has other CPUs. Each write is traced.

use berth_placement::{CpuId, CpuSet, NodeSet};

use super::{FenceError, Folder, Version};

/// The sets of one cgroup.
#[derive(Clone, Copy, Debug)]
pub struct Fence<'a> {
    /// No process in it uses others.
    pub cpus: &'a CpuSet,
    /// No process in it uses memory of other NUMA nodes; `None` leaves the nodes as they are.
    pub mems: Option<&'a NodeSet>,
}

/// One write, for the log.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("wrote {value:?} to {file}, which has {now:?}")]
pub struct Written {
    /// The cgroup's file.
    pub file: String,
    /// The value that was written.
    pub value: String,
    /// The kernel's value afterwards.
    pub now: String,
}

/// Takes each write.
pub(super) type Trace<'a> = &'a mut dyn FnMut(&Written);

impl Fence<'_> {
    /// Writes the CPUs. If the kernel gives the cgroup others, the write is taken back.
    ///
    /// # Errors
    /// [`FenceError`]
    pub fn cpus(
        &self,
        folder: &Folder,
        version: Version,
        trace: Trace<'_>,
    ) -> Result<(), FenceError> {
        narrow(folder, ("cpuset.cpus", version), self.cpus, trace)
    }

    /// Writes the CPUs again that a cgroup of the unified hierarchy has had. While all of them are offline the kernel gives
    /// it those of the folder above, and its own once one is back: the write is not taken back meanwhile.
    ///
    /// # Errors
    /// [`FenceError`]
    pub fn cpus_again(&self, folder: &Folder, trace: Trace<'_>) -> Result<(), FenceError> {
        write(folder, ("cpuset.cpus", Version::V2), self.cpus, trace)
    }

    /// Writes the NUMA nodes, if there are some.
    ///
    /// # Errors
    /// [`FenceError`]
    pub fn mems(
        &self,
        folder: &Folder,
        version: Version,
        trace: Trace<'_>,
    ) -> Result<(), FenceError> {
        let Some(nodes) = self.mems else {
            return Ok(());
        };
        let nodes = nodes.iter().map(|node| CpuId(node.0)).collect();
        narrow(folder, ("cpuset.mems", version), &nodes, trace)
    }
}

/// Gives a cgroup's processes no swap (`CPUSET_POLICY_KILL`).
///
/// # Errors
/// [`FenceError`], also where the memory controller is not there.
pub fn no_swap(folder: &Folder, trace: Trace<'_>) -> Result<(), FenceError> {
    folder.put("memory.swap.max", "0").map(|done| trace(&done))
}

/// The file in which the kernel says what a cgroup really has.
fn effective(file: &str, version: Version) -> String {
    match version {
        Version::V1 => file.into(),
        Version::V2 => format!("{file}.effective"),
    }
}

fn narrow(
    folder: &Folder,
    (file, version): (&str, Version),
    requested: &CpuSet,
    trace: Trace<'_>,
) -> Result<(), FenceError> {
    let done = write(folder, (file, version), requested, trace);
    let is_wider = matches!(done, Err(FenceError::Wider { .. }));
    if is_wider && version == Version::V2 && folder.write(file, "").is_ok() {
        trace(&Written {
            file: folder.file(file),
            value: String::new(),
            now: folder.read(&effective(file, version)).unwrap_or_default(),
        });
    }
    done
}

/// Writes a set, and says if the kernel gives the cgroup others.
fn write(
    folder: &Folder,
    (file, version): (&str, Version),
    requested: &CpuSet,
    trace: Trace<'_>,
) -> Result<(), FenceError> {
    let mut value = requested.to_string();
    if let Err(why) = folder.write(file, &value) {
        // v1 takes no CPU that is offline or outside of the folder above. The folder has what that
        // one has.
        let may_do = version == Version::V1 && !requested.is_empty();
        let has = CpuSet::from_list(&folder.read(file)?).unwrap_or_default();
        let both = requested.intersection(&has);
        if !may_do || both.is_empty() || both == *requested {
            return Err(why);
        }
        value = both.to_string();
        folder.write(file, &value)?;
    }
    let now = folder.read(&effective(file, version))?;
    trace(&Written {
        file: folder.file(file),
        value,
        now: now.clone(),
    });
    // An empty list is no list.
    let has = CpuSet::from_list(&now).unwrap_or_default();
    if !has.is_empty() && has.is_subset(requested) {
        return Ok(());
    }
    Err(FenceError::Wider {
        path: folder.path.clone(),
        requested: requested.to_string(),
        now,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Place;
    use super::*;

    fn cpus(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// A folder whose kernel answers with `now` whatever is written.
    fn answered(now: &str, requested: &str) -> (Result<(), String>, Vec<Written>, String) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cpuset.cpus"), "").unwrap();
        fs::write(dir.path().join("cpuset.cpus.effective"), now).unwrap();
        let place = Place::made_up(dir.path());
        let folder = place.open().unwrap();
        let mut all = Vec::new();
        let requested = cpus(requested);
        let fence = Fence {
            cpus: &requested,
            mems: None,
        };
        let done = fence.cpus(&folder, Version::V2, &mut |one| all.push(one.clone()));
        fence.mems(&folder, Version::V2, &mut |_| {}).unwrap();
        let left = fs::read_to_string(dir.path().join("cpuset.cpus")).unwrap();
        (done.map_err(|why| why.to_string()), all, left)
    }

    #[test]
    fn what_the_kernel_gives_must_be_inside() {
        for (requested, now) in [("0-3", "0-3\n"), ("0-3", "0,2\n"), ("7", "7")] {
            let (done, all, left) = answered(now, requested);
            assert_eq!(done, Ok(()), "{requested} {now}");
            assert_eq!((all.len(), left.trim_end()), (1, requested));
            assert_eq!(
                (all[0].value.as_str(), all[0].now.as_str()),
                (requested, now.trim_end())
            );
        }
    }

    #[test]
    fn a_wider_answer_is_taken_back() {
        for now in ["0-7\n", "\n", "nonsense\n"] {
            let (done, all, left) = answered(now, "6-7");
            let why = done.unwrap_err();
            assert!(why.contains("CPUs 6-7 were written"), "{why}");
            // The kernel reads a line's end as "as the folder above". This file keeps the rest.
            assert_eq!((all.len(), left.starts_with('\n')), (2, true), "{left:?}");
        }
    }

    #[test]
    fn a_fence_that_held_is_kept_while_its_cpus_are_offline() {
        let (dir, folder) = folder(&["cpuset.cpus", "cpuset.cpus.effective"]);
        let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
        fs::write(dir.path().join("cpuset.cpus.effective"), "0-5\n").unwrap();
        let requested = cpus("6-7");
        let fence = Fence {
            cpus: &requested,
            mems: None,
        };
        let mut all = Vec::new();
        let done = fence.cpus_again(&folder, &mut |one| all.push(one.clone()));
        assert!(
            done.unwrap_err()
                .to_string()
                .contains("CPUs 6-7 were written")
        );
        assert_eq!((all.len(), read("cpuset.cpus").trim_end()), (1, "6-7"));
        fs::write(dir.path().join("cpuset.cpus.effective"), "6\n").unwrap();
        fence.cpus_again(&folder, &mut |_| {}).unwrap();
    }

    /// A folder of any kind, with a file for each of these names.
    fn folder(files: &[&str]) -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(dir.path().join(file), "max\n").unwrap();
        }
        let place = Place::made_up(dir.path());
        let folder = place.open().unwrap();
        (dir, folder)
    }

    #[test]
    fn swap_is_forbidden_where_its_controller_is() {
        let (dir, own) = folder(&["memory.max", "memory.swap.max"]);
        let mut all = Vec::new();
        no_swap(&own, &mut |one| all.push(one.clone())).unwrap();
        let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
        // This file keeps the rest of the longer text; the kernel's has the number alone.
        assert!(read("memory.swap.max").starts_with("0\n"));
        assert_eq!(read("memory.max"), "max\n", "memory itself is not limited");
        let [one] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert!(
            one.file.ends_with("/memory.swap.max") && one.value == "0" && one.now.starts_with('0')
        );
        // Without the controller nothing is made, and the caller learns why.
        let (dir, without) = folder(&["cpuset.cpus"]);
        let why = no_swap(&without, &mut |one| panic!("{one:?}")).unwrap_err();
        assert!(why.to_string().contains("memory.swap.max"), "{why}");
        assert!(!dir.path().join("memory.swap.max").exists());
    }
}
