//! The kernel's word on this process's job: the cgroups in which slurmstepd put it, their CPUs, and the
//! job's limits of memory. No user can leave them or make them by name outside Slurm's own folder.

use std::path::Path;

use berth_placement::CpuSet;

use crate::cgroup::{Mounts, Place, Version};
use crate::kernel_text;

/// Version 1 writes this or a little less for no limit (`PAGE_COUNTER_MAX` pages).
const UNLIMITED: u64 = i64::MAX as u64 - (1 << 20);

/// The end of the name of the cgroup in which version 2 keeps all jobs.
const SCOPE: &str = "slurmstepd.scope";
const SLUID_DIGITS: usize = 13;

/// This process's place among Slurm's cgroups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confined {
    /// The job.
    pub job: u32,
    /// `0`, `batch`, `extern`; `None` outside of a step.
    pub step: Option<String>,
    /// The CPUs of the job, by kernel number, where slurmd confines them.
    pub job_cpus: Option<CpuSet>,
    /// The CPUs of the step.
    pub step_cpus: Option<CpuSet>,
    /// The job's limits.
    pub limits: Limits,
}

/// The limits of a job's cgroup in bytes; `None` where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of its memory.
    pub memory: Option<u64>,
    /// Of its swap space.
    pub swap: Option<u64>,
}

/// Reads what confines this process's job, from its cgroup; returns `None` outside of a job. From 26.05 on Slurm names a
/// job's cgroup by its SLUID, in which the job's number does not stand: then the job is the one that the caller takes it for, from Slurm's variables.
#[must_use]
pub fn of_this_process(taken_for: Option<u32>) -> Option<Confined> {
    let mounts = Mounts::read().ok()?;
    read(|controller| JobPlace::own(&mounts, controller), taken_for)
}

/// Reads the limits alone, for a process of that job.
#[must_use]
pub fn limits_of_this_process(job: u32) -> Limits {
    let mounts = Mounts::read().unwrap_or_default();
    let own = JobPlace::own(&mounts, "memory");
    let own = own.filter(|own| own.number.is_none_or(|found| found == job));
    own.map(|own| limits(&own.job)).unwrap_or_default()
}

/// The cgroup of a job in the hierarchy of one controller.
struct JobPlace {
    job: Place,
    /// The job's number, where the folder has it.
    number: Option<u32>,
    step: Option<String>,
}

impl JobPlace {
    fn own(mounts: &Mounts, controller: &str) -> Option<Self> {
        Self::first(|name| Place::in_hierarchy(0, mounts, name).ok(), controller)
    }

    /// Tries the controller's hierarchy, then the unified one, then others of version 1.
    fn first(place: impl Fn(&str) -> Option<Place>, controller: &str) -> Option<Self> {
        let mut all = [controller, "", "cpuset", "memory", "freezer"].into_iter();
        all.find_map(|name| Self::of(&place(name)?))
    }

    /// Of a process that lives there: `…/job_7/step_0/user/task_1`, or `…/slurmstepd.scope/s6XSM80ABJSZ00/step_0/…`.
    fn of(place: &Place) -> Option<Self> {
        let number = |name: &str| name.strip_prefix("job_")?.parse::<u32>().ok();
        let folders = &place.folders;
        let is_job = |(at, name): &(usize, &String)| {
            let above = at.checked_sub(1).and_then(|above| folders.get(above));
            let of_scope = above.is_some_and(|above| above.ends_with(SCOPE));
            number(name).is_some() || of_scope && is_sluid(name)
        };
        let (at, name) = folders.iter().enumerate().find(is_job)?;
        let step = folders
            .get(at + 1)
            .and_then(|step| step.strip_prefix("step_"));
        Some(Self {
            number: number(name),
            job: place.above(folders.len() - at - 1),
            step: step.map(String::from),
        })
    }
}

