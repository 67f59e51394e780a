//! A cluster in few words, and slurmctld's answers in few words.
//! In: words of slurm.conf, and lines. Out: `granted n1=0-3:8` (cores, and the job's CPUs),
//! `waits`, `refused`, or a gap's name.

use berth_placement::controller::select::{
    Client, Cluster, CoreSet, JobAnswer, JobGrant, LineOptions, SlurmLine, Specialised, StepAnswer,
    job, own_step, step_inside,
};
use berth_srun::conf::Config;
use berth_srun::options::Command;
use berth_srun::reading::{Refused, selection};
use berth_srun::{Release, line};

/// A cluster, and what it is asked.
pub struct World {
    pub cluster: Cluster,
}

/// What is asked: by which command, and with which options.
pub struct Question {
    pub client: Client,
    pub options: LineOptions,
}

impl World {
    /// A cluster of idle nodes in one partition; `configuration` are lines of slurm.conf.
    pub fn new<'a>(line: SlurmLine, configuration: impl IntoIterator<Item = &'a str>) -> Self {
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
        let chosen = config.unwrap().choose(None, line).unwrap();
        assert_eq!(chosen.unmodelled, [""; 0]);
        let cluster = chosen.cluster;
        Self { cluster }
    }

    /// Reads a line by the rules of the cluster's release.
    pub fn read(&self, text: &str) -> Result<Question, Refused> {
        let mut words = text.split_whitespace();
        let command = Command::named(words.next().unwrap()).unwrap();
        let release = match self.cluster.line {
            SlurmLine::V22_05 => Release::V22_05,
            SlurmLine::V24_11 => Release::V24_11,
            SlurmLine::V26_05 => Release::V26_05,
        };
        let words: Vec<_> = words.collect();
        let found = selection::read(&line::read(&words, command, Some(release)), release)?;
        assert_eq!(found.unmodelled, [""; 0], "{text}");
        Ok(Question {
            client: selection::client(command),
            options: found.options,
        })
    }

    /// Cores of the first node that jobs do not get.
    pub fn special(mut self, list: &str) -> Self {
        self.cluster.nodes[0].specialised = Specialised::Cores(cores(list).collect());
        self
    }

    /// What a job gets.
    pub fn job(&self, line: &str) -> String {
        let Ok(requested) = self.read(line) else {
            return "refused".to_string();
        };
        match job(&self.cluster, requested.client, &requested.options) {
            JobAnswer::Granted(grant) => {
                let shown = |node: &berth_placement::controller::select::GrantedNode| {
                    let name = &self.cluster.nodes[node.node].name;
                    format!(" {name}={}:{}", shown(&node.cores), node.cpus)
                };
                format!(
                    "granted{}",
                    grant.nodes.iter().map(shown).collect::<String>()
                )
            }
            JobAnswer::Waits(_) => "waits".to_string(),
            JobAnswer::Refused(_) => "refused".to_string(),
            JobAnswer::NotModelled(gap) => format!("{gap:?}"),
        }
    }

    /// The grant of a job that gets its nodes.
    pub fn grant(&self, line: &str) -> JobGrant {
        let requested = self.read(line).unwrap();
        match job(&self.cluster, requested.client, &requested.options) {
            JobAnswer::Granted(grant) => grant,
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
                let shown = |node: &berth_placement::controller::select::StepNode| {
                    let name = &self.cluster.nodes[node.node].name;
                    format!(" {name}={}", shown(&node.cores))
                };
                format!(
                    "granted{}",
                    step.nodes.iter().map(shown).collect::<String>()
                )
            }
            StepAnswer::Waits => "waits".to_string(),
            StepAnswer::Refused(_) => "refused".to_string(),
            StepAnswer::NotModelled(gap) => format!("{gap:?}"),
        }
    }
}

/// Cores as slurmctld writes them.
pub fn cores(list: &str) -> impl Iterator<Item = u32> + '_ {
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

/// Nodes n1, n2, … from `SOCKETSxCORESxTHREADS` and more words of slurm.conf, parted by commas.
pub fn world(line: SlurmLine, select: &str, nodes: &str) -> World {
    let mut conf = vec![format!("SelectTypeParameters={select}")];
    for (at, words) in nodes.split(',').enumerate() {
        let (shape, more) = words.trim().split_once(' ').unwrap_or((words.trim(), ""));
        let counts: Vec<&str> = shape.split('x').collect();
        conf.push(format!(
            "NodeName=n{} Sockets={} CoresPerSocket={} ThreadsPerCore={} {more}",
            at + 1,
            counts[0],
            counts[1],
            counts[2]
        ));
    }
    World::new(line, conf.iter().map(String::as_str))
}

/// Nodes with `CR_Core` and Slurm 22.05, from the words that [`world`] takes.
pub fn core(nodes: &str) -> World {
    world(SlurmLine::V22_05, "CR_Core", nodes)
}

/// Each line has the answer beside it.
#[track_caller]
pub fn gives(world: &World, cases: &[(&str, &str)]) {
    for (line, answer) in cases {
        assert_eq!(world.job(line), *answer, "{line}");
    }
}
