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
    use super::*;
    use crate::cgroup::fake;
    use crate::facts_text::hold;

    /// A folder's job, its number and the step.
    fn place(path: &str) -> String {
        let mounts = Mounts::of("30 20 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
        let place = Place::read(&format!("0::{path}\n"), &mounts, "").unwrap();
        JobPlace::of(&place).map_or("None".into(), |found| {
            format!("{} {:?} {:?}", found.job, found.number, found.step)
        })
    }

    /// The job and limits of a process by its cgroups. The question is `v2 for JOB CGROUPS`, and only that hierarchy is mounted.
    fn confined(files: &str, question: &str) -> String {
        let folder = fake::folder(files);
        let (kind, rest) = question.split_once(' ').unwrap();
        let (taken_for, own) = match rest.strip_prefix("for ") {
            Some(rest) => rest.split_once(' ').unwrap(),
            None => ("", rest),
        };
        let (kind, options) = match kind {
            "v2" => ("cgroup2", "rw".into()),
            controller => ("cgroup", format!("rw,{controller}")),
        };
        let point = folder.path().display();
        let mounts = format!("30 20 0:26 / {point} rw - {kind} {kind} {options}\n");
        let mounts = Mounts::of(&mounts);
        let own = format!("{own}\n");
        let place = |name: &str| Place::read(&own, &mounts, name).ok();
        let found = read(
            |controller| JobPlace::first(place, controller),
            taken_for.parse().ok(),
        );
        let Some(found) = found else {
            return "none".into();
        };
        let cpus = |cpus: Option<CpuSet>| cpus.map(|cpus| cpus.to_string());
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes.to_string());
        let known = [
            ("CPUs", cpus(found.job_cpus)),
            ("step", cpus(found.step_cpus)),
            ("memory", bytes(found.limits.memory)),
            ("swap", bytes(found.limits.swap)),
        ];
        let known = known
            .into_iter()
            .filter_map(|(name, value)| Some(format!(", {name} {}", value?)));
        format!("job {}{}", found.job, known.collect::<String>())
    }

    #[test]
    fn facts() {
        hold(
            include_str!("job_cgroup.txt"),
            |files, question| match files {
                "folders" => place(question),
                files => confined(files, question),
            },
        );
    }
}
