//! A cluster in few words, and slurmctld's answers in few words.
//! In: words of slurm.conf, and lines. Out: `granted n1=0-3:8` (cores, and the job's CPUs),
//! `waits`, `refused`, or a gap's name.

use berth_placement::controller::select::{
    Client, Cluster, CoreSet, JobAnswer, JobGrant, LineOptions, Specialised, StepAnswer, job,
    own_step, step_inside,
};
use berth_srun::conf::Config;
use berth_srun::options::Command;
use berth_srun::reading::{Refused, selection};
use berth_srun::{Release, line};

/// A cluster, and what it is asked.
pub struct World {
    pub cluster: Cluster,
    release: Release,
}

/// What is asked: by which command, and with which options.
pub struct Question {
    pub client: Client,
    pub options: LineOptions,
}

impl World {
    /// A cluster of idle nodes in one partition; `configuration` are lines of slurm.conf.
    pub fn new<'a>(release: Release, configuration: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = String::from("PartitionName=DEFAULT Nodes=ALL Default=YES\n");
        text.extend(configuration.into_iter().map(|line| format!("{line}\n")));
        for (word, line) in [
            ("PartitionName=", "PartitionName=main"),
            ("SelectType=", "SelectType=select/cons_tres"),
        ] {
            if !text.contains(&format!("\n{word}")) {
                text += &format!("{line}\n");
            }
        }
        let config = Config::read("slurm.conf", &text, &mut |name| panic!("{name} is no file"));
        let chosen = config.unwrap().choose(None, release.modelled()).unwrap();
        assert_eq!(chosen.unmodelled, [""; 0]);
        let cluster = chosen.cluster;
        Self { cluster, release }
    }

    /// Nodes n1, n2, … from `SOCKETSxCORESxTHREADS` and more words of slurm.conf, separated by commas. The settings are
    /// words of `SelectTypeParameters`, other lines of slurm.conf, or `special=`: cores of the first node without jobs.
    pub fn of(release: Release, settings: &[&str], nodes: &str) -> Self {
        let special = settings
            .iter()
            .find_map(|word| word.strip_prefix("special="));
        let settings = settings.iter().filter(|word| !word.starts_with("special="));
        let mut conf: Vec<_> = settings
            .map(|word| match word.starts_with("CR_") {
                true => format!("SelectTypeParameters={word}"),
                false => (*word).to_string(),
            })
            .collect();
        for (words, at) in nodes.split(", ").zip(1..) {
            let (shape, more) = words.split_once(' ').unwrap_or((words, ""));
            let [sockets, cores, threads] = shape.split('x').collect::<Vec<_>>()[..] else {
                panic!("{shape} is no SOCKETSxCORESxTHREADS");
            };
            conf.push(format!(
                "NodeName=n{at} Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads} {more}"
            ));
        }
        let mut world = Self::new(release, conf.iter().map(String::as_str));
        if let Some(list) = special {
            world.cluster.nodes[0].specialised = Specialised::Cores(cores(list).collect());
        }
        world
    }

    /// Reads a line by the rules of the cluster's release.
    pub fn read(&self, text: &str) -> Result<Question, Refused> {
        let mut words = text.split_whitespace();
        let command = Command::named(words.next().unwrap()).unwrap();
        let words: Vec<_> = words.collect();
        let found = selection::read(
            &line::read(&words, command, Some(self.release)),
            self.release,
        )?;
        assert_eq!(found.unmodelled, [""; 0], "{text}");
        Ok(Question {
            client: selection::client(command),
            options: found.options,
        })
    }

    /// What a job is answered, if its line can be read.
    pub fn answer(&self, line: &str) -> Option<JobAnswer> {
        let requested = self.read(line).ok()?;
        Some(job(&self.cluster, requested.client, &requested.options))
    }

    /// What a job gets.
    pub fn job(&self, line: &str) -> String {
        match self.answer(line) {
            Some(JobAnswer::Granted(grant)) => {
                let nodes = grant.nodes.iter();
                let nodes = nodes.map(|node| {
                    let name = &self.cluster.nodes[node.node].name;
                    format!(" {name}={}:{}", shown(&node.cores), node.cpus)
                });
                format!("granted{}", nodes.collect::<String>())
            }
            Some(JobAnswer::Waits(_)) => "waits".to_string(),
            Some(JobAnswer::Refused(_)) | None => "refused".to_string(),
            Some(JobAnswer::NotModelled(gap)) => format!("{gap:?}"),
        }
    }

    /// The grant of a job that gets its nodes.
    pub fn grant(&self, line: &str) -> JobGrant {
        match self.answer(line) {
            Some(JobAnswer::Granted(grant)) => grant,
            other => panic!("{line}: {other:?}"),
        }
    }

    /// What the job's own step gets (srun), or a step of this line inside it.
    pub fn step(&self, line: &str, step: &str) -> String {
        let outer = self.read(line).unwrap();
        let grant = self.grant(line);
        let answer = match outer.client {
            Client::Srun => own_step(&self.cluster, &outer.options, &grant),
            _ => match self.read(step) {
                Ok(inner) => step_inside(&self.cluster, &outer.options, &grant, &inner.options),
                Err(_) => return "refused".to_string(),
            },
        };
        match answer {
            StepAnswer::Granted(step) => {
                let nodes = step.nodes.iter();
                let nodes = nodes.map(|node| {
                    let name = &self.cluster.nodes[node.node].name;
                    format!(" {name}={}", shown(&node.cores))
                });
                format!("granted{}", nodes.collect::<String>())
            }
            StepAnswer::Waits => "waits".to_string(),
            StepAnswer::Refused(_) => "refused".to_string(),
            StepAnswer::NotModelled(gap) => format!("{gap:?}"),
        }
    }
}

/// Cores as slurmctld writes them.
fn cores(list: &str) -> impl Iterator<Item = u32> + '_ {
    let parts = list.split(',').filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().expect("a core");
        number(first)..=number(last)
    })
}

fn shown(cores: &CoreSet) -> String {
    match cores.to_string() {
        text if text.is_empty() => "-".to_string(),
        text => text,
    }
}
