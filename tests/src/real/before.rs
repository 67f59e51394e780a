//! What `berth plan` says of lines and scripts before they are submitted, on a node by users who give it no
//! option of its own, and what the kernel says of the steps.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::real::answer::{Answer, answer};
use crate::real::same_as_plan;
use crate::{Cluster, Done, command};

/// How often a line is run again that was not as planned: an answer that stays is slurmctld's, and not that of a
/// moment in which the CPUs of the line before were still in use.
const AGAIN: usize = 2;

/// Where lines are planned and submitted.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Its cluster.
    pub cluster: &'a Cluster,
    /// The machine that its nodes pretend to be, where they are not this one.
    pub machine: Option<&'a str>,
}

/// A line that was planned and then run.
#[derive(Debug)]
pub struct Compared {
    /// srun's options.
    pub request: String,
    /// The options of the job around it, if it has one.
    pub job: Option<String>,
    /// What was planned.
    pub planned: String,
    /// What came of it.
    pub kernel: Answer,
}

impl Compared {
    /// Whether the step is as it was planned, or nothing was planned.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.planned.starts_with("error: not modelled") || same_as_plan(&self.kernel, &self.planned)
    }

    /// Whether srun was said to refuse it, or to wait for ever.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.planned.starts_with("error:")
    }

    /// The line of a script. One that would wait for ever runs beside the others, and not for long.
    fn line(&self, number: usize) -> String {
        let says = |words| self.planned.contains(words);
        let waits = self.is_refused() && (says("waits") || says("never starts"));
        let (seconds, beside) = if waits { (3, " &") } else { (60, "") };
        let probe = std::env::current_exe().expect("this program");
        // A star is no name of a file.
        let request = self.request.replace('*', "\\*");
        format!(
            "timeout --kill-after=10 {seconds} srun {request} {} probe > {number}.out 2> {number}.err || echo > {number}.failed{beside}\n",
            probe.display()
        )
    }
}

impl Place<'_> {
    /// Asks about all lines first, then runs each as a job of its own.
    ///
    /// # Panics
    /// If the command does not run, or does not answer each line.
    #[must_use]
    pub fn jobs(&self, requests: &[&str]) -> Vec<Compared> {
        let planned = self.planned(requests);
        let requests = requests.iter().map(|request| (*request).into());
        self.compared(None, requests.zip(planned))
    }

    /// Asks about a batch script of steps, then submits it. Empty if its job was said not to start.
    ///
    /// # Panics
    /// If the command does not run, or does not answer each line.
    #[must_use]
    pub fn steps(&self, job: &str, requests: Vec<String>) -> Vec<Compared> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let steps = requests
            .iter()
            .map(|request| format!("srun {request} ./app\n"));
        let text = format!("#!/bin/sh\n#SBATCH {job}\n{}", steps.collect::<String>());
        let file = folder.path().join("job.sh");
        fs::write(&file, text.replace('*', "\\*")).expect("a script");
        let mut plan = self.plan("json");
        let Some(planned) = steps_of(plan.arg(file)) else {
            return Vec::new();
        };
        assert_eq!(planned.len(), requests.len(), "{text}{planned:#?}");
        self.compared(Some(job), requests.into_iter().zip(planned))
    }

    fn compared(
        &self,
        job: Option<&str>,
        lines: impl Iterator<Item = (String, String)>,
    ) -> Vec<Compared> {
        let line = |(request, planned)| Compared {
            request,
            job: job.map(String::from),
            planned,
            kernel: Answer::default(),
        };
        let mut all: Vec<_> = lines.map(line).collect();
        self.run(job, &mut all);
        for _ in 0..AGAIN {
            let wrong = all.iter_mut().filter(|line| !line.is_same());
            wrong.for_each(|line| self.run(job, std::slice::from_mut(line)));
        }
        all
    }

    /// Runs lines as steps of a job, or each as a job.
    fn run(&self, job: Option<&str>, lines: &mut [Compared]) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text: String = (0..)
            .zip(&*lines)
            .map(|(number, line)| line.line(number))
            .collect();
        let text = format!("cd {}\n{text}wait", folder.path().display());
        self.cluster.wait_idle();
        match job {
            Some(job) => {
                let batch = self.cluster.sbatch(&[], &format!("#SBATCH {job}\n{text}"));
                assert_eq!(batch.state, "COMPLETED", "{text}: {batch:#?}");
            }
            None => {
                let status = self.cluster.program("sh").args(["-c", &text]).status();
                assert!(
                    status.is_ok_and(|status| status.success()),
                    "the shell failed"
                );
            }
        }
        for (number, line) in lines.iter_mut().enumerate() {
            line.kernel = self.answer(folder.path(), number);
        }
    }

    fn answer(&self, folder: &Path, number: usize) -> Answer {
        let read = |name: String| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let said = read(format!("{number}.err"));
        // Where one node refuses, the tasks of another may have run.
        if !read(format!("{number}.failed")).is_empty() {
            return Answer {
                said,
                ..Answer::default()
            };
        }
        let answer = answer(&read(format!("{number}.out")));
        match self.machine {
            Some(_) => answer.as_told(),
            None => answer,
        }
    }

    /// `berth plan --format FORMAT`, on a node of the cluster. A made-up machine is that of several nodes, about
    /// which slurmctld is asked.
    fn plan(&self, format: &str) -> Command {
        let mut plan = self.cluster.program(&command().to_string_lossy());
        plan.args(["plan", "--format", format]);
        if let Some(machine) = self.machine {
            plan.args(["--cluster=live", "--machine", machine]);
        }
        plan
    }

    fn planned(&self, requests: &[&str]) -> Vec<String> {
        let mut child = self
            .plan("cpus")
            .args(["--batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("berth plan starts");
        let text: String = requests
            .iter()
            .map(|request| format!("srun {request} ./app\n"))
            .collect();
        let mut stdin = child.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let done = Done::from(child.wait_with_output().expect("berth plan ends"));
        writer
            .join()
            .expect("the writer ends")
            .expect("berth plan reads");
        let answers: Vec<String> = done.stdout.lines().map(String::from).collect();
        assert_eq!(
            answers.len(),
            requests.len(),
            "one answer a line: {done:#?}"
        );
        answers
    }
}

/// Prints the lines that are not as they were planned, and counts them.
#[must_use]
pub fn different(all: &[Compared]) -> u32 {
    let mut wrong = 0;
    for line in all.iter().filter(|line| !line.is_same()) {
        wrong += 1;
        let (request, planned) = (&line.request, &line.planned);
        let job = line.job.as_ref();
        let job = job.map_or(String::new(), |job| format!(" in sbatch {job}"));
        let kernel = line.kernel.show();
        println!(
            "DIFFERENT before: srun {request}{job}\n  kernel: {kernel}\n  berth plan: {planned}"
        );
    }
    wrong
}

/// The answer of `berth plan` for each step of a script.
fn steps_of(plan: &mut Command) -> Option<Vec<String>> {
    let done = Done::from(plan.output().expect("berth plan runs"));
    let json: Value = serde_json::from_str(&done.stdout).ok()?;
    let text = |step: &Value| match step["cpus"].as_array() {
        Some(cpus) => cpus
            .iter()
            .map(|cpus| cpus.as_str().unwrap_or("none"))
            .collect::<Vec<_>>()
            .join(" "),
        None => format!("error: {}", step["why"].as_str().unwrap_or_default()),
    };
    let all = json["job"]["steps"].as_array()?;
    Some(all.iter().map(text).collect())
}
