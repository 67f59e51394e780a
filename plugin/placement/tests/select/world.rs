//! A cluster in few words, and slurmctld's answers in few words.
//! In: words of slurm.conf, and lines. Out: `granted n1=0-3:8` (cores, and the job's CPUs),
//! `waits`, `refused`, or a gap's name.

use berth_placement::controller::select::Client;
use berth_placement::controller::select::{
    Cluster, ClusterNode, CoreSet, JobAnswer, JobGrant, Memory, Partition, Select, SlurmLine,
    Specialised, StepAnswer, Unit, job, own_step, step_inside,
};

use crate::line;

/// A cluster, and what it is asked.
pub struct World {
    pub cluster: Cluster,
}

impl World {
    /// A cluster of idle nodes; `configuration` are lines of slurm.conf.
    pub fn new<'a>(line: SlurmLine, configuration: impl IntoIterator<Item = &'a str>) -> Self {
        let mut world = Self {
            cluster: Cluster {
                nodes: Vec::new(),
                select: Select::default(),
                line,
                partition: Partition::default(),
            },
        };
        for line in configuration {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.first() {
                Some(word) if word.starts_with("NodeName=") => world.add_node(&words),
                _ => words.iter().for_each(|word| world.set(word)),
            }
        }
        world
    }

    fn add_node(&mut self, words: &[&str]) {
        let number = |key: &str| {
            let value = words.iter().find_map(|word| word.strip_prefix(key));
            value.map(|value| value.parse::<u32>().expect("a number"))
        };
        let name = words[0].strip_prefix("NodeName=").unwrap_or_default();
        let sockets = number("Sockets=").unwrap_or(1);
        let cores = number("CoresPerSocket=").unwrap_or(1);
        let threads = number("ThreadsPerCore=").unwrap_or(1);
        let mut node = ClusterNode::idle(name, sockets, cores, threads);
        node.cpus = number("CPUs=").unwrap_or(sockets * cores * threads);
        node.weight = number("Weight=").unwrap_or(1);
        node.memory = number("RealMemory=").unwrap_or(1).into();
        if let Some(count) = number("CoreSpecCount=") {
            node.specialised = Specialised::Count(count);
        }
        self.cluster.nodes.push(node);
    }

    fn set(&mut self, word: &str) {
        let (key, value) = word.split_once('=').expect("a setting");
        let partition = &mut self.cluster.partition;
        match key {
            "SelectType" => self.cluster.select.unit = Unit::Node,
            "SelectTypeParameters" => value.split(',').for_each(|word| self.select(word)),
            "AllowSpecResourcesUsage" => self.cluster.select.allow_spec_usage = value == "YES",
            "DefMemPerCPU" => {
                partition.default_memory = value.parse().ok().map(Memory::PerCpu);
            }
            "DefMemPerNode" => {
                partition.default_memory = value.parse().ok().map(Memory::PerNode);
            }
            "MaxCPUsPerNode" => partition.max_cpus_per_node = value.parse().ok(),
            "OverSubscribe" => partition.whole_nodes = value == "EXCLUSIVE",
            "PartitionName" => {}
            _ => panic!("{word} is not known here"),
        }
    }

    fn select(&mut self, word: &str) {
        let select = &mut self.cluster.select;
        select.memory |= word.ends_with("_Memory");
        match word.strip_suffix("_Memory").unwrap_or(word) {
            "CR_CPU" => select.unit = Unit::Cpu,
            "CR_Core" => select.unit = Unit::Core,
            "CR_Socket" => select.unit = Unit::Socket,
            "CR" => {}
            "CR_ONE_TASK_PER_CORE" => select.one_task_per_core = true,
            "CR_CORE_DEFAULT_DIST_BLOCK" => select.block_by_default = true,
            "CR_Pack_Nodes" => select.pack_nodes = true,
            _ => panic!("{word} is not known here"),
        }
    }

    /// Cores of the first node that jobs do not get.
    pub fn special(mut self, list: &str) -> Self {
        self.cluster.nodes[0].specialised = Specialised::Cores(cores(list).collect());
        self
    }

    /// What a job gets.
    pub fn job(&self, line: &str) -> String {
        let (client, options) = line::read(line);
        match job(&self.cluster, client, &options) {
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
        let (client, options) = line::read(line);
        match job(&self.cluster, client, &options) {
            JobAnswer::Granted(grant) => grant,
            other => panic!("{line}: {other:?}"),
        }
    }

    /// What the job's own step gets (srun), or a step of this line inside it.
    pub fn step(&self, line: &str, step: &str) -> String {
        let (client, options) = line::read(line);
        let grant = self.grant(line);
        let answer = match client {
            Client::Srun => own_step(&self.cluster, &options, &grant),
            _ => step_inside(&self.cluster, &options, &grant, &line::read(step).1),
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

/// The same with `CR_Core` and 22.05.
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
