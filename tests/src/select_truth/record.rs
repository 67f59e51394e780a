//! The text form of what slurmctld gave: one paragraph for each line that was asked.
//!
//! ```text
//! # cluster 3, question 12, seed 7
//! conf SelectTypeParameters=CR_Core
//! conf NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CPUs=16 RealMemory=1000
//! conf PartitionName=main Nodes=ALL Default=YES
//! line salloc -n4 -c2
//! step srun -n2 --exact
//! job granted cpus=8 n1=0-3:8
//! step-got granted n1=0-1
//! ```
//!
//! A job's node is `NAME=CORES:CPUS`; core numbers are socket × cores of a socket + core. `cpus` is
//! NumCPUs, `-` where nobody could ask for it. Other answers are `pending REASON`, `refused TEXT`
//! and, for a step, `waits` and `killed slurmctld`. srun's own step has no `step` line.

use std::collections::BTreeMap;
use std::fmt;

/// Cores of nodes, by the node's name.
pub type Cores = BTreeMap<String, Vec<u32>>;

/// slurmctld's answer to the job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say everything")]
pub enum JobTruth {
    Granted {
        /// NumCPUs, if it could be asked for.
        cpus: Option<u32>,
        /// Cores, and CPUs on each node.
        nodes: BTreeMap<String, (Vec<u32>, u32)>,
    },
    Pending(String),
    Refused(String),
}

/// slurmctld's answer to the first step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say everything")]
pub enum StepTruth {
    Granted(Cores),
    Waits,
    Refused(String),
    /// slurmctld was gone.
    Killed,
}

/// One line and its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What repeats it.
    pub comment: String,
    /// Lines of slurm.conf.
    pub conf: Vec<String>,
    /// The line, with its command.
    pub line: String,
    /// The first step's line, if the command starts none itself.
    pub step: Option<String>,
    /// The job's answer.
    pub job: JobTruth,
    /// The step's answer, if there was a step.
    pub step_got: Option<StepTruth>,
}

impl Record {
    /// The same line on the nodes that slurmctld chose: the others are excluded.
    pub(super) fn on_its_nodes(&self) -> Option<Self> {
        let JobTruth::Granted { nodes, .. } = &self.job else {
            return None;
        };
        let names = self.conf.iter().filter_map(|line| {
            let words = line.strip_prefix("NodeName=")?;
            words.split(' ').next()
        });
        let others: Vec<_> = names.filter(|name| !nodes.contains_key(*name)).collect();
        (!others.is_empty()).then(|| Self {
            // Of two -x the last one counts, and it has the nodes of the first.
            line: format!("{} -x {}", self.line, others.join(",")),
            ..self.clone()
        })
    }
}

/// Numbers as `0-3,6`; `-` if there are none.
pub(super) fn list(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let [first, ..] = rest {
        let run = rest.iter().zip(*first..).take_while(|(a, b)| *a == b);
        let count = run.count();
        let comma = if text.is_empty() { "" } else { "," };
        text += &format!("{comma}{first}");
        if count > 1 {
            text += &format!("-{}", first + count as u32 - 1);
        }
        rest = rest.get(count..).unwrap_or_default();
    }
    if text.is_empty() { "-".into() } else { text }
}

pub(super) fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|_| text != "-") {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", self.comment)?;
        for line in &self.conf {
            writeln!(f, "conf {line}")?;
        }
        writeln!(f, "line {}", self.line)?;
        if let Some(step) = &self.step {
            writeln!(f, "step {step}")?;
        }
        writeln!(f, "job {}", self.job)?;
        match &self.step_got {
            Some(got) => writeln!(f, "step-got {got}"),
            None => Ok(()),
        }
    }
}

fn cores(f: &mut fmt::Formatter<'_>, cores: &Cores) -> fmt::Result {
    cores
        .iter()
        .try_for_each(|(node, cores)| write!(f, " {node}={}", list(cores)))
}

