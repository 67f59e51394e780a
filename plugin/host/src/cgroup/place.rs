//! The cgroup in which the kernel keeps a process, as far as cpusets are concerned.
//! In: the text of `/proc/PID/cgroup`, the mounts. Out: a mount and the folders below it.

use std::fmt;
use std::path::{Path, PathBuf};

use libc::pid_t;

use super::mounts::Mount;
use super::{FenceError, Mounts, Version};
use crate::kernel_text;

/// The most bytes of a path.
const MOST_PATH: usize = libc::PATH_MAX as usize;
/// Below the job's folder the step's, and slurmstepd's own in it: `JOB/step_X/slurm`.
pub(super) const OWN: &str = "slurm";
/// The most folders of a path.
const MOST_FOLDERS: usize = 64;

/// The folder of a process's cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The interface.
    pub version: Version,
    pub(super) point: PathBuf,
    /// The folders below the mount.
    pub(crate) folders: Vec<String>,
    /// Whether it is below a folder that only looks like a mount of cgroups.
    pub(super) is_made_up: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.point.display())?;
        self.folders.iter().try_for_each(|one| write!(f, "/{one}"))
    }
}

impl Place {
    /// Where a process lives; 0 is the calling one.
    ///
    /// # Errors
    /// [`FenceError`]: the process has ended, or its cgroup is below no mount that this process sees.
    pub fn of(pid: pid_t, mounts: &Mounts) -> Result<Self, FenceError> {
        Self::in_hierarchy(pid, mounts, "cpuset")
    }

    /// Where a process lives in the hierarchy of a controller; 0 is the calling one.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn in_hierarchy(pid: pid_t, mounts: &Mounts, controller: &str) -> Result<Self, FenceError> {
        let path = match pid {
            0 => "/proc/self/cgroup".into(),
            pid => format!("/proc/{pid}/cgroup"),
        };
        let text = kernel_text::read(&path).map_err(|why| why.to_string());
        text.and_then(|text| Self::read(&text, mounts, controller))
            .map_err(|why| FenceError::Place(format!("{path}: {why}")))
    }

    /// The top of a folder that looks like a mount of the unified hierarchy, for a trial without the kernel's.
    #[must_use]
    pub fn made_up(top: &Path) -> Self {
        Self {
            version: Version::V2,
            point: top.into(),
            folders: Vec::new(),
            is_made_up: true,
        }
    }

    /// The cgroup of this path, if it is below this one.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<Self> {
        let below = path.strip_prefix(self.path()).ok()?.to_str()?;
        let names = folders(&format!("/{below}")).ok()?;
        Some(names.iter().fold(self.clone(), |at, name| at.below(name)))
    }

    /// Whether another place is this one or below it.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        (self.version, &self.point) == (other.version, &other.point)
            && other.folders.starts_with(&self.folders)
    }

    pub(crate) fn read(text: &str, mounts: &Mounts, controller: &str) -> Result<Self, String> {
        let (version, path) = line(text, controller)
            .ok_or_else(|| format!("it names no cgroup with the controller {controller}"))?;
        let is_it = |one: &&Mount| one.version == version && one.has(controller);
        let of_version = || mounts.0.iter().filter(is_it);
        if of_version().next().is_none() {
            return Err(format!(
                "no hierarchy with the controller {controller} is mounted"
            ));
        }
        let folders = folders(path)?;
        let below = |root: &str| {
            let root = self::folders(root).ok()?;
            Some(folders.strip_prefix(root.as_slice())?.to_vec())
        };
        let found = of_version().find_map(|one| Some((one, below(&one.root)?)));
        let (mount, folders) =
            found.ok_or_else(|| format!("{path} is below no mount that slurmstepd sees"))?;
        Ok(Self {
            version,
            point: mount.point.clone(),
            folders,
            is_made_up: false,
        })
    }

    /// Whether its folder is there, as far as the kernel says.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path().try_exists().unwrap_or(true)
    }

    /// The folder of the job whose slurmstepd lives there: `JOB` of `JOB/step_X/slurm` in the unified hierarchy, whatever
    /// this Slurm calls the job. Nothing where Slurm keeps its steps in no folders of their own.
    #[must_use]
    pub fn job_of_slurmstepd(&self) -> Option<Self> {
        let is_slurms = matches!(
            self.folders.as_slice(),
            [_, .., step, own] if step.starts_with("step_") && own == OWN
        );
        (self.version == Version::V2 && is_slurms).then(|| self.above(2))
    }

    /// The number N of the leaf `user/task_N` (`step_X/task_N` in v1), where Slurm keeps one task
    /// alone. Source: `cgroup_p_task_addto` of each plugin.
    #[must_use]
    pub fn slurms_task(&self) -> Option<u32> {
        let [.., above, own] = self.folders.as_slice() else {
            return None;
        };
        let is_slurms = match self.version {
            Version::V2 => above == "user",
            Version::V1 => above.starts_with("step_"),
        };
        let number = own.strip_prefix("task_").filter(|_| is_slurms)?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| is_plain)
    }

    /// Whether it is the leaf of the unified hierarchy in which Slurm keeps all tasks of a step.
    #[must_use]
    pub fn is_slurms_common(&self) -> bool {
        let own = self.folders.as_slice();
        self.version == Version::V2
            && matches!(own, [.., above, own] if above == "user" && own == "task_special")
    }

    /// Whether it is the folder of v1 in which Slurm keeps all tasks of a step.
    #[must_use]
    pub fn is_slurms_step(&self) -> bool {
        let own = self.folders.last();
        self.version == Version::V1 && own.is_some_and(|own| own.starts_with("step_"))
    }

    /// Whether it is a leaf of the step whose slurmstepd lives there: `step_X/user/LEAF` beside
    /// `step_X/slurm`, in v1 `step_X/LEAF` below `step_X`.
    #[must_use]
    pub fn is_in_step_of(&self, slurmstepd: &Self) -> bool {
        let levels = match self.version {
            Version::V2 => (2, 1),
            Version::V1 => (1, 0),
        };
        let step = self.above(levels.0);
        let names_step = step.folders.last();
        names_step.is_some_and(|name| name.starts_with("step_"))
            && step == slurmstepd.above(levels.1)
    }

    /// The path of its folder.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let mut path = self.point.clone();
        path.extend(&self.folders);
        path
    }

    /// The name of its folder.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.folders.last().map(String::as_str)
    }

    /// At most so many cgroups right below it; none if it is gone.
    #[must_use]
    pub fn children(&self, most: usize) -> Vec<Self> {
        let names = self.open().map(|folder| folder.children(most));
        let names = names.unwrap_or_default();
        names.iter().map(|name| self.below(name)).collect()
    }

    /// The cgroup of this name right below it.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        let own = self.folders.iter().cloned();
        Self {
            folders: own.chain([name.to_owned()]).collect(),
            ..self.clone()
        }
    }

    /// The cgroup so many folders above.
    #[must_use]
    pub fn above(&self, count: usize) -> Self {
        let kept = self.folders.len().saturating_sub(count);
        Self {
            folders: self.folders.iter().take(kept).cloned().collect(),
            ..self.clone()
        }
    }
}

