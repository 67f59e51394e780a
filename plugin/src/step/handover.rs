//! slurmd's words to slurmstepd about a step, in one variable of the launch message: a plan's decision, or a wish that
//! slurmstepd decides beside other steps. slurmd marks it with its key ([`crate::step::seal`]); slurmstepd trusts
//! nothing else. In: a plan or a step. Out: JSON, and back. Fields with unknown names are ignored, so that a release
//! can add some.

use std::str::FromStr;

use berth_host::ledger::Cpuset;
use berth_placement::request::near::What;
use berth_placement::sets::limits::{HANDOVER_BYTES, TRES_BIND_BYTES};
use berth_placement::{
    Binding, Chosen, CpuSet, DeviceOrder, Level, MemBind, Near, NodeSet, Plan, Request, Rule,
    SetMemory, SiteConfine, Wish,
};
use serde::{Deserialize, Serialize};
use slurm_sys::LaunchRequest;

use crate::step::words::{describe, join_bounded, rule};
use crate::step::{GpuGrant, Step};

/// The result for a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The message has the tasks' masks.
    Bound,
    /// Nothing is bound, as requested.
    #[default]
    Unbound,
    /// A `--binding` failed: the message has the step's CPUs.
    Failed,
    /// The tasks must not start.
    Refused,
    /// The administrator has switched berth off.
    Off,
}

/// A step's decision, or its wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Handover {
    pub outcome: Outcome,
    /// The mark of the list that the message carries ([`berth_srun::inherited`]); empty for none.
    #[serde(skip)]
    pub list: String,
    /// The step's CPUs; no task is bound to others, except to those in `beyond`.
    pub own: CpuSet,
    /// CPUs of others that a task is bound to as well: task/affinity gives whole memory domains.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub beyond: CpuSet,
    /// Whether slurmd's map does not say which CPUs each core has: the machine file does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_tree: bool,
    /// The request, for the log and the tasks. Nothing is ever read from this text.
    pub request: String,
    /// The rule that decided, for the log and the tasks. Nothing is ever read from this text.
    pub rule: String,
    /// Notes to the user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The `--binding` that was served.
    #[serde(skip)]
    pub served: Option<Served>,
    /// The requested `--mem-bind`, if the message has each task's NUMA nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemBind>,
    /// The order in which tasks are to see their GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceOrder>,
    /// The cpuset that the step runs in.
    #[serde(skip)]
    pub cpuset: Option<InCpuset>,
    /// The job's place among the node's pools; none on a node without pools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<InPool>,
    /// Whether bound tasks are confined to their CPUs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confine: bool,
    /// The wish that slurmstepd decides. Until then the message has the step's own CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Box<Step>>,
}

/// A `--binding`, and the cores that it chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub binding: Binding,
    pub chosen: Chosen,
}

/// A cpuset that a step runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InCpuset {
    pub cpus: CpuSet,
    /// Its line in LSF's form, for the log and the tasks. Nothing is ever read from this text.
    pub line: String,
    /// Its memory nodes, and what they mean.
    pub mems: NodeSet,
    pub memory: SetMemory,
    /// Its entry in the ledger; the site's own cpusets have none.
    pub held: Option<Cpuset>,
    /// The request that chose it, for the day on which its job is resumed; empty for the site's own.
    pub requested: String,
}

/// A job on a node with pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InPool {
    /// The weight of every job that is in no pool.
    pub others: u32,
    /// The pool that the job is in, if it fits in.
    pub member: Option<Member>,
}

/// A job that is in a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// The pool's name.
    pub name: String,
    /// The most hardware threads of all of its jobs.
    pub limit: u32,
    /// The most hardware threads of all pools.
    pub most: u32,
    /// The job's weight.
    pub weight: u32,
    /// The job's CPUs on this node.
    pub cpus: CpuSet,
    /// The hardware threads of each CPU that Slurm counts; 0 is 1.
    pub threads: u32,
    /// The variable that tells a task its number of CPUs.
    pub export: String,
}

impl Member {
    /// Hardware threads as Slurm's CPUs.
    pub(crate) fn slurms(&self, threads: u32) -> u32 {
        threads.div_ceil(self.threads.max(1))
    }

    /// The number of these CPUs, as Slurm counts them.
    pub(crate) fn count(&self, cpus: &CpuSet) -> u32 {
        self.slurms(u32::try_from(cpus.count()).unwrap_or(u32::MAX))
    }

    /// The CPUs of the job, as Slurm counts them.
    pub(crate) fn cpu_count(&self) -> u32 {
        self.count(&self.cpus)
    }
}

