//! Real-time tasks whose fence does not hold: when the last CPU of a cgroup goes offline, the kernel lets its tasks run
//! on the CPUs of the folder above, and so on. On CPUs that are not their job's they must not go before everybody; and none
//! must where the kernel keeps no time for others.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: ordinary threads.

use berth_placement::CpuSet;

use super::job::TASKS;
use super::members::{processes_in, threads};
use super::{FenceError, Folder, Place, Version};
use crate::affinity::affinity_of;
use crate::priority::{is_of_pool, is_realtime, set_ordinary};

/// The most folders that are looked at, so that a strange tree costs little.
const MOST: usize = 20_000;
/// The same for those of one job that lie in folders of its user's (as the folder of a task in Slurm 22.05).
const MOST_OF_USER: usize = 1_024;
/// Folders below that of a step's tasks.
const DOWN: usize = 4;
/// A fence as it was written, whatever is online.
const CPUS: &str = "cpuset.cpus";

/// Threads of a job that were real-time ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The folder of the job, or where they were without it.
    pub path: String,
    /// How many there were.
    pub threads: usize,
}

/// Which threads become ordinary ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Real-time ones that can run on CPUs which are not their job's, or that no fence is around any more.
    Outside,
    /// All that pools have made real-time ones.
    OfPools,
}

/// Makes ordinary ones of all real-time threads that can run on CPUs which are not their job's.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn lower_outside(scope: &Place) -> Result<Vec<Outside>, FenceError> {
    lower(scope, Which::Outside)
}

/// Makes ordinary ones of all threads that pools have made real-time ones.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn lower_realtime(scope: &Place) -> Result<Vec<Outside>, FenceError> {
    lower(scope, Which::OfPools)
}

fn lower(scope: &Place, which: Which) -> Result<Vec<Outside>, FenceError> {
    let folder = scope.open()?;
    match folder.is_roots() && scope.version == Version::V2 {
        true => Ok(jobs(&folder, which)),
        false => Ok(Vec::new()),
    }
}

fn jobs(scope: &Folder, which: Which) -> Vec<Outside> {
    let mut left = MOST;
    let mut all = Vec::new();
    for job in below(scope, (&mut left, &mut 0)) {
        let fence = fence_of(&job, Some(&CpuSet::new()));
        // A user makes any number in a folder of his own: that is no other job's loss.
        let mut of_user = MOST_OF_USER;
        let mut inside = |folder: &Folder| below(folder, (&mut left, &mut of_user));
        let steps = inside(&job);
        let tasks = steps.iter().filter_map(|step| step.child(TASKS).ok());
        let count = tasks
            .map(|tasks| lowered(&tasks, (which, fence.as_ref()), DOWN, &mut inside))
            .sum();
        if count > 0 {
            all.push(Outside {
                path: job.path.clone(),
                threads: count,
            });
        }
    }
    all
}

/// The folders in one, as far as there are so many left of root's, or of a user's.
fn below(folder: &Folder, (roots, users): (&mut usize, &mut usize)) -> Vec<Folder> {
    let left = if folder.is_roots() { roots } else { users };
    let names = folder.children(*left);
    *left -= names.len();
    let open = |name: &String| folder.child(name).ok();
    names.iter().filter_map(open).collect()
}

/// The CPUs to which a folder confines, or those of the folder above where it confines to none of its own.
/// Nothing if the kernel does not say, here or above.
fn fence_of(folder: &Folder, above: Option<&CpuSet>) -> Option<CpuSet> {
    let above = above?;
    if !above.is_empty() {
        return Some(above.clone());
    }
    match folder.read(CPUS) {
        Ok(text) => CpuSet::from_list(&text).ok(),
        // No cpuset controller is there, or the folder has gone.
        Err(why) => is_absent(&why).then(CpuSet::new),
    }
}

fn is_absent(why: &FenceError) -> bool {
    matches!(why.errno(), Some(libc::ENOENT | libc::ENODEV))
}

/// The threads of the folder itself. Above a threaded folder, as a fence can be, `cgroup.procs` has the processes of all
/// below.
fn threads_in(folder: &Folder) -> Vec<libc::pid_t> {
    if let Ok(text) = folder.read("cgroup.threads") {
        let all = text.lines().filter_map(|line| line.parse().ok());
        return all.filter(|thread| *thread > 0).collect();
    }
    let all = threads(&processes_in(folder)).into_iter();
    all.map(|thread| thread.number).collect()
}

/// Whether a real-time thread can run on CPUs that are not its job's. Pools make none without a fence, so where there is
/// none any more their threads can; those that somebody else has made never had one.
fn is_outside(thread: libc::pid_t, fence: &CpuSet) -> bool {
    match fence.is_empty() {
        true => is_of_pool(thread),
        false => {
            is_realtime(thread) && affinity_of(thread).is_ok_and(|cpus| !cpus.is_subset(fence))
        }
    }
}

