//! A request to a cluster, with what must be seen of it.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::outcome::Outcome;
use crate::cluster::{Cluster, PATIENCE};
use crate::output::Done;
use crate::process;

/// How long slurmd may take to write a line that a request leads to.
const LOG_PATIENCE: Duration = Duration::from_secs(20);

/// A request, and what is known of its outcome.
#[derive(Default)]
pub struct Case {
    /// The number of its line in the file.
    number: usize,
    words: Vec<String>,
    script: String,
    /// A kind of answer and its text.
    answers: Vec<(String, String)>,
    /// Whether the request is made again until it has its answers.
    repeats: bool,
    /// Whether it goes on beside the requests below it.
    is_beside: bool,
}

/// A program that runs beside the requests below its own, until this value is dropped.
pub struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        process::end(&mut self.0);
    }
}

/// A program of a request, with its arguments and variables.
struct Program {
    name: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Case {
    pub fn new(number: usize, words: Vec<String>) -> Self {
        Self {
            number,
            words,
            ..Self::default()
        }
    }

    /// Whether it has no answer yet.
    pub fn is_open(&self) -> bool {
        self.answers.is_empty()
    }

    /// Adds a line of the script.
    pub fn input(&mut self, line: &str) {
        self.script += &format!("{line}\n");
    }

    /// Adds an answer.
    pub fn answer(&mut self, kind: &str, text: &str) {
        let needs_text = !["=", "quiet", "wait"].contains(&kind);
        assert!(
            !needs_text || !text.is_empty(),
            "line {}: {kind}",
            self.number
        );
        match self.answers.last_mut() {
            _ if kind == "wait" => self.repeats = true,
            // The request goes on beside those below it.
            _ if kind == "&" => self.is_beside = true,
            Some((last, lines)) if kind == "=" && last == "=" => *lines += &format!(" {text}"),
            _ => self.answers.push((kind.into(), text.into())),
        }
    }

    /// Starts a request that goes on beside those below it; nothing for another one.
    pub fn beside(&self, cluster: &Cluster) -> Option<Beside> {
        self.is_beside.then(|| self.start(cluster))
    }

    /// The answers that are others, each with what there is instead.
    pub fn differences(&self, cluster: &Cluster) -> Option<String> {
        let begin = Instant::now();
        loop {
            let before = cluster.slurmd_log();
            let outcome = Outcome::of(self.run(cluster));
            let found = self.wrong(&outcome, cluster, &before);
            if found.is_none() || !self.repeats || begin.elapsed() > PATIENCE {
                return found;
            }
        }
    }

    /// What is wrong, when slurmd has had the time to write its lines.
    fn wrong(&self, outcome: &Outcome, cluster: &Cluster, before: &str) -> Option<String> {
        let begin = Instant::now();
        let in_log = |(kind, _): &(String, String)| kind == "log";
        loop {
            let logs = [before, &cluster.slurmd_log()];
            let found = outcome.differences(&self.answers_in(cluster), logs);
            let may_come = self.answers.iter().any(in_log) && begin.elapsed() < LOG_PATIENCE;
            if found.is_empty() || self.repeats || !may_come {
                let request = format!("{}: $ {}", self.number, self.words.join(" "));
                let shown = outcome.shown();
                return (!found.is_empty())
                    .then(|| format!("{request}\n{}\n{shown}", found.join("\n")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn answers_in(&self, cluster: &Cluster) -> Vec<(String, String)> {
        let answers = self.answers.iter();
        let in_cluster = |text: &str| text.replace("CLUSTER", &cluster.folder().to_string_lossy());
        answers
            .map(|(kind, text)| (kind.clone(), in_cluster(text)))
            .collect()
    }

    /// Starts the request, which goes on beside those below it.
    fn start(&self, cluster: &Cluster) -> Beside {
        let Program {
            name,
            arguments,
            variables,
        } = self.program(cluster);
        let mut command = cluster.program(&name);
        command.args(arguments).envs(variables);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = quiet.spawn();
        Beside(child.unwrap_or_else(|why| panic!("line {}: {name}: {why}", self.number)))
    }

    fn run(&self, cluster: &Cluster) -> Done {
        let Program {
            name,
            arguments,
            variables,
        } = self.program(cluster);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        if name == "sbatch" && !self.script.is_empty() {
            let folder = cluster.folder().to_string_lossy();
            let script = self.script.replace("CLUSTER", &folder);
            return batch(cluster, &arguments, &script, &variables);
        }
        cluster.run_with(&name, &arguments, &variables)
    }

    /// The request's program in a cluster: `berth` is the built command with the cluster's state.
    fn program(&self, cluster: &Cluster) -> Program {
        let folder = cluster.folder().to_string_lossy();
        let mut words = self
            .words
            .iter()
            .map(|word| word.replace("CLUSTER", &folder))
            .peekable();
        let mut variables = vec![("PATH".to_owned(), path_with_berth())];
        let is_variable =
            |word: &String| word.starts_with(|first: char| first.is_ascii_uppercase());
        while let Some(word) = words.next_if(is_variable) {
            if let Some((name, value)) = word.split_once('=') {
                variables.push((name.into(), value.into()));
            }
        }
        let name = words.next();
        let mut name = name.unwrap_or_else(|| panic!("line {}: no command", self.number));
        if name == "berth" {
            let state = cluster.folder().join("run/berth");
            variables.insert(
                0,
                ("BERTH_STATE_DIR".into(), state.to_string_lossy().into()),
            );
            name = crate::command().to_string_lossy().into_owned();
        }
        Program {
            name,
            arguments: words.collect(),
            variables,
        }
    }
}

/// A batch job to its end. What it prints for people, as srun's and berth's lines, counts as its stderr.
fn batch(cluster: &Cluster, options: &[&str], script: &str, variables: &[(&str, &str)]) -> Done {
    let job = match cluster.submit(options, script, variables) {
        Ok(job) => job,
        Err(done) => return done,
    };
    let batch = cluster.ended(&job);
    let is_message = |line: &&str| {
        let begins = ["berth: ", "srun: ", "slurmstepd: "];
        begins.iter().any(|begin| line.starts_with(begin))
    };
    let (messages, printed): (Vec<_>, Vec<_>) = batch.output.lines().partition(is_message);
    let code = batch.exit_code.split(':').next().unwrap_or_default();
    let code = code.parse().unwrap_or(-1);
    Done {
        code: Some(if batch.state == "COMPLETED" {
            code
        } else {
            code.max(1)
        }),
        stdout: printed.iter().map(|line| format!("{line}\n")).collect(),
        stderr: messages.iter().map(|line| format!("{line}\n")).collect(),
    }
}

/// `PATH` with the built command's folder before all others.
fn path_with_berth() -> String {
    let command = crate::command();
    let folder = command.parent().unwrap_or(&command).display();
    format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
}
