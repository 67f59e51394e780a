//! What the model says of a recorded line, beside what slurmctld gave.
//! In: a record and the release that answered. Out: for the job and its first step whether both are
//! equal. The cluster and the line are read by `berth_srun`, as the command reads them.

use std::collections::BTreeMap;

use berth_placement::controller::select::{
    Client, Cluster, CoreSet, JobAnswer, JobGrant, SlurmLine, StepAnswer, Wait, job, own_step,
    step_inside,
};
use berth_srun::conf::Config;
use berth_srun::options::Command;
use berth_srun::reading::selection::{self, Selection};
use berth_srun::{Release, line};

use super::record::{JobTruth, Record, StepTruth, list};

/// What the comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are equal.
    Equal,
    /// The model does not know; the reason.
    NotModelled(String),
    /// The model's answer, which is another.
    Differs(String),
}

/// The verdicts of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The job's cores.
    pub job: Verdict,
    /// The CPUs that slurmctld counts on each node, where the cores are equal.
    pub cpus: Option<Verdict>,
    /// The first step's, where there was one and the job is equal.
    pub step: Option<Verdict>,
}

impl Compared {
    /// Whether anything is other than the model says.
    #[must_use]
    pub fn differs(&self) -> bool {
        let all = [Some(&self.job), self.cpus.as_ref(), self.step.as_ref()];
        let mut all = all.into_iter().flatten();
        all.any(|verdict| matches!(verdict, Verdict::Differs(_)))
    }
}

/// Compares one record. Where slurmctld chose other nodes, the model is asked on those.
///
/// # Panics
/// Where the record's configuration cannot be read: it is what slurmctld was started with.
#[must_use]
pub fn compare(record: &Record, release: Release) -> Compared {
    let first = compare_as_asked(record, release);
    match (&first.job, record.on_its_nodes()) {
        (Verdict::Differs(_), Some(record)) => compare_as_asked(&record, release),
        _ => first,
    }
}

fn compare_as_asked(record: &Record, release: Release) -> Compared {
    let line = line_of(release);
    let cluster = cluster(record, line);
    let refused = |why: String| match record.job {
        JobTruth::Refused(_) => Verdict::Equal,
        _ => Verdict::Differs(format!("refused: {why}")),
    };
    let asked = match selection(&record.line, release) {
        Ok((client, asked)) if asked.unmodelled.is_empty() => Ok((client, asked)),
        Ok((_, asked)) => Err(Verdict::NotModelled(asked.unmodelled.join(" "))),
        Err(why) => Err(refused(why)),
    };
    let (client, asked) = match asked {
        Ok(asked) => asked,
        Err(job) => {
            return Compared {
                job,
                cpus: None,
                step: None,
            };
        }
    };
    let answer = job(&cluster, client, &asked.options);
    let verdict = job_verdict(&cluster, &record.job, &answer);
    let step = match (&verdict, &answer, &record.step_got) {
        (Verdict::Equal, JobAnswer::Granted(grant), Some(truth)) => {
            let answer = step_answer(&cluster, record, grant, &asked, release);
            Some(step_verdict(&cluster, truth, &answer))
        }
        _ => None,
    };
    Compared {
        cpus: cpus_verdict(&cluster, &verdict, &record.job, &answer),
        job: verdict,
        step,
    }
}

fn line_of(release: Release) -> SlurmLine {
    match release {
        Release::V22_05 | Release::V23_02 | Release::V23_11 => SlurmLine::V22_05,
        Release::V24_05 | Release::V24_11 => SlurmLine::V24_11,
        Release::V25_05 | Release::V25_11 | Release::V26_05 => SlurmLine::V26_05,
    }
}

/// The record's cluster.
fn cluster(record: &Record, line: SlurmLine) -> Cluster {
    let text = record.conf.join("\n");
    let config = Config::read("record", &text, &mut |_| Err("nothing is included".into()));
    let chosen = config.and_then(|config| config.choose(None, line));
    let chosen = chosen.unwrap_or_else(|why| panic!("{}: {why}", record.comment));
    assert!(chosen.unmodelled.is_empty(), "{record}");
    chosen.cluster
}

/// Compares what the readers of slurm.conf and of scontrol's output make of one cluster.
///
/// # Panics
/// Where they differ.
pub(super) fn readers_agree(conf: &[String], [config, nodes, partitions]: &[String; 3]) {
    let shown = Config::shown(config, nodes, partitions);
    let shown = shown.unwrap_or_else(|why| panic!("{why}"));
    let text = conf.join("\n");
    let read = Config::read("record", &text, &mut |_| Err("nothing is included".into()));
    let read = read.unwrap_or_else(|why| panic!("{why}"));
    for line in [SlurmLine::V22_05, SlurmLine::V26_05] {
        let [read, shown] = [&read, &shown].map(|config| {
            config
                .choose(None, line)
                .unwrap_or_else(|why| panic!("{why}"))
        });
        assert_eq!(read, shown, "{conf:#?}");
    }
}