fn read(own: impl Fn(&str) -> Option<JobPlace>, taken_for: Option<u32>) -> Option<Confined> {
    let place = own("cpuset")?;
    let step = place.step.as_ref();
    let step = step.and_then(|step| confining(&place.job.below(&format!("step_{step}"))));
    let of_memory = own("memory").filter(|memory| memory.number == place.number);
    Some(Confined {
        job: place.number.or(taken_for)?,
        step_cpus: step,
        job_cpus: confining(&place.job),
        limits: of_memory.map(|own| limits(&own.job)).unwrap_or_default(),
        step: place.step,
    })
}

/// Whether a folder has such a name: `s` and thirteen digits of Crockford's base 32.
/// Source: `print_sluid` of `sluid.c`.
fn is_sluid(name: &str) -> bool {
    let digits = name.strip_prefix('s');
    digits.is_some_and(|digits| {
        let is_digit = |digit: u8| digit.is_ascii_digit() || digit.is_ascii_uppercase();
        digits.len() == SLUID_DIGITS && digits.bytes().all(is_digit)
    })
}

/// The CPUs to which a cgroup confines its processes; `None` where nobody has set any. In version 1 every folder has a
/// list; it confines only if it differs from the root's.
fn confining(place: &Place) -> Option<CpuSet> {
    let folder = place.path();
    let list = |folder: &Path, name: &str| {
        let text = kernel_text::read(folder.join(name)).ok()?;
        CpuSet::from_list(text.trim())
            .ok()
            .filter(|cpus| !cpus.is_empty())
    };
    let set = list(&folder, "cpuset.cpus")?;
    if place.version == Version::V1 {
        let root = folder
            .ancestors()
            .take_while(|path| path.join("cpuset.cpus").exists());
        let all = list(root.last()?, "cpuset.cpus")?;
        return (set != all).then_some(set);
    }
    list(&folder, "cpuset.cpus.effective").or(Some(set))
}

