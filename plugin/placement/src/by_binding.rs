//! A plan by Grid Engine's core binding, which decides alone.
//! In: the binding, the step's whole cores. Out: a plan, a note, or a refusal. Pure.

use crate::binding::{Binding, Scope, Strategy};
use crate::cpu_bind::Mode;
use crate::cpuset::CpuSet;
use crate::linear::FreeCores;
use crate::plan::{Message, Plan};
use crate::planner::Planner;
use crate::refusal::{Note, Refusal};
use crate::rule::Rule;

impl Planner<'_> {
    /// Grid Engine's core binding: it decides alone.
    pub(crate) fn by_binding(
        &self,
        binding: &Binding,
        mode: Option<&Mode>,
    ) -> Result<Plan, Refusal> {
        if let Some(text) = binding.unsupported() {
            return Err(Refusal::BindingFailed(text));
        }
        if let Some(list) = mode.filter(|mode| **mode != Mode::Free) {
            return Err(Refusal::BindingBesideList {
                binding: binding.to_string(),
                list: list.clone(),
            });
        }
        let Strategy::Linear { amount, .. } = binding.strategy else {
            return mode.map_or_else(|| self.by_level(), |mode| self.by_mode(mode));
        };
        self.owns_any()?;
        let takers = match binding.scope {
            Scope::Task => self.ask.tasks,
            Scope::Host => 1,
        };
        let free = FreeCores::of(self.table, &self.available, self.on.shape.threads);
        let found = free.count();
        match free.linear(takers, amount) {
            Some(cores) => Ok(self.bound(binding, &cores)),
            None => self.not_bound(binding, amount, found),
        }
    }

    fn bound(&self, binding: &Binding, cores: &[Vec<u32>]) -> Plan {
        let limit = self.threads_per_core().unwrap_or(u32::MAX) as usize;
        let cpus_of = |core: &u32| {
            let first = core * self.table.stride;
            let pus = self.available.among(first..first + self.table.stride);
            self.table.cpus(pus.take(limit))
        };
        let mut sets = cores.iter().map(|cores| {
            let mut all = CpuSet::new();
            cores.iter().for_each(|core| all.insert_all(&cpus_of(core)));
            all
        });
        let tasks: Vec<CpuSet> = match binding.scope {
            Scope::Task => sets.collect(),
            Scope::Host => {
                let shared = sets.next().unwrap_or_default();
                vec![shared; self.ask.tasks as usize]
            }
        };
        let message = Message::one_a_task(self.width());
        self.finish(tasks, Rule::Binding(binding.to_string()), message, vec![])
    }

    fn not_bound(&self, binding: &Binding, amount: u32, found: usize) -> Result<Plan, Refusal> {
        let tasks = self.ask.tasks;
        let asked = match binding.scope {
            Scope::Task if tasks > 1 => format!("{tasks} tasks × {amount} cores"),
            Scope::Task | Scope::Host => format!("{amount} cores"),
        };
        let instead = better_line(binding, tasks, amount, found);
        let text = format!(
            "--binding={binding} asks for {asked}; this step has {found} whole free cores here{instead}"
        );
        if binding.strict || self.ask.rules.refuse_failed_binding {
            return Err(Refusal::BindingFailed(text));
        }
        let text = format!("{text}; not bound, every task may use all CPUs of the step");
        Ok(self.all_to_all(Rule::BindingFailed, vec![Note::NotBound(text)]))
    }
}

/// The line that would have fitted, if there is one.
fn better_line(binding: &Binding, tasks: u32, amount: u32, found: usize) -> String {
    let strict = if binding.strict { "strict:" } else { "" };
    let per_task = found / tasks.max(1) as usize;
    if binding.scope == Scope::Task && tasks > 1 && amount as usize <= found {
        format!("; --binding=host:{strict}linear:{amount} would fit")
    } else if binding.scope == Scope::Task && per_task > 0 {
        format!("; --binding={strict}linear:{per_task} would fit")
    } else if found > 0 {
        format!("; --binding=host:{strict}linear:{found} would fit")
    } else {
        String::new()
    }
}
