//! Asks one slurmctld: submits a line, waits for the answer, and reads it from squeue and the log.
//! In: a cluster that is up, and a line. Out: the job's and the first step's answer.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::log::{self, LoggedJob};
use super::record::{JobTruth, StepTruth};
use super::scontrol;
use super::world::World;
use crate::Cluster;

/// How long one line may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// From then on it is looked at whether slurmctld lives.
const SUSPECT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(3);

/// From then on it is looked at whether a step waits: srun says so much later.
const SLOW: Duration = Duration::from_millis(150);
/// What salloc runs: the job as it is, then the step.
const SHOW: &str = "scontrol show job -d $SLURM_JOB_ID";

/// One slurmctld with its nodes.
pub(super) struct Asked {
    cluster: Cluster,
    /// Threads of a core of each node, where slurmctld logs no cores.
    linear: Option<Vec<u32>>,
    /// What stands before n1, n2, … in the real names of the nodes.
    prefix: String,
    /// Jobs that stay.
    pub busy: Vec<u32>,
}

/// A job's and a first step's answer, as [`Asked::ask`] finds them.
pub(super) type Answers = (JobTruth, Option<StepTruth>);

/// A command that has ended, or was stopped because it waits.
struct Outcome {
    output: String,
    log: String,
    job_waits: bool,
    step_waits: bool,
    killed: bool,
}

