//! Writes a plan's decision into the handover.

use berth_placement::{Plan, Request};

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
        self.request = describe(ask);
        self.rule = rule(&plan.decision.rule);
        let served = ask.binding.clone().zip(plan.chosen.clone());
        self.served = served.map(|(binding, chosen)| Served { binding, chosen });
        let bound = plan.tasks.iter().any(|task| task.mems.is_some());
        self.memory = bound.then(|| ask.mem_bind.clone());
    }
}
