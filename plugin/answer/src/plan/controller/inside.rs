//! A step inside the job in which the command runs: on the job's own cores, as slurmctld would give
//! them to the step while no other step runs.

use berth_placement::controller::select::{
    self, Cluster, CoreSet, GrantedNode, JobGrant, JobRecord, LineOptions, Memory, Partition,
    Select,
};
use berth_placement::{CoreIdx, CpuSet, Node};
use berth_srun::reading::selection::Selection;

use super::cluster::like;
use super::{nodes, of_step};
use crate::lines::NoAnswer;
use crate::plan::owns::cores_of;
use crate::question::Question;
use crate::world::{OwnJob, Part};
use crate::{By, Fact};

/// A node of the job with its cores.
type JobNode = (String, Vec<CoreIdx>);

/// Asks for the step.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(super) fn granted(
    args: &Question,
    on: &Node,
    wanted: &Selection,
    job: &OwnJob,
) -> Result<nodes::Granted, NoAnswer> {
    let (nodes, fact) = nodes_of(args, on, job);
    let cluster = Cluster {
        nodes: nodes.iter().map(|(name, _)| like(on, name)).collect(),
        select: Select::default(),
        line: args.srun.release.modelled(),
        partition: Partition::default(),
    };
    let granted = |(node, (_, cores)): (usize, &JobNode)| {
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
        tasks: wanted.options.tasks.unwrap_or(1),
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
    // What the job's command passes on stands in the variables, and they are in the request.
    let passed = LineOptions::default();
    let step = select::step_inside(&cluster, &passed, &grant, &wanted.options);
    let made = nodes::Made {
        cluster: &cluster,
        job: &grant,
        step: &of_step(step)?,
    };
    let is_named = nodes.len() > 1 || args.srun.nodelist.is_some();
    Ok(made.granted(on, is_named, fact))
}

/// The job's nodes with its cores. Where slurmctld did not answer, only this one is known.
fn nodes_of(args: &Question, on: &Node, job: &OwnJob) -> (Vec<JobNode>, Fact) {
    let threads = on.shape().threads.max(1);
    let fact = |value: String, by, how: String| Fact::new("allocation", value, by, how);
    if job.nodes.len() > 1 {
        let cores = |cpus: &CpuSet| Part::Abstract(cpus.clone()).cores(threads, |_| None);
        let nodes = job.nodes.iter();
        let nodes: Vec<_> = nodes
            .map(|node| (node.name.clone(), cores(&node.cpus)))
            .collect();
        let value = format!("cores of job {} on {} nodes", job.id, nodes.len());
        let how = format!(
            "scontrol show job -d {}; every node is assumed to be like this one",
            job.id
        );
        return (nodes, fact(value, By::Found, how));
    }
    let named = args.standing.variable("SLURMD_NODENAME");
    let here = named.unwrap_or_else(|| "node0".into());
    let (cores, fact) = match &job.part {
        Some((part, how)) => {
            let fact = fact(String::new(), By::Found, how.clone());
            (cores_of(part, on), fact)
        }
        None => {
            let all = (0..on.table().cores.len() as u32).map(CoreIdx).collect();
            let why = format!("job {} does not show its cores: {}", job.id, job.unknown);
            (all, fact("the whole node".into(), By::Assumed, why))
        }
    };
    (vec![(here, cores)], fact)
}
