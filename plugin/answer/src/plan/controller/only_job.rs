//! A job without a step: its nodes and cores, and the first of its nodes, on which a batch script runs.

use std::sync::Arc;

use berth_placement::Node;
use berth_placement::controller::select::{self, Cluster, StepGrant, StepNode};
use berth_srun::reading::selection;

use super::{Granted, cluster, needed, nodes, of_job, with_size};
use crate::lines::NoAnswer;
use crate::lines::job::JobLine;
use crate::plan::owns::listed;
use crate::plan::step::PlannedJobNode;
use crate::question::Question;

/// What slurmctld gives a job.
pub(in crate::plan) struct OnlyJob {
    pub line: Arc<JobLine>,
    /// The tasks of its record.
    pub tasks: u32,
    /// `SLURM_NTASKS` of its steps.
    pub tasks_given: Option<u32>,
    pub nodes: Vec<PlannedJobNode>,
    /// The first node, with all of the job's cores there.
    pub first: Granted,
}

impl OnlyJob {
    /// The CPUs that slurmctld counts for it, on all its nodes.
    pub fn cpus(&self) -> u32 {
        self.nodes.iter().map(|node| node.cpus).sum()
    }
}

/// Asks for the job of a line.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(in crate::plan) fn only_job(
    args: &Question,
    on: &Node,
    line: Arc<JobLine>,
) -> Result<OnlyJob, NoAnswer> {
    let client = selection::client(line.program);
    let model = cluster::model(args, on, &line.wanted)?;
    let job = of_job(
        client,
        select::job(&model.cluster, client, &line.wanted.options),
    );
    let job = match job {
        Ok(job) => job,
        Err(NoAnswer::Refused(why)) if model.is_assumed => {
            let options = &line.wanted.options;
            let starts =
                |cluster: &Cluster| of_job(client, select::job(cluster, client, options)).is_ok();
            let needed = needed(on, &line.wanted, &model.cluster, starts);
            let needed = needed.unwrap_or_else(|| with_size(&why, on));
            return Err(NoAnswer::Refused(needed));
        }
        Err(why) => return Err(why),
    };
    let first = job.nodes.iter().take(1).map(|granted| StepNode {
        node: granted.node,
        cores: granted.cores.clone(),
        tasks: 1,
    });
    let made = nodes::Made {
        cluster: &model.cluster,
        job: &job,
        step: &StepGrant {
            nodes: first.collect(),
            tasks: 1,
        },
    };
    let nodes = job.nodes.iter().map(|granted| PlannedJobNode {
        name: model.cluster.nodes[granted.node].name.clone(),
        cores: listed(&nodes::cores(&granted.cores)),
        cpus: granted.cpus,
    });
    let is_named = !model.is_assumed || !line.wanted.options.node_names.is_empty();
    Ok(OnlyJob {
        tasks: job.tasks,
        tasks_given: job.record.tasks_given,
        nodes: nodes.collect(),
        first: made.granted(on, is_named, model.fact),
        line,
    })
}
