//! One slurmctld with its nodes: runs commands of Slurm to their end, or to where they wait.
//! In: a cluster's shapes, and commands. Out: what they printed, and what slurmctld logged meanwhile.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::log::LoggedJob;
use super::world::World;
use crate::Cluster;

/// How long one line may take, at least.
const PATIENCE: Duration = Duration::from_secs(10);
/// From then on it is looked at whether slurmctld lives.
const SUSPECT: Duration = Duration::from_secs(2);
/// Between two looks that cost nothing.
pub(super) const TICK: Duration = Duration::from_millis(3);
/// Between two looks of which each starts a program.
const PAUSE: Duration = Duration::from_millis(10);

/// From then on, at the earliest, it is looked at whether a step waits: srun says so much later.
const SLOW: Duration = Duration::from_millis(150);

/// slurmctld and its slurmds.
pub(super) struct Controller {
    /// Its programs and files.
    pub cluster: Cluster,
    /// What stands before n1, n2, … in the real names of the nodes.
    prefix: String,
    /// How long the first job took: an emulated machine is many times slower than another.
    first: Duration,
}

/// A command that has ended, or was stopped because it waits.
pub(super) struct Outcome {
    pub output: String,
    pub log: String,
    pub job_waits: bool,
    pub step_waits: bool,
    pub killed: bool,
}

