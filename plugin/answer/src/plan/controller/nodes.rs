//! The nodes of a step that slurmctld gives: their names, cores and tasks, and a machine for each. So it does for a step in
//! the job in which the command runs.

use std::collections::HashMap;
use std::sync::Arc;

use berth_placement::controller::select::{
    self, Cluster, ClusterNode, CoreSet, GrantedNode, JobGrant, JobRecord, LineOptions, Memory,
    Partition, Select, StepGrant, StepNode,
};
use berth_placement::{CoreIdx, CpuSet, Machine, Node, Numbering, Shape};
use berth_srun::reading::selection::Selection;

use super::cluster::like;
use super::words::of_step;
use crate::lines::NoAnswer;
use crate::nodes::Names;
use crate::plan::owns::{cores_of, listed};
use crate::plan::step::NodePart;
use crate::world::{OwnJob, Part};
use crate::{Premise, Provenance, Question};

/// The nodes that slurmctld gives.
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
    /// How the nodes of the cluster number their CPUs.
    pub numbering: Option<Numbering>,
}

/// The size of a node: cores of each socket, and threads of each core.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Size {
    sockets: u32,
    cores: u32,
    threads: u32,
    cpus: u32,
}

impl Size {
    fn of(node: &ClusterNode) -> Self {
        Self {
            sockets: node.sockets,
            cores: node.cores_per_socket,
            threads: node.threads_per_core,
            cpus: node.cpus,
        }
    }

    /// A machine of this size, with its CPUs in blocks if nobody says how they are numbered.
    fn machine(self, on: &Node, numbering: Option<Numbering>) -> Option<Arc<Node>> {
        let numbering = numbering.unwrap_or(Numbering::Block);
        let machine = Machine::regular(self.sockets, self.cores, self.threads, numbering)?;
        let mut shape = Shape::of(&machine, on.socket());
        shape.cpus_are_cores = self.cpus == self.sockets * self.cores;
        let node = Node::new(shape, Some(machine.into()), on.socket(), on.rules());
        Some(Arc::new(node))
    }
}

impl Made<'_> {
    /// The nodes of the step. One that is counted as the given machine is taken to be like it; another
    /// one is a machine of that many sockets, cores and threads.
    pub(super) fn granted(&self, on: &Node, is_named: bool, premise: Premise) -> Granted {
        let given = Size::of(&like(on, ""));
        let mut machines = HashMap::from([(given, None)]);
        let mut machine = |node: &StepNode| {
            let size = Size::of(&self.cluster.nodes[node.node]);
            let known = machines.entry(size);
            known
                .or_insert_with(|| size.machine(on, self.numbering))
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

/// A node of the job with its cores.
struct JobNode {
    name: String,
    cores: Vec<CoreIdx>,
}

/// Asks for a step inside the job in which the command runs: on the job's own cores, as slurmctld would give them to the
/// step while no other step runs.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(super) fn in_own_job(
    args: &Question,
    on: &Node,
    selection: &Selection,
    job: &OwnJob,
) -> Result<Granted, NoAnswer> {
    let (nodes, premise) = nodes_of(args, on, job);
    let cluster = Cluster {
        nodes: nodes.iter().map(|node| like(on, &node.name)).collect(),
        select: Select::default(),
        line: args.srun.release.modelled(),
        partition: Partition::default(),
    };
    let granted = |(node, JobNode { cores, .. }): (usize, &JobNode)| {
        let mut set = CoreSet::new();
        cores.iter().for_each(|core| set.insert(core.0));
        GrantedNode {
            node,
            cores: set,
            cpus: cores.len() as u32 * cluster.nodes[node].cpus_per_core(),
        }
    };
    let grant = JobGrant {
        nodes: nodes.iter().enumerate().map(granted).collect(),
        nodes_assumed: false,
        tasks: selection.options.tasks.unwrap_or(1),
        record: JobRecord {
            tasks_given: None,
            cpus_per_task: None,
            threads_per_core: None,
            tasks_per_node: None,
            tasks_per_core: None,
            whole_nodes: false,
            overcommit: false,
            memory: Memory::PerNode(0),
        },
    };
    // Options that sbatch passes on by variables are in the request already.
    let passed = LineOptions::default();
    let step = select::step_inside(&cluster, &passed, &grant, &selection.options);
    let made = Made {
        cluster: &cluster,
        job: &grant,
        step: &of_step(step)?,
        numbering: args.numbering,
    };
    let is_named = nodes.len() > 1 || args.srun.nodelist.is_some();
    Ok(made.granted(on, is_named, premise))
}

/// The job's nodes with its cores. Where slurmctld did not answer, only this one is known.
fn nodes_of(args: &Question, on: &Node, job: &OwnJob) -> (Vec<JobNode>, Premise) {
    let threads = on.shape().threads.max(1);
    let premise = |value: String, by, how: String| Premise::new("allocation", value, by, how);
    if job.nodes.len() > 1 {
        let cores = |cpus: &CpuSet| Part::Abstract(cpus.clone()).cores(threads, |_| None);
        let nodes = job.nodes.iter();
        let nodes: Vec<_> = nodes
            .map(|node| JobNode {
                name: node.name.clone(),
                cores: cores(&node.cpus),
            })
            .collect();
        let value = format!("cores of job {} on {} nodes", job.id, nodes.len());
        let how = format!(
            "scontrol show job -d {}; every node is assumed to be like this one",
            job.id
        );
        return (nodes, premise(value, Provenance::Found, how));
    }
    let named = args.context.variable("SLURMD_NODENAME");
    let name = named.unwrap_or_else(|| "node0".into());
    let (cores, premise) = match &job.part {
        Some((part, how)) => {
            let premise = premise(String::new(), Provenance::Found, how.clone());
            (cores_of(part, on), premise)
        }
        None => {
            let all = (0..on.table().cores.len() as u32).map(CoreIdx).collect();
            let why = format!("job {} does not show its cores: {}", job.id, job.unknown);
            (
                all,
                premise("the whole node".into(), Provenance::Assumed, why),
            )
        }
    };
    (vec![JobNode { name, cores }], premise)
}
