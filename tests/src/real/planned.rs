//! What `berth plan` says of requests that were run, for the cores that Slurm gave each of them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command;
use crate::real::{Answer, online};

/// Whose behaviour is planned.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// `--compat`
    pub compat: &'a str,
    /// `--slurm`
    pub line: &'a str,
    /// More options, for what the site has set.
    pub site: &'a [&'a str],
}

impl<'a> Rules<'a> {
    /// A behaviour of a release line, where the site has set nothing.
    #[must_use]
    pub fn new(compat: &'a str, line: &'a str) -> Self {
        Self {
            compat,
            line,
            site: &[],
        }
    }
}

/// What `berth plan` says, from the machine's XML and the cores that each step got.
///
/// # Panics
/// If the command does not run, or does not answer each request.
#[must_use]
pub fn plans(
    machine: &Path,
    rules: Rules<'_>,
    requests: &[&str],
    steps: &[Answer],
    log: &str,
) -> Vec<String> {
    let mut child = Command::new(command())
        // The lines name the step's cores; a step that was refused had the whole node.
        .args(["plan", "--format", "cpus"])
        .args(["--compat", rules.compat])
        .args(["--slurm", rules.line])
        .args(rules.site)
        .arg("--machine")
        .arg(machine)
        .args(["--batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("berth plan starts");
    let mut lines = String::new();
    for (request, step) in requests.iter().zip(steps) {
        let cores = cores_of(step, log).unwrap_or_else(|| "all".into());
        lines.push_str(&format!("{request} --cores {cores}\n"));
    }
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("berth plan ends");
    writer
        .join()
        .expect("the writer ends")
        .expect("berth plan reads");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answers: Vec<String> = text.lines().map(String::from).collect();
    assert_eq!(answers.len(), requests.len(), "one answer a request");
    answers
}

/// The cores that Slurm gave a step, from the line that berth leaves of it. A refused step leaves
/// none; its cores were those of the first step, the whole job's.
#[must_use]
pub fn cores_of(answer: &Answer, log: &str) -> Option<String> {
    logged(&answer.job, &answer.step, log).or_else(|| logged(&answer.job, "0", log))
}

fn logged(job: &str, step: &str, log: &str) -> Option<String> {
    let marker = format!("berth: step={job}.{step} tasks=");
    let line = log.lines().find(|line| line.contains(&marker))?;
    let (_, rest) = line.split_once(" cores=")?;
    rest.split(' ').next().map(String::from)
}

/// Whether the kernel says of a request's tasks what was planned.
#[must_use]
pub fn same_as_plan(kernel: &Answer, planned: &str) -> bool {
    let plan = planned.split(" # ").next().unwrap_or_default().trim();
    let have = kernel.cpus();
    match plan {
        _ if plan.starts_with("error:") => have.is_empty(),
        // Nothing bound: what every process here may use.
        _ if plan.split(' ').all(|cpus| cpus == "none") => {
            have.iter().all(|cpus| *cpus == online()) && !have.is_empty()
        }
        _ => plan.split(' ').eq(have.iter().copied()),
    }
}
