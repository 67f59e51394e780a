//! Sets in the kernel how a task competes for its CPUs: real-time (`SCHED_RR`), or nice.
//! In: a process or thread id. Out: nothing, or the kernel's answer; and whether this kernel keeps a node with
//! real-time tasks alive.

use std::fs;
use std::io;
use std::mem::MaybeUninit;

use libc::{c_int, pid_t};

mod bound;
mod watch;

pub use bound::has_bound;
use bound::limit;
pub use watch::BeforePools;

/// The lowest real-time priority: kernel threads that are real-time ones themselves go first.
const PRIORITY: c_int = 1;
/// The highest one. A site's user may have real-time tasks of any priority. Ordinary threads have the kernel's 5 % beside
/// those, and a real-time thread of a lower priority has nothing: it would be worse off. The kernel's own threads for
/// interrupts (50) wait for it too.
const HIGHEST: c_int = 99;
/// How a thread is scheduled that goes before real-time tasks.
const FIRST: c_int = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
/// The least that the kernel gives a task, 1/68 of what it gives one at the usual priority.
const NICEST: c_int = 19;
/// From this release on ordinary tasks have 5 % of each CPU by the fair server, whatever the throttle says.
const FAIR_SERVER: (u32, u32) = (6, 12);
/// From this release on no CPU's real-time tasks use what the throttle leaves to those of other CPUs. Before it they did:
/// one CPU borrowed from idle ones until nothing of it was kept. Source: 2586af1ac187 (`RT_RUNTIME_SHARE` is off).
const OWN_RUNTIME: (u32, u32) = (5, 10);
/// Where root may switch that on or off, and sees it: before Linux 5.13, and since. Debugfs need not be there.
const FEATURES: [&str; 2] = [
    "/sys/kernel/debug/sched_features",
    "/sys/kernel/debug/sched/features",
];
/// From this release on cgroups have `cpu.idle`.
const IDLE_GROUPS: (u32, u32) = (5, 15);

fn answer(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn schedule(thread: pid_t, policy: c_int, priority: c_int) -> io::Result<()> {
    let mut asked = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: it is a record of numbers, and zeros are numbers.
    let asked = unsafe {
        asked.assume_init_mut().sched_priority = priority;
        asked.assume_init()
    };
    // SAFETY: the kernel reads the record, which lives until the call returns.
    answer(unsafe { libc::sched_setscheduler(thread, policy, &asked) })
}

/// Makes a task a real-time one that waits for its first instruction. Its children inherit that; it may go back, but
/// not come again.
///
/// # Errors
/// The kernel's answer.
pub fn set_realtime(pid: pid_t) -> io::Result<()> {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel reads one record and writes none.
    answer(unsafe { libc::prlimit(pid, libc::RLIMIT_RTPRIO, &none, std::ptr::null_mut()) })?;
    schedule(pid, libc::SCHED_RR, PRIORITY)
}

/// Lets a thread go before all real-time tasks; its children are ordinary ones, of the niceness 0 whatever it has itself.
///
/// # Errors
/// The kernel's answer.
pub fn set_before_realtime(thread: pid_t) -> io::Result<()> {
    schedule(thread, FIRST, HIGHEST)
}

/// Whether a thread with this policy has no priority of its own, and no deadline.
fn is_ordinary(policy: c_int) -> bool {
    matches!(
        policy & !libc::SCHED_RESET_ON_FORK,
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE
    ) && policy >= 0
}

/// Whether a thread is one of those: tasks of pools are none, for their children are real-time ones too.
#[must_use]
pub fn is_before_realtime(thread: pid_t) -> bool {
    policy(thread) == FIRST
}

/// Whether a thread is a real-time one; one that has ended is not.
#[must_use]
pub fn is_realtime(thread: pid_t) -> bool {
    let policy = policy(thread);
    matches!(
        policy & !libc::SCHED_RESET_ON_FORK,
        libc::SCHED_RR | libc::SCHED_FIFO
    ) && policy >= 0
}

/// Whether a thread has what [`set_realtime`] gives, and what a task of a pool has with it. It can let its children be
/// ordinary ones, as other programs that raise a user's threads do (`rtkit`), but it cannot change its priority.
#[must_use]
pub fn is_of_pool(thread: pid_t) -> bool {
    let is_ours = match policy(thread) {
        libc::SCHED_RR => true,
        // Tasks of pools get no rights by a program; those whom others raise may.
        FIRST => has_no_new_rights(thread),
        _ => false,
    };
    if !is_ours || priority(thread) != Some(PRIORITY) {
        return false;
    }
    limit(thread, libc::RLIMIT_RTPRIO).is_some_and(|limit| limit.rlim_max == 0)
}

/// Less than nothing for a thread that has ended.
fn policy(thread: pid_t) -> c_int {
    // SAFETY: it takes a number and touches no memory of ours.
    unsafe { libc::sched_getscheduler(thread) }
}

fn has_no_new_rights(thread: pid_t) -> bool {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let word = status
        .lines()
        .find_map(|line| line.strip_prefix("NoNewPrivs:"));
    word.is_some_and(|word| word.trim() == "1")
}

/// Nothing for a thread that has ended.
fn priority(thread: pid_t) -> Option<c_int> {
    let mut found = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: the kernel writes one record, which lives until the call returns.
    let read = unsafe { libc::sched_getparam(thread, found.as_mut_ptr()) };
    // SAFETY: zeros are a priority too, where the kernel has written none.
    (read == 0).then(|| unsafe { found.assume_init() }.sched_priority)
}

/// Makes a thread an ordinary one.
///
/// # Errors
/// The kernel's answer.
pub fn set_ordinary(thread: pid_t) -> io::Result<()> {
    schedule(thread, libc::SCHED_OTHER, 0)
}

/// Makes a task the nicest one. It cannot take that back.
///
/// # Errors
/// The kernel's answer.
pub fn set_nicest(pid: pid_t) -> io::Result<()> {
    let id = libc::id_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: it takes three numbers and touches no memory of ours.
    answer(unsafe { libc::setpriority(libc::PRIO_PROCESS, id, NICEST) })
}

/// Why no task of this host can be a real-time one: the kernel refuses it, or nothing would keep CPU time for others.
/// The calling thread is one for a moment, and its children never.
#[must_use]
pub fn realtime_obstacle() -> Option<String> {
    realtime_refusal().or_else(throttle_obstacle)
}

/// Why no thread in the caller's cgroup can be a real-time one, or why the kernel would end it for that. The calling thread
/// is one for a moment, and is scheduled afterwards as it was before (`CPUSchedulingPolicy=` of slurmd's unit); its
/// children never are.
#[must_use]
pub fn realtime_refusal() -> Option<String> {
    if let Some(why) = bound::obstacle() {
        return Some(why);
    }
    let before = policy(0);
    // Another one is no sign of a refusal, and could not be given back what it had.
    let try_it = || schedule(0, FIRST, PRIORITY);
    let tried = is_ordinary(before).then(try_it)?;
    let why = tried.and_then(|()| schedule(0, before, 0)).err()?;
    Some(format!(
        "the kernel refuses SCHED_RR ({why}); one with CONFIG_RT_GROUP_SCHED has none in cgroups of version 2, unless it \
         is started with rt_group_sched=0 (Linux 6.16)"
    ))
}

/// Why real-time tasks could take this host's CPUs for ever, as its settings are now.
#[must_use]
pub fn throttle_obstacle() -> Option<String> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    let number = |name| read(name).ok()?.trim().parse::<i64>().ok();
    let features = FEATURES
        .iter()
        .find_map(|path| fs::read_to_string(path).ok());
    throttle(
        (number("sched_rt_runtime_us"), number("sched_rt_period_us")),
        &read("osrelease").unwrap_or_default(),
        &features.unwrap_or_default(),
    )
}

