//! The kernel's word on this process's job: the cgroups in which slurmstepd put it, their CPUs, and the
//! job's limits of memory. No user can leave them or make them by name outside Slurm's own folder.

use std::path::{Path, PathBuf};

use berth_placement::CpuSet;

use crate::kernel_text;

/// Version 1 writes this or a little less for no limit (`PAGE_COUNTER_MAX` pages).
const UNLIMITED: u64 = i64::MAX as u64 - (1 << 20);

/// The end of the name of the cgroup in which version 2 keeps all jobs.
const SCOPE: &str = "slurmstepd.scope/";
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

/// Reads it; `None` outside of a job. From 26.05 on Slurm names a job's cgroup by its SLUID, in which the job's number
/// does not stand: then the job is the one that the caller takes it for, from Slurm's variables.
#[must_use]
pub fn of_this_process(taken_for: Option<u32>) -> Option<Confined> {
    let own = kernel_text::read("/proc/self/cgroup").ok()?;
    let mounts = kernel_text::read("/proc/self/mountinfo").ok()?;
    read(&own, &mounts, taken_for)
}

/// Reads the limits alone, for a process of that job.
#[must_use]
pub fn limits_of_this_process(job: u32) -> Limits {
    let own = kernel_text::read("/proc/self/cgroup").unwrap_or_default();
    match Place::of(&own, "memory") {
        Some(place) if place.job.is_none_or(|found| found == job) => {
            let mounts = kernel_text::read("/proc/self/mountinfo").unwrap_or_default();
            limits(&place, &mounts).unwrap_or_default()
        }
        _ => Limits::default(),
    }
}

/// The cgroup of a job in the hierarchy of one controller.
struct Place<'a> {
    is_v1: bool,
    controller: &'a str,
    /// The path of the job's cgroup.
    path: &'a str,
    /// The job's number, where the path has it.
    job: Option<u32>,
    step: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// Version 1 has a hierarchy for each controller, version 2 has one for everything.
    fn of(own: &'a str, controller: &'a str) -> Option<Self> {
        let lines = || {
            own.lines()
                .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        };
        let v1 = lines().find(|(names, _)| names.split(',').any(|name| name == controller));
        let is_in_job = |path: &str| split(path).is_some();
        let (is_v1, path) = match v1.filter(|(_, path)| is_in_job(path)) {
            Some((_, path)) => (true, path),
            None => (false, lines().find(|(_, path)| is_in_job(path))?.1),
        };
        let (path, job, step) = split(path)?;
        Some(Self {
            is_v1,
            controller,
            path,
            job,
            step,
        })
    }

    /// The folder of a cgroup of this hierarchy.
    fn folder(&self, mounts: &str, path: &str) -> Option<PathBuf> {
        mounted(mounts, self.is_v1.then_some(self.controller), path)
    }
}

fn read(own: &str, mounts: &str, taken_for: Option<u32>) -> Option<Confined> {
    let place = Place::of(own, "cpuset")?;
    let cpus = |path: &str| confining(&place.folder(mounts, path)?, place.is_v1);
    let step_path = place.step.map(|step| format!("{}/step_{step}", place.path));
    let of_memory = Place::of(own, "memory").filter(|memory| memory.job == place.job);
    Some(Confined {
        job: place.job.or(taken_for)?,
        step: place.step.map(String::from),
        job_cpus: cpus(place.path),
        step_cpus: step_path.and_then(|path| cpus(&path)),
        limits: of_memory
            .and_then(|memory| limits(&memory, mounts))
            .unwrap_or_default(),
    })
}

/// The path of the job's cgroup, its number if it stands there, and the step's name: `…/job_7/step_0/user/task_1`,
/// or `…/slurmstepd.scope/s6XSM80ABJSZ00/step_0/…`.
fn split(path: &str) -> Option<(&str, Option<u32>, Option<&str>)> {
    let (end, job) = match path.split_once("/job_") {
        Some((before, rest)) => {
            let number = rest.split('/').next()?;
            let end = before.len() + "/job_".len() + number.len();
            (end, Some(number.parse().ok()?))
        }
        None => {
            let (before, rest) = path.split_once(SCOPE)?;
            let name = rest.split('/').next().filter(|name| is_sluid(name))?;
            (before.len() + SCOPE.len() + name.len(), None)
        }
    };
    let (path, inside) = path.split_at_checked(end)?;
    let name = inside.trim_start_matches('/').split('/').next()?;
    Some((path, job, name.strip_prefix("step_")))
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

/// The folder of a cgroup: its path below the root that is mounted, of version 1 for that controller.
fn mounted(mounts: &str, v1: Option<&str>, path: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
        let fits = match v1 {
            Some(controller) => {
                name == "cgroup" && options.split(',').any(|word| word == controller)
            }
            None => name == "cgroup2",
        };
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = path.strip_prefix(root.trim_end_matches('/'))?;
        fits.then(|| Path::new(point).join(below.trim_start_matches('/')))
    })
}

/// The CPUs to which a cgroup confines its processes; `None` where nobody has set any. In version 1
/// every folder has a list; it says something only if it is shorter than the root's.
fn confining(folder: &Path, is_v1: bool) -> Option<CpuSet> {
    let list = |folder: &Path, name: &str| {
        let text = kernel_text::read(folder.join(name)).ok()?;
        CpuSet::from_list(text.trim())
            .ok()
            .filter(|cpus| !cpus.is_empty())
    };
    let set = list(folder, "cpuset.cpus")?;
    if is_v1 {
        let root = folder
            .ancestors()
            .take_while(|path| path.join("cpuset.cpus").exists());
        let all = list(root.last()?, "cpuset.cpus")?;
        return (set != all).then_some(set);
    }
    list(folder, "cpuset.cpus.effective").or(Some(set))
}