/// The line for a controller: that of v1, if that hierarchy has it, else the unified one.
fn line<'a>(text: &'a str, controller: &str) -> Option<(Version, &'a str)> {
    let mut unified = None;
    for line in text.lines() {
        // A path may have colons.
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if number == "0" && names.is_empty() {
            unified = Some((Version::V2, path));
        } else if names.split(',').any(|name| name == controller) {
            return Some((Version::V1, path));
        }
    }
    unified
}

/// The folders of an absolute path.
fn folders(path: &str) -> Result<Vec<String>, String> {
    let rest = path.strip_prefix('/').ok_or("its path is not absolute")?;
    if path.len() > MOST_PATH {
        return Err(format!("its path has {} bytes", path.len()));
    }
    let names = rest.split('/').filter(|name| !name.is_empty());
    let names: Vec<_> = names.take(MOST_FOLDERS + 1).map(String::from).collect();
    if names.len() > MOST_FOLDERS {
        return Err(format!("its path has more than {MOST_FOLDERS} folders"));
    }
    // The kernel writes such names where a cgroup is outside of the reader's namespace.
    match names.iter().any(|name| name == ".." || name == ".") {
        true => Err(format!("{path} is outside of slurmstepd's own cgroups")),
        false => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts_text::hold;

    fn mounts(name: &str) -> Mounts {
        Mounts::of(match name {
            "unified" => "30 1 0:1 / /cg rw - cgroup2 c rw\n",
            "hybrid" => {
                "30 1 0:1 / /cg/unified rw - cgroup2 c rw\n31 1 0:2 / /cg/cpuset rw - cgroup c rw,cpuset\n"
            }
            "below" => "30 1 0:1 /outer/job /cg rw - cgroup2 c rw\n",
            _ => "",
        })
    }

    #[test]
    fn facts() {
        hold(include_str!("place.txt"), |about, text| {
            let (about, name) = about.split_once(' ').unwrap();
            let (text, other) = text.split_once(" | ").unwrap_or((text, ""));
            let read = |text| Place::read(text, &mounts(name), "cpuset");
            let found = match read(text) {
                Ok(found) => found,
                Err(why) => return format!("refused: {why}"),
            };
            match about {
                "folder" => found.to_string(),
                "job" => {
                    let job = found.job_of_slurmstepd();
                    job.map_or("None".into(), |job| job.folders.join("/"))
                }
                "leaf" => format!("{:?} {}", found.slurms_task(), found.is_slurms_common()),
                _ => found.is_in_step_of(&read(other).unwrap()).to_string(),
            }
        });
    }

    #[test]
    fn no_endless_path_is_followed() {
        let long = format!("0::/{}\n", "a/".repeat(MOST_FOLDERS + 1));
        let why = Place::read(&long, &mounts("unified"), "cpuset").unwrap_err();
        assert!(why.contains("more than 64"), "{why}");
    }
}