/// Why no group of tasks can be an idle one on this host.
#[must_use]
pub fn idle_obstacle() -> Option<String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    no_idle(&release)
}

fn no_idle(release: &str) -> Option<String> {
    (numbers(release) < Some(IDLE_GROUPS))
        .then(|| format!("Linux {} has no cpu.idle; 5.15 has it", release.trim()))
}

/// The first two numbers of a release.
fn numbers(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit());
    let mut next = || numbers.next()?.parse::<u32>().ok();
    next().zip(next())
}

/// Why the kernel does not keep some of each CPU for ordinary tasks. In: the throttle's two numbers in microseconds, the
/// release, and the scheduler's features.
fn throttle(
    (runtime, period): (Option<i64>, Option<i64>),
    release: &str,
    features: &str,
) -> Option<String> {
    if numbers(release).is_some_and(|now| now >= FAIR_SERVER) {
        return None;
    }
    let set = runtime.zip(period);
    // The kernel throttles nobody at 0. Source: `sched_rt_runtime_exceeded` of kernel/sched/rt.c.
    if !set.is_some_and(|(runtime, period)| (1..period).contains(&runtime)) {
        return Some(
            "real-time tasks could take every CPU for ever here: set kernel.sched_rt_runtime_us above 0 and below \
             kernel.sched_rt_period_us (usual: 950000 of 1000000)"
                .into(),
        );
    }
    shares_runtime(release, features).then(|| {
        format!(
            "real-time tasks could take a CPU for ever here: Linux {} lets those of one CPU use what \
             kernel.sched_rt_runtime_us allows on the others (RT_RUNTIME_SHARE); use Linux 5.10 or later, or write \
             NO_RT_RUNTIME_SHARE to sched_features (from Linux 5.13 on sched/features) in /sys/kernel/debug",
            release.trim()
        )
    })
}

