//! Which cores of its nodes slurmctld gives a job, and a step inside it: `select/cons_tres` and
//! `select/linear`. Which nodes a job gets is assumed.
//! In: a cluster, and a line's options as they were given. Out: nodes with cores and CPUs, or why there
//! are none. What the model does not know is an answer of its own, never a guess. Pure.

pub mod answer;
mod client;
pub mod cluster;
mod counts;
mod details;
mod job;
mod linear;
mod node_cores;
mod nodes;
mod offer;
pub mod options;
mod step;
mod take;

pub use answer::{
    ClientRefusal, Gap, GrantedNode, JobAnswer, JobGrant, JobRecord, JobRefusal, StepAnswer,
    StepGrant, StepNode, StepRefusal, Wait,
};
pub use client::{ClientRules, SrunTasks};
pub use cluster::{
    Cluster, ClusterError, ClusterNode, CoreSet, Memory, Partition, Select, SlurmLine, Specialised,
    Unit,
};
pub use options::{Client, LineOptions, NodeRange, Sharing};

use step::request::{Job, StepRequest};

/// slurmctld's answer to a job while all nodes are idle.
#[must_use]
pub fn job(cluster: &Cluster, client: Client, options: &LineOptions) -> JobAnswer {
    match cluster.check() {
        Err(why) => JobAnswer::NotModelled(Gap::Cluster(why)),
        Ok(()) => job::answer(cluster, client, options),
    }
}

/// The step that srun starts as a part of its own job.
///
/// `options` are the same as the job's.
#[must_use]
pub fn own_step(cluster: &Cluster, options: &LineOptions, job: &JobGrant) -> StepAnswer {
    let job = Job::new(cluster, job);
    match StepRequest::own(cluster, options, &job) {
        Ok(requested) => step::answer(&job, &requested),
        Err(answer) => answer,
    }
}

/// A step that srun starts inside a job of salloc or sbatch, while no other step of it runs.
///
/// `job_options` are the job's own: salloc and sbatch pass some of them on as variables.
#[must_use]
pub fn step_inside(
    cluster: &Cluster,
    job_options: &LineOptions,
    job: &JobGrant,
    options: &LineOptions,
) -> StepAnswer {
    let inside = Job::new(cluster, job);
    match StepRequest::inside(cluster, job_options, job, options, &inside) {
        Ok(requested) => step::answer(&inside, &requested),
        Err(answer) => answer,
    }
}
