//! What `berth plan` says of lines before they are submitted, by users who give it no option of its own,
//! and what the kernel says of the steps.

use std::io::Write;
use std::process::Stdio;

use crate::real::{Answer, ask_each, same_as_plan};
use crate::{Cluster, Done, command};

/// A line whose step is not as it was planned.
#[derive(Debug)]
pub struct Different {
    /// srun's options.
    pub request: String,
    /// What was planned.
    pub planned: String,
    /// What came of it.
    pub kernel: Answer,
}

/// Asks about all lines first, then runs each as a job of its own. Gives those that differ.
///
/// # Panics
/// If the command does not run, or does not answer each line.
#[must_use]
pub fn before(cluster: &Cluster, requests: &[&str]) -> Vec<Different> {
    let planned = planned(cluster, requests);
    let steps = ask_each(cluster, requests);
    let all = requests.iter().zip(planned).zip(steps);
    let other = all.filter(|((_, planned), kernel)| !same_as_plan(kernel, planned));
    other
        .map(|((request, planned), kernel)| Different {
            request: (*request).to_string(),
            planned,
            kernel,
        })
        .collect()
}

fn planned(cluster: &Cluster, requests: &[&str]) -> Vec<String> {
    let mut child = cluster
        .program(&command().to_string_lossy())
        .args(["plan", "--format", "cpus", "--batch", "-"])
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
