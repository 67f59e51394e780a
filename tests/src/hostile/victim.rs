//! One cluster under attack: what slurmd and another user's launches pay for it.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::client::{Attacker, Job};
use crate::builder::Builder;
use crate::cluster::Cluster;
use crate::output::Done;
use crate::process;

/// Jobs share the node's CPUs, so that nobody waits for a place of theirs.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";

/// A launch that waits is timed; it is no error before that.
const PATIENT: &str = "MessageTimeout=100";

/// A slurmd that takes more address space is refused it, so that a test that fails ends no other
/// process of this machine.
const MOST: u64 = 4 << 30;

/// A cluster with one node that is attacked.
#[derive(Debug)]
pub struct Victim {
    cluster: Cluster,
    slurmd: i32,
    is_stock: bool,
}

/// What an attack cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Toll {
    /// The most memory that slurmd had beyond what it had before, in KiB.
    pub memory: u64,
    /// The longest that another user's `srun true` took meanwhile.
    pub bystander: Duration,
    /// What it took before.
    pub launch: Duration,
}

impl Victim {
    /// Starts the cluster.
    #[must_use]
    pub fn start(builder: Builder) -> Self {
        let cluster = builder.set(SHARED).set(PATIENT).up();
        let slurmd = slurmd_of(&cluster);
        limit(slurmd, "--as", MOST);
        Self {
            cluster,
            slurmd,
            is_stock: false,
        }
    }

    /// The same for stock Slurm, where a bystander's launch may fail: that counts as one that waited.
    #[must_use]
    pub fn of_stock(builder: Builder) -> Self {
        Self {
            is_stock: true,
            ..Self::start(builder)
        }
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// slurmd's process: from 23.11 on one that is told to reconfigure starts another in its place,
    /// and says which.
    #[must_use]
    pub fn slurmd(&self) -> i32 {
        let log = self.cluster.slurmd_log();
        let said = log.rsplit_once("Relinquishing control to new slurmd process (");
        let pid = said.and_then(|(_, rest)| rest.split(')').next()?.parse().ok());
        pid.unwrap_or(self.slurmd)
    }

    /// Attacks, with another user's launches beside it, one after the other until it ends.
    ///
    /// # Panics
    /// Where the node does not stand it: slurmd ended, the node drained, a bystander refused, or a
    /// line in the log that a user wrote.
    pub fn attacked(&self, attack: impl FnOnce(&Attacker<'_>) + Send) -> Toll {
        let job = Job::of_root(&self.cluster, &["-n1"]);
        let (place, own) = (job.option(), ["--overlap", "-n1", "true"]);
        let arguments = [&["--kill-after=5", "100", "srun", &*place], &own[..]].concat();
        let timed = || {
            let start = Instant::now();
            let output = self.cluster.program("timeout").args(&arguments).output();
            let done = Done::from(output.expect("srun can be run"));
            (start.elapsed(), done)
        };
        timed().1.expect_ok();
        let (launch, done) = timed();
        done.expect_ok();
        self.forget_peak();
        let before = self.kib("VmRSS");
        let attacker = Attacker::new(&self.cluster);
        let over = AtomicBool::new(false);
        let mut bystander = Duration::ZERO;
        std::thread::scope(|threads| {
            let attack = threads.spawn(|| {
                attack(&attacker);
                over.store(true, Ordering::Relaxed);
            });
            let fallen = GiveUp(&attacker);
            while !over.load(Ordering::Relaxed) && !attack.is_finished() {
                let (took, done) = timed();
                bystander = bystander.max(took);
                self.alive();
                // slurmctld answers nobody while it reads its configuration, and from 23.11 on forgets
                // who waits for a step; that is not the node's.
                let busy = ["Unable to create step", "Unable to confirm allocation"];
                let controller = busy.iter().any(|words| done.stderr.contains(words));
                assert!(
                    done.ok() || controller || self.is_stock,
                    "a bystander's launch: {done:#?}"
                );
            }
            std::mem::forget(fallen);
        });
        drop(job);
        self.stands();
        Toll {
            memory: self.kib("VmHWM").saturating_sub(before),
            bystander,
            launch,
        }
    }

    /// The daemon is the one that started, its node is idle, and its log is its own.
    ///
    /// # Panics
    /// Where it is not so.
    pub fn stands(&self) {
        self.alive();
        let user = super::USER.to_string();
        let _ = self.cluster.program("scancel").args(["-u", &user]).output();
        self.cluster.wait_idle();
        self.alive();
        clean(&self.cluster.slurmd_log());
    }

    fn alive(&self) {
        let state = process::status(self.slurmd(), "State");
        let lives = state
            .as_deref()
            .is_some_and(|state| !state.starts_with('Z'));
        let log = self.cluster.slurmd_log();
        let tail: Vec<_> = log.lines().rev().take(5).collect();
        assert!(lives, "slurmd is gone: {tail:#?}");
    }

    /// From here on the kernel counts slurmd's greatest memory anew.
    fn forget_peak(&self) {
        let file = format!("/proc/{}/clear_refs", self.slurmd());
        std::fs::write(file, "5").expect("root may forget a peak");
    }

    fn kib(&self, field: &str) -> u64 {
        let text = process::status(self.slurmd(), field).unwrap_or_default();
        let number = text.split_whitespace().next().unwrap_or_default();
        number
            .parse()
            .unwrap_or_else(|_| panic!("{field} of slurmd: {text:?}"))
    }
}

/// Ends an attack whose bystander has failed.
struct GiveUp<'a>(&'a Attacker<'a>);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Sets a limit of a running process, as `prlimit` of util-linux names it.
///
/// # Panics
/// Where it cannot be set.
pub fn limit(pid: i32, name: &str, value: u64) {
    let done = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("{name}={value}")])
        .status();
    assert!(done.is_ok_and(|status| status.success()), "prlimit {name}");
}

/// slurmd's process id, from its own file.
fn slurmd_of(cluster: &Cluster) -> i32 {
    let pids = process::find("slurmd", &cluster.folder().to_string_lossy());
    match pids[..] {
        [pid] => pid,
        _ => panic!("one slurmd in {}: {pids:?}", cluster.folder().display()),
    }
}

/// What users write behind a line break: it begins as Slurm's own lines do, at no time of ours.
pub const FORGED: &str = "[2026-01-01T00:00:00.000] a user says that all is well";

/// No line is a user's, none has control characters, none is endless. (Daemons that write at the
/// same time tear each other's lines, so that not every line begins with a time.)
fn clean(log: &str) {
    for line in log.lines() {
        assert!(
            !line.starts_with(FORGED),
            "a line that a user wrote: {line:.300}"
        );
        assert!(
            line.len() < 20_000,
            "a line of {} bytes: {line:.300}",
            line.len()
        );
        let control = line.chars().find(|char| char.is_control());
        assert!(control.is_none(), "{control:?} in a line: {line:?}");
    }
}