/// Whether one CPU's real-time tasks use what the throttle leaves to those of others. Vendors' kernels have old numbers,
/// and may have the change: there the features say it.
fn shares_runtime(release: &str, features: &str) -> bool {
    let has = |name| features.split_whitespace().any(|word| word == name);
    match (has("RT_RUNTIME_SHARE"), has("NO_RT_RUNTIME_SHARE")) {
        (true, _) => true,
        (_, true) => false,
        _ => numbers(release) < Some(OWN_RUNTIME),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_each_cpu_is_kept() {
        let kept =
            |runtime, release| throttle((Some(runtime), Some(1_000_000)), release, "").is_none();
        assert!(kept(950_000, "6.1.0-56-amd64") && kept(1, "5.10.1"));
        assert!(!kept(-1, "6.1.0-56-amd64") && !kept(1_000_000, "6.11.9"));
        // The kernel throttles nobody then.
        assert!(!kept(0, "5.10.1") && !kept(0, "6.11.9") && kept(0, "6.12.0"));
        assert!(kept(1_000_000, "6.12.107+deb13-amd64") && kept(-1, "7.2.13"));
        assert!(throttle((None, None), "", "").is_some());
    }

    #[test]
    fn what_is_kept_on_one_cpu_is_not_used_on_another() {
        let why = |release, features| throttle((Some(950_000), Some(1_000_000)), release, features);
        let (on, off) = (
            "GENTLE_FAIR_SLEEPERS RT_RUNTIME_SHARE NO_LB_MIN ",
            "GENTLE_FAIR_SLEEPERS NO_RT_RUNTIME_SHARE NO_LB_MIN ",
        );
        for release in [
            "4.18.0-553.el8_10.x86_64",
            "5.3.18-150300.59-default",
            "5.9.16",
            "",
        ] {
            let told = why(release, "").unwrap();
            assert!(
                told.contains("RT_RUNTIME_SHARE") && told.contains("5.10"),
                "{told}"
            );
            assert_eq!(why(release, off), None, "{release}");
            assert!(why(release, on).is_some());
        }
        for release in ["5.10.0-32-amd64", "6.1.0-56-amd64"] {
            assert_eq!(
                (why(release, ""), why(release, off)),
                (None, None),
                "{release}"
            );
            // Somebody has switched it on.
            assert!(why(release, on).is_some(), "{release}");
        }
        assert_eq!(why("6.12.0", on), None);
    }

    #[test]
    fn groups_of_tasks_can_be_idle_from_5_15_on() {
        let why = no_idle("5.10.0-32-amd64\n").unwrap();
        assert_eq!(why, "Linux 5.10.0-32-amd64 has no cpu.idle; 5.15 has it");
        for release in ["5.15.0", "5.16", "6.1.0-56-amd64", "10.0.1"] {
            assert_eq!(no_idle(release), None, "{release}");
        }
        assert!(no_idle("4.18.0").is_some() && no_idle("").is_some());
    }

    #[test]
    fn the_thread_that_tries_stays_as_it_was() {
        for own in [libc::SCHED_BATCH, libc::SCHED_IDLE, libc::SCHED_OTHER] {
            let tried = std::thread::spawn(move || {
                schedule(0, own, 0).unwrap();
                let _ = realtime_refusal();
                policy(0)
            });
            assert_eq!(tried.join().unwrap(), own);
        }
    }

    /// A task of a pool stays one, whatever its children shall be.
    #[test]
    fn a_task_that_lets_its_children_be_ordinary_is_a_pools() {
        let mut child = std::process::Command::new("setpriv")
            .args(["--no-new-privs", "sleep", "60"])
            .spawn()
            .unwrap();
        let pid = child.id() as pid_t;
        while !has_no_new_rights(pid) {
            std::thread::yield_now();
        }
        let is_set = set_realtime(pid).and_then(|()| schedule(pid, FIRST, PRIORITY));
        let is_ours = is_of_pool(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        match is_set {
            Ok(()) => assert!(is_ours),
            Err(why) => eprintln!("skipped: the kernel refuses SCHED_RR here: {why}"),
        }
    }

    #[test]
    fn a_waiting_child_becomes_a_realtime_one_and_goes_back() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id() as pid_t;
        assert!(!is_realtime(pid));
        // Only root may, and not everywhere.
        if set_realtime(pid).is_ok() {
            assert!(is_realtime(pid) && is_of_pool(pid));
            // What every thread may do itself, and what others do.
            schedule(pid, FIRST, PRIORITY).unwrap();
            assert!(is_realtime(pid) && !is_of_pool(pid), "it may get rights");
            schedule(pid, libc::SCHED_RR, PRIORITY + 1).unwrap();
            assert!(!is_of_pool(pid), "another program's");
            schedule(pid, libc::SCHED_RR, PRIORITY).unwrap();
            set_ordinary(pid).unwrap();
            assert!(!is_of_pool(pid));
        } else {
            eprintln!("skipped: the kernel refuses SCHED_RR here");
        }
        assert!(!is_realtime(pid));
        set_nicest(pid).unwrap();
        // The sixteenth field behind the name.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let nice = stat.rsplit(')').next().unwrap().split_whitespace().nth(16);
        assert_eq!(nice, Some("19"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_realtime(pid) && set_realtime(pid).is_err());
    }
}
