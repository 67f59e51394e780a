//! The program that the steps run: holds a lock on each CPU that it is bound to, for as long as it
//! lives, and writes down whom it meets there.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use berth_tests::process::own_status;
use nix::fcntl::{Flock, FlockArg};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, getpid, getppid};

use crate::hotplug;
use crate::processes::start_of;

/// How long a dead step's task may still hold its locks.
const DYING: Duration = Duration::from_secs(5);

/// slurmd plans a step before its slurmstepd starts; on a machine that is full, so long before.
const PLANNED: Duration = Duration::from_secs(15);

/// The file that says that tasks outlive a slurmstepd that is killed, and keep their CPUs.
pub const OUTLIVE: &str = "outlive";

/// Who holds a CPU, as it stands in the lock's file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holder {
    job: String,
    step: String,
    overlap: bool,
    stepd: i32,
    start: String,
    /// The task itself: what stands in the file may be of the one before, until whoever got the lock has written.
    task: i32,
    began: String,
}

impl Holder {
    /// Nothing if the task's slurmstepd was killed before it could be told to end with it: its CPUs are nobody's then.
    fn own(kind: &str) -> Option<Self> {
        let stepd = getppid().as_raw();
        let parent = fs::read_to_string(format!("/proc/{stepd}/comm")).ok()?;
        if parent.trim() != "slurmstepd" {
            return None;
        }
        Some(Self {
            job: std::env::var("SLURM_JOB_ID").ok()?,
            step: std::env::var("SLURM_STEP_ID").ok()?,
            overlap: kind == "overlap",
            stepd,
            start: start_of(stepd)?,
            task: getpid().as_raw(),
            began: start_of(getpid().as_raw())?,
        })
    }

    fn read(file: &File) -> Option<Self> {
        let mut bytes = [0; 128];
        let length = file.read_at(&mut bytes, 0).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..length)?).into_owned();
        let mut words = text.split_whitespace().map(String::from);
        Some(Self {
            job: words.next()?,
            step: words.next()?,
            overlap: words.next()? == "true",
            stepd: words.next()?.parse().ok()?,
            start: words.next()?,
            task: words.next()?.parse().ok()?,
            began: words.next()?,
        })
    }

    fn write(&self, file: &File) {
        let text = format!(
            "{} {} {} {} {} {} {}",
            self.job, self.step, self.overlap, self.stepd, self.start, self.task, self.began
        );
        let _ = file.write_all_at(format!("{text:127}\n").as_bytes(), 0);
    }

    /// How long its slurmstepd has run. The clock of /proc counts hundredths of seconds (proc(5)).
    fn age(&self) -> Duration {
        let now = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
        let start = Duration::from_millis(self.start.parse().unwrap_or(0) * 10);
        now.saturating_sub(start)
    }

    /// Whether it holds its CPUs. Where Slurm keeps steps in cgroups, a task does so beyond its slurmstepd.
    fn lives(&self, outlives: bool) -> bool {
        let lives = |pid, start: &String| start_of(pid).as_ref() == Some(start);
        lives(self.task, &self.began) && (outlives || lives(self.stepd, &self.start))
    }
}

/// Runs until its time is up. Where Slurm has no cgroup for its step it ends with its slurmstepd.
pub fn run(folder: &str, kind: &str) -> ExitCode {
    let folder = PathBuf::from(folder);
    if !folder.join(OUTLIVE).exists() {
        let _ = set_pdeathsig(Signal::SIGKILL);
    }
    let Some(own) = Holder::own(kind) else {
        return ExitCode::SUCCESS;
    };
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    // With a cpuset of its own a task holds what the kernel lets it use, which is all of that.
    let is_set = kind == "cpuset" && !env("BERTH_CPUSET_INFO").is_empty();
    let bound = is_set || !env("BERTH_BINDING_CORES").is_empty();
    tell(&folder, if bound { "bound" } else { "unbound" }, "");
    if ["cpuset", "plain"].contains(&kind) && env("BERTH_BOUND") == "1" {
        widen(&folder, &own);
    }
    let cpus = berth_placement::CpuSet::from_list(&env("BERTH_CPUS")).unwrap_or_default();
    if bound && folder.join("real").exists() {
        let kernel = own_status("Cpus_allowed_list");
        if kernel != env("BERTH_CPUS") {
            let said = format!("{own:?}: told {cpus}, the kernel says {kernel:?}");
            let what = match plugged(&folder, own.age()) || !are_online(&cpus) {
                true => "moved",
                false => "differs",
            };
            tell(&folder, what, &said);
        }
    }
    let mut held = Vec::new();
    for cpu in cpus.iter().filter(|_| bound) {
        held.extend(take(&folder, &own, cpu.0));
    }
    std::thread::sleep(Duration::from_millis(fastrand::u64(0..150)));
    ExitCode::SUCCESS
}

/// Whether a CPU went off or on since a step may have been planned whose slurmstepd is so old: the kernel moves tasks off
/// such a CPU.
fn plugged(folder: &Path, age: Duration) -> bool {
    let changed = fs::metadata(folder.join(hotplug::MARK)).and_then(|found| found.modified());
    changed.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < age + PLANNED))
}

/// Whether these CPUs are online. One that goes offline after its step was planned is refused by the kernel, and slurmd's log
/// says so.
fn are_online(cpus: &berth_placement::CpuSet) -> bool {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    berth_placement::CpuSet::from_list(text.trim()).is_ok_and(|online| cpus.is_subset(&online))
}

/// A fenced task asks for every CPU, and gets its own.
fn widen(folder: &Path, own: &Holder) {
    let before = sched_getaffinity(Pid::from_raw(0));
    let mut all = CpuSet::new();
    for cpu in 0..CpuSet::count() {
        let _ = all.set(cpu);
    }
    let _ = sched_setaffinity(Pid::from_raw(0), &all);
    let after = sched_getaffinity(Pid::from_raw(0));
    if before.is_err() || before != after {
        tell(
            folder,
            "escaped",
            &format!("{own:?}: {before:?} became {after:?}"),
        );
    }
}

/// Locks a CPU's file, or writes down who has it.
fn take(folder: &Path, own: &Holder, cpu: u32) -> Option<Flock<File>> {
    let since = Instant::now();
    let outlives = folder.join(OUTLIVE).exists();
    let open = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(folder.join(cpu.to_string())).ok()
    };
    let mut file = open()?;
    loop {
        file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => {
                own.write(&held);
                return Some(held);
            }
            Err((file, _)) => file,
        };
        let other = Holder::read(&file);
        match other {
            // Its writer has the lock and not written yet, or is just going.
            None => {}
            Some(other) if other.job == own.job && other.step == own.step => return None,
            Some(other) if other.lives(outlives) => {
                let shares = other.job == own.job && (other.overlap || own.overlap);
                let what = if shares { "shared" } else { "collisions" };
                let again = Holder::read(&file);
                if again.as_ref() == Some(&other) && is_held(&file) {
                    tell(folder, what, &format!("CPU {cpu}: {own:?} meets {other:?}"));
                    return None;
                }
            }
            Some(_) => {}
        }
        if since.elapsed() > DYING {
            tell(folder, "lingering", &format!("CPU {cpu}: {own:?}"));
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the one who was read still has the lock.
fn is_held(file: &File) -> bool {
    let Ok(again) = file.try_clone() else {
        return false;
    };
    Flock::lock(again, FlockArg::LockSharedNonblock).is_err()
}

/// One line in a file of what happened.
fn tell(folder: &Path, what: &str, text: &str) {
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).open(folder.join(what));
    let _ = file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()));
}