fn selection(text: &str, release: Release) -> Result<(Client, Selection), String> {
    let words: Vec<_> = text.split_whitespace().collect();
    let (name, options) = words.split_first().ok_or("an empty line")?;
    let command = Command::named(name).ok_or("another command")?;
    let line = line::read(options, command, Some(release));
    let found = selection::read(&line, release).map_err(|why| why.to_string())?;
    Ok((selection::client(command), found))
}

fn step_answer(
    cluster: &Cluster,
    record: &Record,
    grant: &JobGrant,
    asked: &Selection,
    release: Release,
) -> Result<StepAnswer, String> {
    match &record.step {
        None => Ok(own_step(cluster, &asked.options, grant)),
        Some(text) => {
            let (_, step) = selection(text, release)?;
            Ok(step_inside(cluster, &asked.options, grant, &step.options))
        }
    }
}

fn job_verdict(cluster: &Cluster, truth: &JobTruth, answer: &JobAnswer) -> Verdict {
    let said = match answer {
        JobAnswer::NotModelled(gap) => return Verdict::NotModelled(format!("{gap:?}")),
        JobAnswer::Granted(grant) => {
            let cores = grant.nodes.iter().map(|node| (node.node, &node.cores));
            let cores = named(cluster, cores);
            if let JobTruth::Granted { nodes, .. } = truth {
                let theirs: BTreeMap<_, _> = nodes
                    .iter()
                    .map(|(name, (cores, _))| (name.clone(), cores.clone()))
                    .collect();
                if theirs == cores {
                    return Verdict::Equal;
                }
            }
            format!("granted{}", shown(&cores))
        }
        JobAnswer::Waits(wait) => {
            let reasons: &[_] = match wait {
                Wait::Resources => &["Resources"],
                // The scheduler calls it so when it looks at the job again.
                Wait::PartitionConfig => &["PartitionConfig", "PartitionNodeLimit"],
            };
            if reasons
                .iter()
                .any(|reason| *truth == JobTruth::Pending((*reason).into()))
            {
                return Verdict::Equal;
            }
            format!("pending {}", reasons[0])
        }
        JobAnswer::Refused(why) => match truth {
            JobTruth::Refused(_) => return Verdict::Equal,
            _ => format!("refused: {why:?}"),
        },
    };
    Verdict::Differs(said)
}

/// NumCPUs itself also counts the special cores of whole nodes.
fn cpus_verdict(
    cluster: &Cluster,
    job: &Verdict,
    truth: &JobTruth,
    answer: &JobAnswer,
) -> Option<Verdict> {
    let (Verdict::Equal, JobTruth::Granted { nodes, .. }, JobAnswer::Granted(grant)) =
        (job, truth, answer)
    else {
        return None;
    };
    let theirs: Vec<_> = nodes
        .iter()
        .map(|(name, (_, cpus))| (name.clone(), *cpus))
        .collect();
    let name = |at: usize| cluster.nodes.get(at).map_or("?", |node| node.name.as_str());
    let mut ours: Vec<_> = grant
        .nodes
        .iter()
        .map(|node| (name(node.node).to_string(), node.cpus))
        .collect();
    ours.sort_unstable();
    Some(match ours == theirs {
        true => Verdict::Equal,
        false => Verdict::Differs(format!("{ours:?}")),
    })
}

fn step_verdict(
    cluster: &Cluster,
    truth: &StepTruth,
    answer: &Result<StepAnswer, String>,
) -> Verdict {
    let said = match answer {
        Ok(StepAnswer::NotModelled(gap)) => return Verdict::NotModelled(format!("{gap:?}")),
        Ok(StepAnswer::Granted(grant)) => {
            let cores = grant.nodes.iter().map(|node| (node.node, &node.cores));
            let cores = named(cluster, cores);
            if *truth == StepTruth::Granted(cores.clone()) {
                return Verdict::Equal;
            }
            format!("granted{}", shown(&cores))
        }
        Ok(StepAnswer::Waits) if *truth == StepTruth::Waits => return Verdict::Equal,
        Ok(StepAnswer::Waits) => "waits".into(),
        Ok(StepAnswer::Refused(_)) | Err(_) if matches!(truth, StepTruth::Refused(_)) => {
            return Verdict::Equal;
        }
        Ok(StepAnswer::Refused(why)) => format!("refused: {why:?}"),
        Err(why) => format!("refused: {why}"),
    };
    Verdict::Differs(said)
}

/// Cores by the node's name.
fn named<'a>(
    cluster: &Cluster,
    nodes: impl Iterator<Item = (usize, &'a CoreSet)>,
) -> BTreeMap<String, Vec<u32>> {
    let name = |at: usize| cluster.nodes.get(at).map_or("?", |node| node.name.as_str());
    nodes
        .map(|(at, cores)| (name(at).to_string(), cores.iter().collect()))
        .collect()
}

fn shown(cores: &BTreeMap<String, Vec<u32>>) -> String {
    cores
        .iter()
        .map(|(name, cores)| format!(" {name}={}", list(cores)))
        .collect()
}
