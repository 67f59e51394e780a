//! Writes a plan's decision into the handover.

use berth_placement::{CpuSet, Level, Plan, Request, Wish};

use crate::message::handover::{Handover, Outcome, Served};
use crate::message::inherited;
use crate::planning::words::{describe, rule};

impl Handover {
    /// Adds a plan's decision.
    pub(crate) fn decided(&mut self, ask: &Request, plan: &Plan) {
        self.outcome = match plan.decision.rule {
            berth_placement::Rule::BindingFailed => Outcome::Failed,
            _ if plan.is_bound() => Outcome::Bound,
            _ => Outcome::Unbound,
        };
        self.list = inherited::mark(plan);
        self.own = plan.own.clone();
        self.beyond = self.beyond_own(ask, plan);
        self.request = describe(ask);
        self.rule = rule(&plan.decision.rule);
        let served = ask.binding.clone().zip(plan.chosen.clone());
        self.served = served.map(|(binding, chosen)| Served { binding, chosen });
        let bound = plan.tasks.iter().any(|task| task.mems.is_some());
        self.memory = bound.then(|| ask.mem_bind.clone());
    }

    /// What `--cpu-bind=ldoms` gives the tasks beyond the step's CPUs, without the fix `ldoms-inside`. A cpuset and a pool
    /// hold their steps all the same.
    fn beyond_own(&self, ask: &Request, plan: &Plan) -> CpuSet {
        let is_member = self.pool.as_ref().is_some_and(|pool| pool.member.is_some());
        let is_ldoms = matches!(Wish::of(ask), Ok(Wish::Level(Level::Ldoms)));
        let mut cpus = CpuSet::new();
        if is_ldoms && self.cpuset.is_none() && !is_member {
            plan.tasks
                .iter()
                .for_each(|task| cpus.insert_all(&task.cpus));
        }
        cpus.difference(&plan.own)
    }
}