/// The limits of the job's cgroup. Version 1 limits memory and swap space together.
fn limits(job: &Place) -> Limits {
    let folder = job.path();
    let limit = |name: &str| {
        let text = kernel_text::read(folder.join(name)).ok()?;
        let bytes = text.trim().parse::<u64>().ok()?;
        (bytes < UNLIMITED).then_some(bytes)
    };
    if job.version == Version::V2 {
        return Limits {
            memory: limit("memory.max"),
            swap: limit("memory.swap.max"),
        };
    }
    let memory = limit("memory.limit_in_bytes");
    let both = limit("memory.memsw.limit_in_bytes");
    Limits {
        memory,
        swap: both.map(|both| both.saturating_sub(memory.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A process at a place of each hierarchy that is named.
    fn found(own: &str, mounts: &str, taken_for: Option<u32>) -> Option<Confined> {
        let mounts = Mounts::of(mounts);
        let place = |name: &str| Place::read(own, &mounts, name).ok();
        read(|controller| JobPlace::first(place, controller), taken_for)
    }

    /// A line of mountinfo: cgroups of a kind in a folder.
    fn mounted(folder: &tempfile::TempDir, kind: &str, options: &str) -> String {
        let point = folder.path().display();
        format!("30 20 0:26 / {point} rw - {kind} {kind} {options}\n")
    }

    #[test]
    fn places_of_both_versions() {
        let mounts = Mounts::of("30 20 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
        crate::facts_text::hold(include_str!("job_cgroup.txt"), |_, path| {
            let place = Place::read(&format!("0::{path}\n"), &mounts, "").unwrap();
            let found = JobPlace::of(&place);
            found.map_or("None".into(), |found| {
                format!("{} {:?} {:?}", found.job, found.number, found.step)
            })
        });
    }

    #[test]
    fn lists_are_read_where_somebody_set_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("scope/job_7/step_0");
        fs::create_dir_all(&at).unwrap();
        let job = at.parent().unwrap();
        let mounts = mounted(&folder, "cgroup2", "rw");
        let own = "0::/scope/job_7/step_0/user/task_0\n";
        let now = || found(own, &mounts, None).unwrap();
        assert_eq!((now().job, now().job_cpus), (7, None));
        fs::write(job.join("cpuset.cpus"), "\n").unwrap();
        fs::write(job.join("cpuset.cpus.effective"), "0-7\n").unwrap();
        assert_eq!(now().job_cpus, None);
        fs::write(job.join("cpuset.cpus"), "2-3,9\n").unwrap();
        fs::write(job.join("cpuset.cpus.effective"), "2-3\n").unwrap();
        fs::write(at.join("cpuset.cpus"), "3\n").unwrap();
        let text = |cpus: Option<CpuSet>| cpus.map(|cpus| cpus.to_string());
        assert_eq!(text(now().job_cpus).as_deref(), Some("2-3"));
        assert_eq!(text(now().step_cpus).as_deref(), Some("3"));
        assert_eq!(found("0::/user.slice\n", &mounts, Some(7)), None);
    }

    #[test]
    fn a_job_whose_folder_has_no_number_is_the_one_that_it_is_taken_for() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("slurmstepd.scope/s6XSM80ABJSZ00");
        fs::create_dir_all(&job).unwrap();
        fs::write(job.join("cpuset.cpus"), "2-3\n").unwrap();
        fs::write(job.join("memory.max"), "1048576\n").unwrap();
        let mounts = mounted(&folder, "cgroup2", "rw");
        let own = "0::/slurmstepd.scope/s6XSM80ABJSZ00/step_0/user/task_0\n";
        let job = found(own, &mounts, Some(9)).unwrap();
        assert_eq!((job.job, job.limits.memory), (9, Some(1 << 20)));
        assert_eq!(job.job_cpus.unwrap().to_string(), "2-3");
        assert_eq!(found(own, &mounts, None), None);
    }

    #[test]
    fn version_one_confines_where_the_list_is_shorter_than_the_roots() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("slurm/uid_0/job_7");
        fs::create_dir_all(&job).unwrap();
        for path in job
            .ancestors()
            .take_while(|path| path.starts_with(folder.path()))
        {
            fs::write(path.join("cpuset.cpus"), "0-7\n").unwrap();
        }
        let mounts = mounted(&folder, "cgroup", "rw,cpuset");
        let own = "7:cpuset:/slurm/uid_0/job_7\n0::/user.slice\n";
        assert_eq!(found(own, &mounts, None).unwrap().job_cpus, None);
        fs::write(job.join("cpuset.cpus"), "4-7\n").unwrap();
        let cpus = found(own, &mounts, None).unwrap().job_cpus.unwrap();
        assert_eq!(cpus.to_string(), "4-7");
    }

    #[test]
    fn limits_of_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("scope/job_7");
        fs::create_dir_all(&job).unwrap();
        let two = mounted(&folder, "cgroup2", "rw");
        let one = mounted(&folder, "cgroup", "rw,memory");
        let of_two = || {
            found("0::/scope/job_7/step_0\n", &two, None)
                .unwrap()
                .limits
        };
        let of_one = || {
            let own = "9:memory:/scope/job_7/step_0\n7:cpuset:/scope/job_7\n";
            found(own, &one, None).unwrap().limits
        };
        let limits = |memory, swap| Limits { memory, swap };
        for (name, text) in [
            ("memory.max", "max"),
            ("memory.limit_in_bytes", "9223372036854771712"),
            ("memory.memsw.limit_in_bytes", "9223372036854771712"),
        ] {
            fs::write(job.join(name), format!("{text}\n")).unwrap();
        }
        assert_eq!(
            (of_two(), of_one()),
            (limits(None, None), limits(None, None))
        );
        for (name, bytes) in [
            ("memory.max", 200 << 20),
            ("memory.swap.max", 0),
            ("memory.limit_in_bytes", 300 << 20),
            ("memory.memsw.limit_in_bytes", 310 << 20),
        ] {
            fs::write(job.join(name), format!("{bytes}\n")).unwrap();
        }
        assert_eq!(of_two(), limits(Some(200 << 20), Some(0)));
        assert_eq!(of_one(), limits(Some(300 << 20), Some(10 << 20)));
    }
}