impl fmt::Display for JobTruth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted { cpus, nodes } => {
                let cpus = cpus.map_or("-".into(), |cpus| cpus.to_string());
                write!(f, "granted cpus={cpus}")?;
                nodes.iter().try_for_each(|(node, (cores, cpus))| {
                    write!(f, " {node}={}:{cpus}", list(cores))
                })
            }
            Self::Pending(reason) => write!(f, "pending {reason}"),
            Self::Refused(text) => write!(f, "refused {text}"),
        }
    }
}

impl fmt::Display for StepTruth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted(found) => {
                f.write_str("granted")?;
                cores(f, found)
            }
            Self::Waits => f.write_str("waits"),
            Self::Refused(text) => write!(f, "refused {text}"),
            Self::Killed => f.write_str("killed slurmctld"),
        }
    }
}

/// The records of a file.
///
/// # Errors
/// The first line that is none, with its number.
pub fn read(text: &str) -> Result<Vec<Record>, String> {
    let mut all = Vec::new();
    let mut lines = Vec::new();
    for (at, line) in text.lines().chain([""]).enumerate() {
        if !line.is_empty() {
            lines.push(line);
            continue;
        }
        if !lines.is_empty() {
            all.push(one(&lines).ok_or_else(|| format!("no record before line {}", at + 1))?);
        }
        lines.clear();
    }
    Ok(all)
}

fn one(lines: &[&str]) -> Option<Record> {
    let mut found = Record {
        comment: String::new(),
        conf: Vec::new(),
        line: String::new(),
        step: None,
        job: JobTruth::Pending(String::new()),
        step_got: None,
    };
    for line in lines {
        let (key, rest) = line.split_once(' ')?;
        match key {
            "#" => found.comment = rest.into(),
            "conf" => found.conf.push(rest.into()),
            "line" => found.line = rest.into(),
            "step" => found.step = Some(rest.into()),
            "job" => found.job = job(rest)?,
            "step-got" => found.step_got = Some(step(rest)?),
            _ => return None,
        }
    }
    Some(found)
}

fn job(text: &str) -> Option<JobTruth> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match kind {
        "pending" => JobTruth::Pending(rest.into()),
        "refused" => JobTruth::Refused(rest.into()),
        "granted" => {
            let (cpus, nodes) = rest.strip_prefix("cpus=")?.split_once(' ')?;
            let node = |word: &str| {
                let (name, value) = word.split_once('=')?;
                let (cores, cpus) = value.split_once(':')?;
                Some((name.to_string(), (numbers(cores)?, cpus.parse().ok()?)))
            };
            JobTruth::Granted {
                cpus: cpus.parse().ok(),
                nodes: nodes.split(' ').map(node).collect::<Option<_>>()?,
            }
        }
        _ => return None,
    })
}

fn step(text: &str) -> Option<StepTruth> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match kind {
        "waits" => StepTruth::Waits,
        "killed" => StepTruth::Killed,
        "refused" => StepTruth::Refused(rest.into()),
        "granted" => {
            let node = |word: &str| {
                let (name, cores) = word.split_once('=')?;
                Some((name.to_string(), numbers(cores)?))
            };
            StepTruth::Granted(rest.split(' ').map(node).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_the_same_again() {
        let text = "# cluster 3, seed 7\nconf SelectTypeParameters=CR_Core\n\
                    line salloc -n4 -c2\nstep srun -n2 --exact\n\
                    job granted cpus=8 n1=2-3,5:6 n2=0:2\nstep-got granted n1=2\n";
        let found = read(text).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), text);
        let more = "line srun\njob pending Resources\n\nline srun\njob refused No nodes / none\n\
                    \nline srun\njob granted cpus=- n1=0:1\nstep-got killed slurmctld\n";
        assert_eq!(read(more).unwrap().len(), 3);
        assert!(read("job what\n").is_err() && read("line srun\nx y\n").is_err());
    }
}
