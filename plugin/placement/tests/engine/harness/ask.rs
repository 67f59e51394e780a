//! A request with all that counts beside it, and the way to the engine. When the engine's door changes, this file
//! and `ask_text` do.

use std::sync::Arc;

use berth_placement::request::cpuset::{Choice, CpusetRequest, Dynamic, StepCpuset};
use berth_placement::{
    Claims, Level, Machine, Node, Plan, Refusal, Request, Rules, Shape, SocketKind, plan,
    plan_batch,
};

use berth_placement::{CpuSet, Distribution};
use berth_srun::spelling;

pub const LEVELS: [Level; 4] = [Level::Threads, Level::Cores, Level::Sockets, Level::Ldoms];

/// What is requested, what others hold, and the rules of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    pub request: Request,
    pub claims: Claims,
    pub rules: Rules,
    /// slurm.conf counts as many CPUs as cores.
    pub counts_cores: bool,
    /// It is the job's script, and no step.
    pub is_script: bool,
}

/// What every task got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub masks: Vec<CpuSet>,
    pub notes: Vec<String>,
    pub plan: Plan,
}

impl Answer {
    /// The CPUs of all tasks.
    pub fn used(&self) -> CpuSet {
        self.masks.iter().flat_map(CpuSet::iter).collect()
    }
}

impl Ask {
    /// The node on which it is asked. slurmd counts the machine as usual, or has the given shape.
    pub fn node(&self, machine: &Arc<Machine>, kind: SocketKind, shape: Option<Shape>) -> Node {
        let mut shape = shape.unwrap_or_else(|| Shape::of(machine, kind));
        shape.cpus_are_cores |= self.counts_cores;
        Node::new(shape, Some(machine.clone()), kind, self.rules)
    }

    pub fn plan(&self, node: &Node) -> Result<Plan, Refusal> {
        let door = if self.is_script { plan_batch } else { plan };
        door(&self.request, node, &self.claims)
    }

    pub fn answer(&self, machine: &Arc<Machine>, kind: SocketKind) -> Result<Answer, Refusal> {
        let plan = self.plan(&self.node(machine, kind, None))?;
        Ok(Answer {
            masks: plan.tasks.iter().map(|task| task.cpus.clone()).collect(),
            notes: plan.notes.iter().map(ToString::to_string).collect(),
            plan,
        })
    }

    /// Whether one of the options that limit tasks or threads is there.
    pub fn is_limited(&self) -> bool {
        let request = &self.request;
        let limits = [
            request.threads_per_core,
            request.ntasks_per_core,
            request.ntasks_per_socket,
        ];
        request.cpu_bind.one_thread || limits.iter().any(Option::is_some)
    }

    /// CPUs that all tasks ask for together.
    pub fn wanted(&self) -> usize {
        self.request.tasks as usize * self.request.cpus_per_task as usize
    }
}

pub fn distribution(text: &str) -> Distribution {
    spelling::distribution(text).expect("a distribution")
}

/// What a text such as `NCPUS=4` requests.
pub fn dynamic(text: &str) -> Dynamic {
    match text.parse() {
        Ok(CpusetRequest::Dynamic(requested)) => requested,
        other => panic!("{text}: {other:?}"),
    }
}

/// A cpuset to choose.
pub fn choosing(text: &str) -> StepCpuset {
    StepCpuset::Choose(Choice {
        requested: dynamic(text),
        job_nodes: 1,
        is_count_typed: true,
    })
}