/// The limits of the job's cgroup. Version 1 limits memory and swap space together.
fn limits(place: &Place<'_>, mounts: &str) -> Option<Limits> {
    let folder = place.folder(mounts, place.path)?;
    let limit = |name: &str| {
        let text = kernel_text::read(folder.join(name)).ok()?;
        let bytes = text.trim().parse::<u64>().ok()?;
        (bytes < UNLIMITED).then_some(bytes)
    };
    if !place.is_v1 {
        return Some(Limits {
            memory: limit("memory.max"),
            swap: limit("memory.swap.max"),
        });
    }
    let memory = limit("memory.limit_in_bytes");
    let both = limit("memory.memsw.limit_in_bytes");
    Some(Limits {
        memory,
        swap: both.map(|both| both.saturating_sub(memory.unwrap_or_default())),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn places_of_both_versions() {
        for (path, job, step) in [
            (
                "/system.slice/slurmstepd.scope/job_7/step_0/user/task_1",
                "/system.slice/slurmstepd.scope/job_7",
                Some("0"),
            ),
            (
                "/slurm_n1/uid_0/job_12/step_batch/task_0",
                "/slurm_n1/uid_0/job_12",
                Some("batch"),
            ),
            ("/slurm/uid_0/job_3", "/slurm/uid_0/job_3", None),
            (
                "/system.slice/n1_slurmstepd.scope/s6XSM80ABJSZ00/step_extern",
                "/system.slice/n1_slurmstepd.scope/s6XSM80ABJSZ00",
                Some("extern"),
            ),
        ] {
            let found = split(path).unwrap();
            assert_eq!((found.0, found.2), (job, step));
            assert_eq!(found.1.is_none(), path.contains("s6XSM80ABJSZ00"));
        }
        for path in [
            "/user.slice",
            "/job_x/step_0",
            "/",
            "/system.slice/slurmstepd.scope/system",
            "/system.slice/slurmstepd.scope/s6xsm80abjsz00/step_0",
            "/system.slice/s6XSM80ABJSZ00/step_0",
        ] {
            assert_eq!(split(path), None, "{path}");
        }
    }

    #[test]
    fn lists_are_read_where_somebody_set_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("scope/job_7/step_0");
        fs::create_dir_all(&at).unwrap();
        let job = at.parent().unwrap();
        let mounts = format!(
            "30 20 0:26 / {} rw - cgroup2 cgroup2 rw\n",
            folder.path().display()
        );
        let own = "0::/scope/job_7/step_0/user/task_0\n";
        let found = || read(own, &mounts, None).unwrap();
        assert_eq!((found().job, found().job_cpus), (7, None));
        fs::write(job.join("cpuset.cpus"), "\n").unwrap();
        fs::write(job.join("cpuset.cpus.effective"), "0-7\n").unwrap();
        assert_eq!(found().job_cpus, None);
        fs::write(job.join("cpuset.cpus"), "2-3,9\n").unwrap();
        fs::write(job.join("cpuset.cpus.effective"), "2-3\n").unwrap();
        fs::write(at.join("cpuset.cpus"), "3\n").unwrap();
        let text = |cpus: Option<CpuSet>| cpus.map(|cpus| cpus.to_string());
        assert_eq!(text(found().job_cpus).as_deref(), Some("2-3"));
        assert_eq!(text(found().step_cpus).as_deref(), Some("3"));
        assert_eq!(read("0::/user.slice\n", &mounts, Some(7)), None);
    }

    #[test]
    fn a_job_whose_folder_has_no_number_is_the_one_that_it_is_taken_for() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("slurmstepd.scope/s6XSM80ABJSZ00");
        fs::create_dir_all(&job).unwrap();
        fs::write(job.join("cpuset.cpus"), "2-3\n").unwrap();
        fs::write(job.join("memory.max"), "1048576\n").unwrap();
        let mounts = format!(
            "30 20 0:26 / {} rw - cgroup2 cgroup2 rw\n",
            folder.path().display()
        );
        let own = "0::/slurmstepd.scope/s6XSM80ABJSZ00/step_0/user/task_0\n";
        let found = read(own, &mounts, Some(9)).unwrap();
        assert_eq!((found.job, found.limits.memory), (9, Some(1 << 20)));
        assert_eq!(found.job_cpus.unwrap().to_string(), "2-3");
        assert_eq!(read(own, &mounts, None), None);
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
        let mounts = format!(
            "31 20 0:27 / {} rw - cgroup cgroup rw,cpuset\n",
            folder.path().display()
        );
        let own = "7:cpuset:/slurm/uid_0/job_7\n0::/user.slice\n";
        assert_eq!(read(own, &mounts, None).unwrap().job_cpus, None);
        fs::write(job.join("cpuset.cpus"), "4-7\n").unwrap();
        let cpus = read(own, &mounts, None).unwrap().job_cpus.unwrap();
        assert_eq!(cpus.to_string(), "4-7");
    }

    #[test]
    fn limits_of_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("scope/job_7");
        fs::create_dir_all(&job).unwrap();
        let point = folder.path().display();
        let two = format!("30 20 0:26 / {point} rw - cgroup2 cgroup2 rw\n");
        let one = format!("31 20 0:27 / {point} rw - cgroup cgroup rw,memory\n");
        let of_two = || read("0::/scope/job_7/step_0\n", &two, None).unwrap().limits;
        let of_one = || {
            let own = "9:memory:/scope/job_7/step_0\n7:cpuset:/scope/job_7\n";
            read(own, &one, None).unwrap().limits
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