impl FromStr for Handover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > HANDOVER_BYTES {
            return Err(format!("it has {} bytes", text.len()));
        }
        serde_json::from_str(text).map_err(|why| why.to_string())
    }
}

impl Handover {
    /// Adds a plan's decision, and what the user should know of it before what is known already.
    pub(crate) fn decided(&mut self, step: &Step, plan: &Plan, confine: SiteConfine) {
        let request = &step.request;
        self.outcome = match plan.decision.rule {
            Rule::BindingFailed => Outcome::Failed,
            _ if plan.is_bound() => Outcome::Bound,
            _ => Outcome::Unbound,
        };
        self.own = plan.own.clone();
        self.beyond = self.beyond_own(request, plan);
        self.request = describe(request);
        self.rule = rule(&plan.decision.rule);
        let served = request.binding.clone().zip(plan.chosen.clone());
        self.served = served.map(|(binding, chosen)| Served { binding, chosen });
        let bound = plan.tasks.iter().any(|task| task.mems.is_some());
        self.memory = bound.then(|| request.mem_bind.clone());
        let (devices, own) = device_order(request, plan, &step.gpus);
        self.devices = devices;
        let near = step.near_notes.iter().filter(|_| plan.near.is_some());
        let unconfined = confine.note(step.confine, plan.is_bound());
        let before = std::mem::take(&mut self.note);
        let said = [before].into_iter().chain(near.cloned()).chain(own);
        self.note = join_bounded(&plan.notes, said.chain(unconfined.map(String::from)));
    }

    /// Whether its job's cpuset or pool holds the step, whatever it requests.
    pub(crate) fn is_held(&self) -> bool {
        let pool = self.pool.as_ref();
        self.cpuset.is_some() || pool.is_some_and(|pool| pool.member.is_some())
    }

    /// The CPUs that `--cpu-bind=ldoms` gives the tasks beyond the step's, without the fix `ldoms-inside`.
    fn beyond_own(&self, request: &Request, plan: &Plan) -> CpuSet {
        let mut cpus = CpuSet::new();
        let outside = plan
            .tasks
            .iter()
            .filter(|task| !task.cpus.is_subset(&plan.own));
        outside.for_each(|task| cpus.insert_all(&task.cpus));
        // A list of the user's own is cut.
        let is_given = || matches!(Wish::of(request), Ok(Wish::Level(Level::Ldoms)));
        if cpus.is_empty() || self.is_held() || !is_given() {
            return CpuSet::new();
        }
        cpus.difference(&plan.own)
    }
}

/// The step's GPUs by its launch request. `are_listed`: Slurm gave it some, and lists them.
/// Source: Slurm writes each task's list after berth's last hook (`gres_g_task_set_env`): the devices that it bound to the
/// task, or with `none` all of the step's.
pub(crate) fn gpu_grant(launch: &LaunchRequest<'_>, are_listed: bool) -> GpuGrant {
    // A list that is too long is a binding of Slurm's too.
    let bind = launch.tres_bind(TRES_BIND_BYTES);
    let bind = bind.map_or_else(|why| why.to_string(), Option::unwrap_or_default);
    GpuGrant {
        are_listed,
        are_bound: !bind.is_empty() || launch.accel_bind_type() != 0,
        all_in_each: bind.contains("gpu:none"),
    }
}

/// The order in which tasks see their GPUs; none if Slurm itself lists each task's devices, or no variable can. The second
/// value is a note to the user whose `:own` has no effect.
pub(crate) fn device_order(
    request: &Request,
    plan: &Plan,
    gpus: &GpuGrant,
) -> (Option<DeviceOrder>, Option<String>) {
    let Some((near, nearby)) = request.near.as_ref().zip(plan.near.as_ref()) else {
        return (None, None);
    };
    if gpus.are_bound {
        let is_lost = near.own && gpus.all_in_each;
        return (None, is_lost.then(|| bound_by_slurm(near)));
    }
    let order = DeviceOrder::of(near, nearby, gpus.are_listed);
    let note = order.is_none().then(|| too_many(near)).flatten();
    (order, note)
}

fn bound_by_slurm(near: &Near) -> String {
    format!(
        "--near={near}: with --gpu-bind=none Slurm lists all of the step's GPUs in each task, so \
         :own changes nothing here; leave out --gpu-bind"
    )
}

fn too_many(near: &Near) -> Option<String> {
    let own = near.own && near.what == What::Gpu;
    own.then(|| {
        format!(
            "--near={near}: this node has more GPUs than berth lists in a variable, so :own changes \
             nothing here; leave it out"
        )
    })
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
