//! For tests: a folder that looks like the cgroup below which Slurm keeps a node's jobs, with programs that are named
//! as slurmstepd's.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, io, thread};

use berth_placement::CpuId;
use libc::pid_t;

use super::folder::Kind;
use super::place::OWN;
use super::{Folder, Place, Version};
use crate::affinity::{affinity_of, set_affinity};

/// A copy of a program with the name of slurmstepd, as a node runs it.
pub(super) fn program(dir: &Path) -> Child {
    program_named(dir, "slurmstepd", 0)
}

pub(super) fn program_named(dir: &Path, name: &str, uid: u32) -> Child {
    let program = dir.join(name);
    if !program.exists() {
        fs::copy("/bin/sleep", &program).unwrap();
    }
    // A child that another test forks meanwhile has the copy open for a moment.
    let started = (0..100).find_map(|_| {
        let started = Command::new(&program).arg("60").uid(uid).spawn();
        let is_busy = |why: &io::Error| why.kind() == io::ErrorKind::ExecutableFileBusy;
        match started.as_ref().err().is_some_and(is_busy) {
            true => {
                thread::sleep(Duration::from_millis(10));
                None
            }
            false => Some(started.unwrap()),
        }
    });
    started.unwrap()
}

/// A step, and its slurmstepd if it has one.
pub(super) fn step(dir: &Path, path: &str, stepd: Option<&Child>) {
    let own = dir.join(path).join(OWN);
    fs::create_dir_all(&own).unwrap();
    let text = stepd.map(|stepd| stepd.id().to_string());
    fs::write(own.join("cgroup.procs"), text.unwrap_or_default()).unwrap();
}

/// What a step's slurmstepd has waited for a CPU and used of one, in seconds.
pub(super) fn load(dir: &Path, path: &str, (waited, used): (u64, u64)) {
    let own = dir.join(path).join(OWN);
    let [waited, used] = [waited, used].map(|seconds| seconds * 1_000_000);
    fs::write(own.join("cpu.pressure"), format!("some total={waited}\n")).unwrap();
    fs::write(own.join("cpu.stat"), format!("usage_usec {used}\n")).unwrap();
}

/// The place of such a folder.
pub(super) fn place(dir: &Path) -> Place {
    Place {
        version: Version::V2,
        point: dir.into(),
        folders: Vec::new(),
    }
}

pub(super) fn open(dir: &Path) -> Folder {
    Folder::open_as(&place(dir), Kind::Any).unwrap()
}

pub(super) fn pid(child: &Child) -> pid_t {
    pid_t::try_from(child.id()).unwrap()
}

pub(super) fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Whether the tests may make real-time threads: as root, where the kernel has them.
pub(super) fn may_rise() -> bool {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let may = crate::priority::set_before_realtime(pid(&child)).is_ok();
    child.kill().unwrap();
    child.wait().unwrap();
    if !may {
        eprintln!("skipped: the kernel refuses SCHED_RR here");
    }
    may
}

/// Bounds for how many microseconds the real-time threads of a process run without a pause.
pub(super) fn bound(pid: pid_t, most: u64) {
    let most = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the kernel reads one record and writes none.
    let set = unsafe { libc::prlimit(pid, libc::RLIMIT_RTTIME, &most, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// A CPU that one test has for itself.
pub(super) struct OwnCpu(
    pub CpuId,
    #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
);

/// Moves this thread away from a CPU, and returns that; nothing where it has no other, or may not have more.
pub(super) fn own_cpu() -> Option<OwnCpu> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cpus = affinity_of(0).ok()?;
    let first = cpus
        .iter()
        .next()
        .filter(|_| cpus.count() > 1 && may_rise())?;
    let others = cpus.difference(&std::iter::once(first).collect());
    set_affinity(0, &others).ok()?;
    Some(OwnCpu(first, one))
}

/// A process that ends with the test, whatever becomes of that.
pub(super) struct Running(Child);

impl Running {
    /// One that uses a CPU all the time, and has begun to.
    pub(super) fn busy(cpu: &OwnCpu) -> Self {
        let mut child = Command::new("sh");
        child.args(["-c", "echo; while :; do :; done"]);
        let mut one = Self(child.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = [0];
        let mut output = one.0.stdout.take().unwrap();
        output.read_exact(&mut line).unwrap();
        let cpus = std::iter::once(cpu.0).collect();
        set_affinity(one.pid(), &cpus).unwrap();
        one
    }

    /// One beside which nobody else has the CPU, for two seconds at the most.
    pub(super) fn alone(cpu: &OwnCpu) -> Self {
        let one = Self::busy(cpu);
        bound(one.pid(), 2_000_000);
        let highest = libc::sched_param { sched_priority: 99 };
        // SAFETY: the kernel reads a record that lives until the call returns.
        let set = unsafe { libc::sched_setscheduler(one.pid(), libc::SCHED_FIFO, &highest) };
        assert_eq!(set, 0);
        one
    }

    pub(super) fn pid(&self) -> pid_t {
        pid(&self.0)
    }

    /// Sends it SIGKILL, and does not wait for its end.
    pub(super) fn kill(&mut self) {
        self.0.kill().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