impl Asked {
    /// Starts it. One job has run when this returns: a partition without a past knows no cores yet.
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
        let asked = Self {
            linear: world.linear.then(|| world.threads.clone()),
            prefix: first.trim_end_matches("n1").to_string(),
            cluster,
            busy: Vec::new(),
        };
        asked.outcome(asked.command("salloc", "-n1", &["true"]));
        asked.settle();
        Ok(asked)
    }

    /// Starts a job that stays. `None` if it does not start at once.
    pub fn occupy(&mut self, options: &str) -> Option<LoggedJob> {
        let outcome = self.outcome(self.command("salloc", options, &["--no-shell"]));
        let job = self.job_of(&outcome).filter(|_| !outcome.job_waits);
        self.busy.extend(job.as_ref().map(|job| job.id));
        self.settle();
        job.map(|job| self.renamed(job))
    }

    /// Ends a job that stayed.
    pub fn free(&mut self, id: u32) {
        self.cluster.run("scancel", &["-Q", &id.to_string()]);
        self.busy.retain(|known| *known != id);
        self.settle();
    }

    /// The answer to a line, and to its first step: salloc's is given, srun's is its own. `None` if
    /// slurmctld died of it.
    pub fn ask(&self, command: &str, options: &str, step: Option<&str>) -> Option<Answers> {
        let outcome = match (command, step) {
            ("srun", _) => self.outcome(self.command("srun", options, &["true"])),
            ("salloc", Some(step)) => {
                let script = format!("{SHOW}; exec srun \"$@\" true");
                let mut command = self.command("salloc", options, &["sh", "-c", &script, "sh"]);
                command.args(self.words(step));
                self.outcome(command)
            }
            ("salloc", None) => self.outcome(self.command("salloc", options, &["sh", "-c", SHOW])),
            _ => self.batch(options),
        };
        let has_step = command == "srun" || step.is_some();
        let job = self.job_of(&outcome);
        let truth = self.job_truth(&outcome, job.as_ref());
        let step = job
            .filter(|_| has_step)
            .map(|job| match log::first_step(&outcome.log, &job) {
                _ if outcome.killed => StepTruth::Killed,
                Some(cores) => StepTruth::Granted(
                    cores
                        .into_iter()
                        .map(|(name, cores)| (self.short(&name), cores))
                        .collect(),
                ),
                None if outcome.step_waits => StepTruth::Waits,
                None => StepTruth::Refused(self.short(&complaint(&outcome.output))),
            });
        if outcome.killed && step.is_none() {
            return None;
        }
        self.settle();
        Some((truth, step))
    }

    /// Whether the job may wait only because a node was still busy with the end of another job.
    pub fn is_doubtful(answers: &Answers) -> bool {
        matches!(&answers.0, JobTruth::Pending(reason) if reason == "Resources")
    }

    /// Whether slurmctld runs.
    pub fn lives(&self) -> bool {
        let file = self.cluster.folder().join("run/slurmctld.pid");
        let pid = fs::read_to_string(file).unwrap_or_default();
        !pid.trim().is_empty() && fs::exists(format!("/proc/{}", pid.trim())).unwrap_or(false)
    }

    fn job_truth(&self, outcome: &Outcome, job: Option<&LoggedJob>) -> JobTruth {
        if outcome.job_waits {
            let reason = outcome
                .output
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix("reason "));
            return JobTruth::Pending(reason.unwrap_or("unknown").into());
        }
        let Some(job) = job else {
            return JobTruth::Refused(self.short(&complaint(&outcome.output)));
        };
        JobTruth::Granted {
            cpus: scontrol::cpus(&outcome.output),
            nodes: self.renamed(job.clone()).nodes,
        }
    }

    /// The job as slurmctld logs it, or as scontrol showed it.
    fn job_of(&self, outcome: &Outcome) -> Option<LoggedJob> {
        match &self.linear {
            None => log::job(&outcome.log),
            Some(threads) => scontrol::job(&outcome.output, threads),
        }
    }

    /// An sbatch ends at once; its job is decided a moment later.
    fn batch(&self, options: &str) -> Outcome {
        let command = self.command(
            "sbatch",
            options,
            &["--parsable", "-o", "/dev/null", "--wrap", "sleep 60"],
        );
        let from = self.log_length();
        let mut outcome = self.outcome(command);
        let id = outcome
            .output
            .lines()
            .find_map(|line| line.trim().parse::<u32>().ok());
        let Some(id) = id else {
            return outcome;
        };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let id = id.to_string();
            let shown = self.squeue(&["-j", &id, "-o", "%T %r"]);
            match shown.trim().split(' ').collect::<Vec<_>>()[..] {
                ["PENDING", "None"] => sleep(TICK),
                ["PENDING", reason] => {
                    outcome.job_waits = true;
                    outcome.output += &format!("\nreason {reason}");
                    break;
                }
                ["RUNNING", _] => {
                    let shown = self.cluster.scontrol(&["show", "job", "-d", &id]);
                    outcome.output += &shown.stdout;
                    break;
                }
                _ => sleep(TICK),
            }
        }
        outcome.log = self.log_from(from);
        outcome
    }

    /// Runs a command to its end, or to where it waits; then its job is cancelled.
    fn outcome(&self, mut command: Command) -> Outcome {
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
                || (!ended && start.elapsed() > SLOW && self.a_step_waits());
            let late = start.elapsed() > PATIENCE;
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

    /// Cancels every job that does not stay; whether slurmctld took it.
    fn cancel(&self) -> bool {
        let others = self.others();
        if others.is_empty() {
            return true;
        }
        let words: Vec<_> = ["-Q".to_string()].into_iter().chain(others).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        self.cluster.run("scancel", &words).ok()
    }

    fn others(&self) -> Vec<String> {
        let stays = |id: &&str| id.parse().is_ok_and(|id| self.busy.contains(&id));
        let shown = self.squeue(&["-o", "%A"]);
        shown
            .split_whitespace()
            .filter(|id| !stays(id))
            .map(String::from)
            .collect()
    }

    /// Waits until no other job is left, and no node is at the end of one: such a node takes no job.
    fn settle(&self) {
        let start = Instant::now();
        while start.elapsed() < PATIENCE && self.lives() {
            if self.others().is_empty() {
                if !self.shown("sinfo", &["-h", "-o", "%T"]).contains("comp") {
                    return;
                }
            } else {
                self.cancel();
            }
            sleep(TICK);
        }
    }

    fn squeue(&self, words: &[&str]) -> String {
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
    fn command(&self, program: &str, options: &str, more: &[&str]) -> Command {
        let mut command = self.cluster.program(program);
        command.args(self.words(options)).args(more);
        command
    }

    fn words(&self, options: &str) -> Vec<String> {
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

    fn short(&self, text: &str) -> String {
        text.replace(&self.prefix, "")
    }

    fn renamed(&self, mut job: LoggedJob) -> LoggedJob {
        let all = std::mem::take(&mut job.nodes).into_iter();
        job.nodes = all
            .map(|(name, value)| (self.short(&name), value))
            .collect();
        let all = std::mem::take(&mut job.memory).into_iter();
        job.memory = all
            .map(|(name, value)| (self.short(&name), value))
            .collect();
        job
    }

    fn log_path(&self) -> PathBuf {
        self.cluster.folder().join("log/slurmctld.log")
    }

    fn log_length(&self) -> u64 {
        fs::metadata(self.log_path()).map_or(0, |file| file.len())
    }

    fn log_from(&self, from: u64) -> String {
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

/// The errors of a command in one line, without the command's name.
fn complaint(output: &str) -> String {
    let errors = output.lines().filter_map(|line| line.split_once("error: "));
    let mut all: Vec<_> = errors.map(|(_, text)| text.trim()).collect();
    if all.is_empty() {
        all.extend(output.lines().last());
    }
    all.join(" / ")
}