fn lowered(
    folder: &Folder,
    (which, above): (Which, Option<&CpuSet>),
    depth: usize,
    below: &mut impl FnMut(&Folder) -> Vec<Folder>,
) -> usize {
    let fence = fence_of(folder, above);
    let is_meant = |thread: libc::pid_t| match which {
        Which::OfPools => is_of_pool(thread),
        Which::Outside => fence
            .as_ref()
            .is_some_and(|fence| is_outside(thread, fence)),
    };
    let own = threads_in(folder).into_iter();
    let here = own
        .filter(|thread| is_meant(*thread) && set_ordinary(*thread).is_ok())
        .count();
    let deeper = match depth {
        0 => Vec::new(),
        _ => below(folder),
    };
    let deeper = deeper.iter();
    here + deeper
        .map(|child| lowered(child, (which, fence.as_ref()), depth - 1, below))
        .sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::{Child, Command};

    use super::super::folder::Kind;
    use super::*;
    use crate::affinity::set_affinity;
    use crate::priority::{set_before_realtime, set_realtime};

    fn put(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A scope with a job of one task, and the fences of both.
    fn scope(dir: &Path, (job, leaf): (&str, &str), pid: u32) -> Folder {
        let task = "job_1/step_0/user/task_0";
        put(dir, "job_1/cpuset.cpus", &format!("{job}\n"));
        put(dir, &format!("{task}/cpuset.cpus"), leaf);
        put(dir, &format!("{task}/cgroup.procs"), &pid.to_string());
        let place = Place {
            version: Version::V2,
            point: dir.into(),
            folders: Vec::new(),
        };
        Folder::open_as(&place, Kind::Any).unwrap()
    }

    /// A real-time process on some CPUs.
    fn task(cpus: &CpuSet) -> Option<Child> {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        set_affinity(pid, cpus).unwrap();
        match set_realtime(pid) {
            Ok(()) => Some(child),
            Err(why) => {
                eprintln!("skipped: the kernel refuses SCHED_RR here: {why}");
                child.kill().unwrap();
                child.wait().unwrap();
                None
            }
        }
    }

    #[test]
    fn behind_its_fence_alone_a_task_is_a_realtime_one() {
        let all = affinity_of(0).unwrap();
        let one: CpuSet = all.lowest().into_iter().collect();
        if all.count() < 2 {
            eprintln!("skipped: this machine has one CPU");
            return;
        }
        // The fence of the job, or that of the task alone; and whether the task can leave it.
        for (job, leaf, can_leave) in [
            (&one, None, false),
            (&one, None, true),
            (&one, Some(&one), true),
            (&CpuSet::new(), Some(&one), false),
            (&CpuSet::new(), Some(&one), true),
            // The job's other CPUs are its own.
            (&all, Some(&one), true),
            // Nothing holds it: its own mask is no fence.
            (&CpuSet::new(), None, false),
            (&CpuSet::new(), None, true),
        ] {
            let has_none = job.is_empty() && leaf.is_none();
            let expected = usize::from(has_none || can_leave && job != &all);
            let Some(mut child) = task(if can_leave { &all } else { &one }) else {
                return;
            };
            let dir = tempfile::tempdir().unwrap();
            let leaf_cpus = leaf.map_or_else(String::new, ToString::to_string);
            let pid = child.id();
            let folder = scope(dir.path(), (&job.to_string(), &leaf_cpus), pid);
            let count = |which| {
                jobs(&folder, which)
                    .iter()
                    .map(|one| one.threads)
                    .sum::<usize>()
            };
            let found = count(Which::Outside);
            let stays = is_realtime(pid as libc::pid_t);
            // Then nothing keeps time for others any more.
            let all = (count(Which::OfPools), is_realtime(pid as libc::pid_t));
            child.kill().unwrap();
            child.wait().unwrap();
            let told = format!("job {job}, task {leaf_cpus}, can leave: {can_leave}");
            assert_eq!((found, stays), (expected, expected == 0), "{told}");
            assert_eq!(all, (1 - expected, false), "{told}");
        }
    }

    #[test]
    fn without_a_fence_only_threads_of_pools_become_ordinary_ones() {
        let all = affinity_of(0).unwrap();
        let Some(mut child) = task(&all) else {
            return;
        };
        let pid = child.id() as libc::pid_t;
        let of_pool = is_outside(pid, &CpuSet::new());
        // One of another priority is no pool's.
        set_before_realtime(pid).unwrap();
        let of_others = (is_realtime(pid), is_outside(pid, &CpuSet::new()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((of_pool, of_others), (true, (true, false)));
    }
}
