//! Writes a plan's decision into the handover.

use berth_placement::{CpuSet, Level, Plan, Request, Rule, SiteConfine, Wish};

use crate::step::Step;
use crate::step::device_order;
use crate::step::handover::{Handover, Outcome, Served};
use crate::step::words::{describe, join_bounded, rule};

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
        let (devices, own) = device_order::of(request, plan, &step.gpus);
        self.devices = devices;
        let near = step.near_notes.iter().filter(|_| plan.near.is_some());
        let unconfined = confine.note(step.confine, plan.is_bound());
        let before = std::mem::take(&mut self.note);
        let said = [before].into_iter().chain(near.cloned()).chain(own);
        self.note = join_bounded(&plan.notes, said.chain(unconfined.map(String::from)));
    }

    /// What `--cpu-bind=ldoms` gives the tasks beyond the step's CPUs, without the fix `ldoms-inside`. A cpuset and a pool
    /// hold their steps all the same.
    fn beyond_own(&self, request: &Request, plan: &Plan) -> CpuSet {
        let is_member = self.pool.as_ref().is_some_and(|pool| pool.member.is_some());
        let mut cpus = CpuSet::new();
        let outside = plan
            .tasks
            .iter()
            .filter(|task| !task.cpus.is_subset(&plan.own));
        outside.for_each(|task| cpus.insert_all(&task.cpus));
        let is_held = self.cpuset.is_some() || is_member;
        // A list of the user's own is cut.
        let is_given = || matches!(Wish::of(request), Ok(Wish::Level(Level::Ldoms)));
        if cpus.is_empty() || is_held || !is_given() {
            return CpuSet::new();
        }
        cpus.difference(&plan.own)
    }
}
