//! Asks one slurmctld: submits a line, waits for the answer, and reads it from squeue and the log.
//! In: a cluster that is up, and a line. Out: the job's and the first step's answer.

use std::thread::sleep;
use std::time::Instant;

use super::controller::{Controller, Outcome, TICK};
use super::log::{self, LoggedJob};
use super::record::{JobTruth, StepTruth};
use super::scontrol;
use super::world::World;

/// What salloc runs: the job as it is, then the step.
const SHOW: &str = "scontrol show job -d $SLURM_JOB_ID";

/// One slurmctld with its nodes.
pub(super) struct Asked {
    controller: Controller,
    /// Threads of a core and CPUs of each node, where slurmctld logs no cores.
    linear: Option<Vec<(u32, u32)>>,
}

/// A job's and a first step's answer, as [`Asked::ask`] finds them.
pub(super) type Answers = (JobTruth, Option<StepTruth>);

impl Asked {
    /// Starts it. One job has run when this returns: a partition without a past knows no cores yet.
    ///
    /// # Errors
    /// What `ci/cluster` said.
    pub fn up(world: &World) -> Result<Self, String> {
        let mut controller = Controller::up(world)?;
        controller.warm_up();
        Ok(Self {
            linear: world.linear.then(|| world.counts.clone()),
            controller,
        })
    }

    /// What scontrol shows of the configuration, the nodes and the partition.
    pub fn shown(&self) -> [String; 3] {
        [&["config"][..], &["nodes", "-o"], &["partition", "-o"]].map(|words| {
            let words = [&["show"], words].concat();
            let shown = self.controller.cluster.scontrol(&words).expect_ok();
            self.controller.short(&shown)
        })
    }

    /// Whether slurmctld runs.
    pub fn lives(&self) -> bool {
        self.controller.lives()
    }

    /// The answer to a line, and to its first step: salloc's is given, srun's is its own. `None` if
    /// slurmctld died of it.
    pub fn ask(&self, command: &str, options: &str, step: Option<&str>) -> Option<Answers> {
        let outcome = match (command, step) {
            ("srun", _) => {
                self.controller
                    .outcome(self.controller.command("srun", options, &["true"]))
            }
            ("salloc", Some(step)) => {
                let script = format!("{SHOW}; exec srun \"$@\" true");
                let mut command =
                    self.controller
                        .command("salloc", options, &["sh", "-c", &script, "sh"]);
                command.args(self.controller.words(step));
                self.controller.outcome(command)
            }
            ("salloc", None) => self.controller.outcome(self.controller.command(
                "salloc",
                options,
                &["sh", "-c", SHOW],
            )),
            _ => self.batch(options),
        };
        let has_step = command == "srun" || step.is_some();
        let job = self.job_of(&outcome);
        let truth = self.job_truth(&outcome, job.as_ref());
        let step = job
            .filter(|_| has_step)
            .map(|job| match log::first_step(&outcome.log, &job) {
                _ if outcome.killed => StepTruth::Killed,
                // The log then has the nodes up to the one without enough cores.
                _ if outcome.step_waits => StepTruth::Waits,
                Some(cores) => StepTruth::Granted(
                    cores
                        .into_iter()
                        .map(|(name, cores)| (self.controller.short(&name), cores))
                        .collect(),
                ),
                None => StepTruth::Refused(self.controller.short(&complaint(&outcome.output))),
            });
        if outcome.killed && step.is_none() {
            return None;
        }
        self.controller.settle();
        Some((truth, step))
    }

    /// Whether job or step may have waited for the moment alone: for the end of another job, for a
    /// scheduler that had not looked yet, or longer than the harness does on a slow machine.
    pub fn is_doubtful(answers: &Answers) -> bool {
        let (job, step) = answers;
        let not_yet = matches!(job, JobTruth::Pending(reason) if ["Resources", "None"].contains(&reason.as_str()));
        let cut_off = |why: &str| why.contains("CANCELLED") || why.contains("reason None");
        not_yet
            || match step {
                Some(StepTruth::Waits) => true,
                Some(StepTruth::Refused(why)) => cut_off(why),
                _ => false,
            }
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
            return JobTruth::Refused(self.controller.short(&complaint(&outcome.output)));
        };
        JobTruth::Granted {
            cpus: scontrol::cpus(&outcome.output),
            nodes: self.controller.renamed(job.clone()).nodes,
        }
    }

    /// The job as slurmctld logs it, or as scontrol showed it.
    fn job_of(&self, outcome: &Outcome) -> Option<LoggedJob> {
        match &self.linear {
            None => log::job(&outcome.log),
            Some(counts) => scontrol::job(&outcome.output, counts),
        }
    }

    /// An sbatch ends at once; its job is decided a moment later.
    fn batch(&self, options: &str) -> Outcome {
        let command = self.controller.command(
            "sbatch",
            options,
            &["--parsable", "-o", "/dev/null", "--wrap", "sleep 60"],
        );
        let from = self.controller.log_length();
        let mut outcome = self.controller.outcome(command);
        let id = outcome
            .output
            .lines()
            .find_map(|line| line.trim().parse::<u32>().ok());
        let Some(id) = id else {
            return outcome;
        };
        let start = Instant::now();
        while start.elapsed() < self.controller.patience() {
            let id = id.to_string();
            let shown = self.controller.squeue(&["-j", &id, "-o", "%T %r"]);
            match shown.trim().split(' ').collect::<Vec<_>>()[..] {
                ["PENDING", "None"] => sleep(TICK),
                ["PENDING", reason] => {
                    outcome.job_waits = true;
                    outcome.output += &format!("\nreason {reason}");
                    break;
                }
                ["RUNNING", _] => {
                    let shown = self
                        .controller
                        .cluster
                        .scontrol(&["show", "job", "-d", &id]);
                    outcome.output += &shown.stdout;
                    break;
                }
                _ => sleep(TICK),
            }
        }
        outcome.log = self.controller.log_from(from);
        outcome
    }
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
