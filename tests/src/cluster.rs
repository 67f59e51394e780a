//! A real Slurm cluster on this machine, stopped when the handle is dropped.
//! Every call runs Slurm's own program and waits for it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::builder::{Builder, ci_cluster};
use crate::output::{Done, mask};
use crate::under_test::command;

/// How long anything in a cluster may take before a test gives up: a slurmstepd that meets a
/// slurmctld which is just reading its configuration tries again a minute later.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);

/// A running cluster: munged, slurmctld and one or more slurmds.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
}

/// A batch job that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// As Slurm says it: `COMPLETED`, `FAILED`, …
    pub state: String,
    /// `exit code:signal`, as Slurm says it.
    pub exit_code: String,
    /// What the script and its tasks printed, both outputs together.
    pub output: String,
}

impl Cluster {
    /// The wishes for a cluster; end with `up()`.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn in_folder(folder: TempDir) -> Self {
        Cluster { folder }
    }

    /// Where it lives: `etc`, `log`, `plugins`, `run`, `spool`, `state`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A program that talks to this cluster and to no other. What an outer job left in
    /// our environment would be taken for options, so it goes.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if ["SLURM", "SRUN_", "SBATCH_", "_SLURM"]
                .iter()
                .any(|prefix| text.starts_with(prefix))
            {
                command.env_remove(&variable);
            }
        }
        command
            .env("SLURM_CONF", self.folder().join("etc/slurm.conf"))
            .stdin(Stdio::null());
        command
    }

    /// Runs a program of Slurm to its end; panics if there is none within two minutes,
    /// as with a job that can never start.
    #[track_caller]
    pub fn run(&self, name: &str, arguments: &[&str]) -> Done {
        self.run_with(name, arguments, &[])
    }

    /// The same, with these variables in its environment.
    #[track_caller]
    pub fn run_with(&self, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        let mut patient = self.program("timeout");
        patient.args(["--kill-after=5", "120", "env"]);
        // For the program alone: a preloaded library has no business in timeout.
        patient.args(
            variables
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        let output = patient.arg(name).args(arguments).output();
        let done = Done::from(output.unwrap_or_else(|error| panic!("timeout: {error}")));
        assert!(done.code != Some(124), "{name} {arguments:?}: {done:#?}");
        done
    }

    /// `srun ARGUMENTS…`
    #[track_caller]
    pub fn srun(&self, arguments: &[&str]) -> Done {
        self.run("srun", arguments)
    }

    /// `scontrol ARGUMENTS…`
    #[track_caller]
    pub fn scontrol(&self, arguments: &[&str]) -> Done {
        self.run("scontrol", arguments)
    }

    /// `berth ARGUMENTS…`, for the state that this cluster's slurmds keep.
    #[track_caller]
    pub fn berth(&self, arguments: &[&str]) -> Done {
        let state = self.folder().join("run/berth").display().to_string();
        let words = [arguments, &["--state-dir", &state]].concat();
        self.run(&command().to_string_lossy(), &words)
    }

    /// A metric of the only node, by its name without `berth_` and `_total`; nothing where it has no line.
    #[track_caller]
    pub fn metric(&self, name: &str) -> Option<u64> {
        let text = self.berth(&["status", "--metrics"]).stdout;
        let begin = format!("berth_{name}_total{{");
        let line = text.lines().find(|line| line.starts_with(&begin))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// The mask each task of `srun ARGUMENTS…` really has, in task order, read from the
    /// kernel by the task itself.
    #[track_caller]
    pub fn task_masks(&self, arguments: &[&str]) -> Vec<String> {
        // The shell reads it itself: a program it starts would be one more thing to trust.
        let ask = [
            "/bin/sh",
            "-c",
            "while read -r key mask; do case $key in Cpus_allowed:) echo $SLURM_PROCID $mask;; esac; done < /proc/self/status",
        ];
        let mut lines: Vec<(u32, String)> = self
            .srun(&[arguments, &ask].concat())
            .expect_ok()
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(task, kernel)| Some((task.parse().ok()?, mask(kernel))))
            .collect();
        lines.sort_unstable();
        lines.into_iter().map(|(_, mask)| mask).collect()
    }

    /// Submits a script (without its `#!` line) and waits for the job's end.
    #[track_caller]
    pub fn sbatch(&self, arguments: &[&str], script: &str) -> Batch {
        let job = self.submit(arguments, script, &[]);
        self.ended(&job.unwrap_or_else(|done| panic!("expected success: {done:#?}")))
    }

    /// Submits a script; the job's number, or how sbatch refused it.
    #[track_caller]
    pub(crate) fn submit(
        &self,
        arguments: &[&str],
        script: &str,
        variables: &[(&str, &str)],
    ) -> Result<String, Done> {
        let mut child = self
            .program("sbatch")
            .arg("--parsable")
            .arg("--output")
            .arg(self.folder().join("log/batch-%j.out"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("sbatch cannot be run: {error}"));
        if let Some(mut stdin) = child.stdin.take() {
            // One that refuses its options may not read the script.
            let _ = stdin.write_all(format!("#!/bin/sh\n{script}\n").as_bytes());
        }
        let done = Done::from(child.wait_with_output().expect("sbatch ends"));
        if !done.ok() {
            return Err(done);
        }
        Ok(done.stdout.trim().to_owned())
    }

    /// Waits for the end of a job that was submitted.
    #[track_caller]
    pub(crate) fn ended(&self, job: &str) -> Batch {
        let ended =
            |text: &str| !["PENDING", "RUNNING", "CONFIGURING", "COMPLETING"].contains(&text);
        let shown = self.wait_for("the job's end", || {
            let shown = self.scontrol(&["-o", "show", "job", job]).expect_ok();
            ended(field(&shown, "JobState")).then_some(shown)
        });
        let output = self.folder().join(format!("log/batch-{job}.out"));
        Batch {
            state: field(&shown, "JobState").to_owned(),
            exit_code: field(&shown, "ExitCode").to_owned(),
            // A script that was refused has written nothing, not even the file.
            output: fs::read_to_string(output).unwrap_or_default(),
        }
    }

    /// The nodes' state, as `idle`; several different ones with commas between.
    #[track_caller]
    pub fn sinfo_state(&self) -> String {
        let shown = self.run("sinfo", &["-h", "-N", "-o", "%T"]).expect_ok();
        let mut states: Vec<&str> = shown.split_whitespace().collect();
        states.sort_unstable();
        states.dedup();
        states.join(",")
    }

    /// Waits until every node is idle.
    #[track_caller]
    pub fn wait_idle(&self) {
        self.wait_for("idle nodes", || {
            (self.sinfo_state() == "idle").then_some(())
        });
    }

    /// Stops the slurmds and starts them again; steps that run go on.
    #[track_caller]
    pub fn restart_slurmd(&self) {
        self.restart("restart-slurmd");
    }

    /// The same with slurmctld.
    #[track_caller]
    pub fn restart_slurmctld(&self) {
        self.restart("restart-slurmctld");
    }

    #[track_caller]
    fn restart(&self, what: &str) {
        let output = ci_cluster(what, self.folder()).output();
        Done::from(output.expect("ci/cluster can be run")).expect_ok();
    }

    /// The slurmds' logs, and with them the slurmstepds'.
    pub fn slurmd_log(&self) -> String {
        self.logs("slurmd-")
    }

    /// slurmctld's log.
    pub fn slurmctld_log(&self) -> String {
        self.logs("slurmctld")
    }

    fn logs(&self, prefix: &str) -> String {
        self.log_files()
            .iter()
            .filter(|file| {
                file.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
            })
            .map(|file| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned())
            .collect()
    }

    fn log_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder().join("log"))
            .into_iter()
            .flatten()
            .flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    /// Asks every 10 ms until there is an answer.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "waited {} s for {what}",
                PATIENCE.as_secs()
            );
            sleep(Duration::from_millis(10));
        }
    }

    fn print_log_tails(&self) {
        for file in self.log_files() {
            let text = fs::read(&file).unwrap_or_default();
            // What a daemon that died left may lie here too.
            if text.contains(&0) {
                continue;
            }
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.lines().collect();
            let tail = lines
                .get(lines.len().saturating_sub(40)..)
                .unwrap_or_default();
            if !tail.is_empty() {
                eprintln!("--- {}\n{}", file.display(), tail.join("\n"));
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_log_tails();
        }
        match ci_cluster("down", self.folder()).output() {
            Ok(output) if output.status.success() => {}
            failed => eprintln!(
                "the cluster in {} may still run: {failed:?}",
                self.folder().display()
            ),
        }
    }
}

/// The value behind `name=` in scontrol's one-line output.
fn field<'a>(shown: &'a str, name: &str) -> &'a str {
    shown
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
        .unwrap_or_default()
}