impl Controller {
    /// Starts it.
    ///
    /// # Errors
    /// What `ci/cluster` said.
    pub fn up(world: &World) -> Result<Self, String> {
        let mut builder = Cluster::builder()
            .plugstack(None)
            .task_plugin("task/none")
            .set("DebugFlags=CPU_Bind");
        for line in &world.settings {
            builder = builder.set(line);
        }
        for words in &world.shapes {
            builder = builder.shape(words);
        }
        let cluster = builder.try_up().map_err(|done| done.stderr)?;
        let shown = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).expect_ok();
        let first = shown.split_whitespace().next().unwrap_or_default();
        Ok(Self {
            prefix: first.trim_end_matches("n1").to_string(),
            cluster,
            first: Duration::ZERO,
        })
    }

    /// Runs the first job. A partition without a past knows no cores yet.
    pub fn warm_up(&mut self) {
        let start = Instant::now();
        self.outcome(self.command("salloc", "-n1", &["true"]));
        self.first = start.elapsed();
        self.settle();
    }

    /// How long one line may take here.
    pub fn patience(&self) -> Duration {
        PATIENCE.max(self.first * 30)
    }

    /// Whether slurmctld runs.
    pub fn lives(&self) -> bool {
        let file = self.cluster.folder().join("run/slurmctld.pid");
        let pid = fs::read_to_string(file).unwrap_or_default();
        !pid.trim().is_empty() && fs::exists(format!("/proc/{}", pid.trim())).unwrap_or(false)
    }

    /// Runs a command to its end, or to where it waits; then its job is cancelled.
    pub fn outcome(&self, mut command: Command) -> Outcome {
        let from = self.log_length();
        let path = self.cluster.folder().join("run/asked");
        let file = File::create(&path).expect("a file in the cluster's folder");
        let errors = file.try_clone().expect("a second handle of a file");
        let child = command.stdout(file).stderr(errors).process_group(0).spawn();
        let mut child = child.unwrap_or_else(|why| panic!("{command:?}: {why}"));
        let mut outcome = Outcome {
            output: String::new(),
            log: String::new(),
            job_waits: false,
            step_waits: false,
            killed: false,
        };
        let start = Instant::now();
        let ended = loop {
            let ended = child.try_wait().expect("a child").is_some();
            outcome.output = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into();
            let says = |words: &str| outcome.output.contains(words);
            outcome.job_waits = says("queued and waiting") && !says("has been allocated");
            outcome.step_waits = says("step creation temporarily disabled")
                || (!ended && start.elapsed() > SLOW.max(self.first * 2) && self.a_step_waits());
            let late = start.elapsed() > self.patience();
            outcome.killed = start.elapsed() > SUSPECT && !ended && !self.lives();
            if outcome.job_waits && !ended {
                outcome.output += &format!("\nreason {}", self.reason(&outcome.output));
            }
            if ended || late || outcome.killed || outcome.job_waits || outcome.step_waits {
                break ended;
            }
            sleep(TICK);
        };
        outcome.log = self.log_from(from);
        if !ended {
            stop(&mut child, outcome.killed || !self.cancel());
            // 22.05 forgets some steps that wait; their srun waits on.
            outcome.step_waits |= !outcome.killed && !outcome.job_waits;
        }
        outcome
    }

    /// Whether slurmctld has a step that waits.
    fn a_step_waits(&self) -> bool {
        sleep(SLOW);
        self.shown("scontrol", &["show", "step"])
            .contains("State=PENDING")
    }

    /// Why the job waits that the output names.
    fn reason(&self, output: &str) -> String {
        let line = output
            .lines()
            .find(|line| line.contains("queued and waiting"));
        let words: Vec<_> = line.unwrap_or_default().split(' ').collect();
        let at = words.iter().position(|word| *word == "queued").unwrap_or(1);
        let id = words.get(at.saturating_sub(1)).copied().unwrap_or_default();
        self.squeue(&["-j", id, "-o", "%r"]).trim().into()
    }

    /// Cancels every job; whether slurmctld took it.
    fn cancel(&self) -> bool {
        let jobs = self.squeue(&["-o", "%A"]);
        let words: Vec<_> = ["-Q"].into_iter().chain(jobs.split_whitespace()).collect();
        words.len() == 1 || self.cluster.run("scancel", &words).ok()
    }

    /// Waits until no job is left, and no node is at the end of one: such a node takes no job.
    pub fn settle(&self) {
        let start = Instant::now();
        let mut cancelled = false;
        while start.elapsed() < self.patience() && self.lives() {
            let jobs = !self.squeue(&["-o", "%A"]).trim().is_empty();
            let nodes = self.shown("sinfo", &["-h", "-o", "%T"]);
            // A star stands behind the state of a node that has not answered.
            let ready = !nodes.contains("completing") && !nodes.contains('*');
            if !jobs && ready {
                return;
            }
            if jobs && !cancelled {
                cancelled = self.cancel();
            }
            sleep(PAUSE);
        }
    }

    pub fn squeue(&self, words: &[&str]) -> String {
        self.shown("squeue", &[&["-h"], words].concat())
    }

    /// What a program printed.
    fn shown(&self, program: &str, words: &[&str]) -> String {
        let output = self.cluster.program(program).args(words).output();
        output.map_or(String::new(), |output| {
            String::from_utf8_lossy(&output.stdout).into()
        })
    }

    /// `PROGRAM OPTIONS MORE…`, with the real names of nodes.
    pub fn command(&self, program: &str, options: &str, more: &[&str]) -> Command {
        let mut command = self.cluster.program(program);
        command.args(self.words(options)).args(more);
        command
    }

    pub fn words(&self, options: &str) -> Vec<String> {
        let is_node = |word: &str| {
            let number = word.strip_prefix('n');
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let real = |word: &str| match is_node(word) {
            true => format!("{}{word}", self.prefix),
            false => word.to_string(),
        };
        options.split_whitespace().map(real).collect()
    }

    pub fn short(&self, text: &str) -> String {
        text.replace(&self.prefix, "")
    }

    pub fn renamed(&self, mut job: LoggedJob) -> LoggedJob {
        let all = std::mem::take(&mut job.nodes).into_iter();
        job.nodes = all
            .map(|(name, value)| (self.short(&name), value))
            .collect();
        job
    }

    fn log_path(&self) -> PathBuf {
        self.cluster.folder().join("log/slurmctld.log")
    }

    pub fn log_length(&self) -> u64 {
        fs::metadata(self.log_path()).map_or(0, |file| file.len())
    }

    pub fn log_from(&self, from: u64) -> String {
        let all = fs::read(self.log_path()).unwrap_or_default();
        let rest = all.get(from as usize..).unwrap_or_default();
        String::from_utf8_lossy(rest).into()
    }
}

/// Ends a command that was stopped; one that ended is only waited for.
fn stop(child: &mut Child, at_once: bool) {
    let start = Instant::now();
    while !at_once && start.elapsed() < SUSPECT {
        if child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        sleep(TICK);
    }
    if let Ok(pid) = child.id().try_into() {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.wait();
}
