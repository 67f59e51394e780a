//! The nodes of a step that slurmctld gave: their names, cores and tasks, and a machine for each.

use std::collections::HashMap;
use std::sync::Arc;

use berth_placement::controller::select::{Cluster, CoreSet, JobGrant, StepGrant, StepNode};
use berth_placement::{CoreIdx, Machine, Node, Numbering, Shape};

use crate::Premise;
use crate::nodes::Names;
use crate::plan::owns::listed;
use crate::plan::step::NodePart;

/// What slurmctld gives.
pub(in crate::plan) struct Granted {
    pub names: Names,
    pub nodes: Vec<NodePart>,
    pub tasks: u32,
    pub premise: Premise,
    /// Whether slurmctld may choose other nodes.
    pub nodes_assumed: bool,
    /// The names of all nodes of the job.
    pub of_job: Vec<String>,
    /// Whether srun's berth takes the `-c` of the job's variables away.
    pub leaves_cores_to_cpuset: bool,
}

/// The model's answer.
pub(super) struct Made<'a> {
    pub cluster: &'a Cluster,
    pub job: &'a JobGrant,
    pub step: &'a StepGrant,
}

/// Sockets, cores, threads, and CPUs of a node.
type Counts = (u32, u32, u32, u32);

impl Made<'_> {
    /// The nodes of the step. One that is counted as the given machine is taken to be like it; another
    /// one is a machine of that many sockets, cores and threads, with its CPUs in blocks.
    pub(super) fn granted(&self, on: &Node, is_named: bool, premise: Premise) -> Granted {
        let mut others: HashMap<Counts, Option<Arc<Node>>> = HashMap::new();
        let shape = on.shape();
        let cpus = shape.core_count()
            * if shape.cpus_are_cores {
                1
            } else {
                shape.threads
            };
        let given: Counts = (shape.sockets, shape.cores, shape.threads, cpus);
        others.insert(given, None);
        let mut machine = |node: &StepNode| {
            let node = &self.cluster.nodes[node.node];
            let (cores, threads) = (node.cores_per_socket, node.threads_per_core);
            let counts = (node.sockets, cores, threads, node.cpus);
            others
                .entry(counts)
                .or_insert_with(|| regular(counts, on))
                .clone()
        };
        let nodes = self.step.nodes.iter().map(|node| NodePart {
            on: machine(node),
            job: self.cores_of_job(node),
            step: cores(&node.cores),
            tasks: node.tasks,
        });
        let name = |node: usize| self.cluster.nodes[node].name.clone();
        let names = self.step.nodes.iter().map(|node| name(node.node));
        let of_job = self.job.nodes.iter().map(|node| name(node.node));
        let nodes: Vec<_> = nodes.collect();
        let premise = Premise {
            value: match premise.value.is_empty() {
                true => in_words(&nodes),
                false => premise.value,
            },
            ..premise
        };
        Granted {
            nodes,
            names: match is_named {
                true => Names::Listed(names.collect()),
                false => Names::Numbered,
            },
            tasks: self.step.tasks,
            premise,
            nodes_assumed: self.job.nodes_assumed,
            of_job: of_job.collect(),
            leaves_cores_to_cpuset: false,
        }
    }

    fn cores_of_job(&self, node: &StepNode) -> Vec<CoreIdx> {
        let mut nodes = self.job.nodes.iter();
        let found = nodes.find(|granted| granted.node == node.node);
        found.map_or(Vec::new(), |granted| cores(&granted.cores))
    }
}

/// `cores 0-3`, or what differs from node to node in short.
fn in_words(nodes: &[NodePart]) -> String {
    match nodes {
        [one] if one.job == one.step => format!("cores {}", listed(&one.step)),
        [one] => format!(
            "cores {} of the job's {}",
            listed(&one.step),
            listed(&one.job)
        ),
        several => {
            let cores: usize = several.iter().map(|part| part.step.len()).sum();
            format!("{cores} cores on {} nodes", several.len())
        }
    }
}

pub(super) fn cores(set: &CoreSet) -> Vec<CoreIdx> {
    set.iter().map(CoreIdx).collect()
}

fn regular((sockets, cores, threads, cpus): Counts, on: &Node) -> Option<Arc<Node>> {
    let machine = Machine::regular(sockets, cores, threads, Numbering::Block)?;
    let mut shape = Shape::of(&machine, on.socket());
    shape.cpus_are_cores = cpus == sockets * cores;
    let node = Node::new(shape, Some(machine.into()), on.socket(), on.rules());
    Some(Arc::new(node))
}
