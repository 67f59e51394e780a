//! A plan by Grid Engine's core binding, which decides alone.
//! In: the binding, the step's whole cores, what others are bound to. Out: a plan, a note,
//! or a refusal. Pure.

pub mod cores;
pub mod linear;
pub mod striding;

use crate::answer::cores::{Chosen, ChosenCore};
use crate::answer::refusal::{Note, Refusal, short};
use crate::answer::rule::Rule;
use crate::plan::{Message, Plan};
use crate::request::cpu_bind::Mode;
use crate::request::grid_engine::{Binding, Instance, Scope, Strategy};
use crate::strategy::grid_engine::cores::{Cores, Hurdle, State};
use crate::strategy::grid_engine::striding::striding;
use crate::strategy::planner::Planner;

impl Planner<'_> {
    /// Grid Engine's core binding: it decides alone.
    pub(crate) fn by_binding(
        &self,
        binding: &Binding,
        mode: Option<&Mode>,
    ) -> Result<Plan, Refusal> {
        // Whoever asks for no binding gets none: mpirun starts its daemons so, in steps that
        // inherit the job's --binding.
        if binding.strategy == Strategy::None || mode == Some(&Mode::Free) {
            return mode.map_or_else(|| self.by_level(), |mode| self.by_mode(mode));
        }
        if let Some(list) = mode {
            return Err(Refusal::BindingBesideList {
                binding: short(binding),
                list: list.clone(),
            });
        }
        self.owns_any()?;
        let threads = self.on.shape.threads;
        let others = &self.ask.occupied;
        let cores = Cores::of(self.table, &self.available, threads, others);
        match choose(binding, &cores, self.ask.tasks) {
            Ok(found) => Ok(self.chosen(binding, &self.look_up(&cores, &found))),
            Err(hurdle) => self.not_bound(binding, &cores, hurdle),
        }
    }

    fn look_up(&self, cores: &Cores, found: &[Vec<usize>]) -> Chosen {
        let limit = self.threads_per_core().unwrap_or(u32::MAX) as usize;
        let core = |at: &usize| {
            let core = cores.at(*at)?;
            let first = core.index * self.table.stride;
            let pus = self.available.among(first..first + self.table.stride);
            Some(ChosenCore {
                place: core.place,
                cpus: self.table.cpus(pus.take(limit)),
            })
        };
        let task = |cores: &Vec<usize>| cores.iter().filter_map(core).collect();
        Chosen(found.iter().map(task).collect())
    }

    fn chosen(&self, binding: &Binding, chosen: &Chosen) -> Plan {
        let rule = Rule::Binding(binding.to_string());
        let mut plan = match binding.instance {
            Instance::Set => {
                let count = self.ask.tasks as usize;
                let tasks = match chosen.0.as_slice() {
                    [_] => vec![chosen.cpus_of_task(0); count],
                    _ => (0..count).map(|id| chosen.cpus_of_task(id)).collect(),
                };
                let message = Message::one_a_task(self.width());
                self.finish(tasks, rule, message, vec![])
            }
            // The job binds itself, by what it is told.
            Instance::Env | Instance::Pe => self.all_to_all(rule, vec![]),
        };
        plan.chosen = Some(chosen.clone());
        plan
    }

    fn not_bound(&self, binding: &Binding, cores: &Cores, hurdle: Hurdle) -> Result<Plan, Refusal> {
        let tasks = self.ask.tasks;
        let asked = asked(binding, tasks);
        let found = in_the_way(cores, hurdle);
        let instead = better_line(binding, cores, tasks);
        let shown = short(binding);
        let text = format!("--binding={shown} asks for {asked}; {found}{instead}");
        if binding.strict || self.ask.rules.refuse_failed_binding {
            return Err(Refusal::BindingFailed(text));
        }
        let text = format!("{text}; not bound, every task may use all CPUs of the step");
        Ok(self.all_to_all(Rule::BindingFailed, vec![Note::NotBound(text)]))
    }
}

/// Positions of each task's cores, or of those that all share.
fn choose(binding: &Binding, cores: &Cores, tasks: u32) -> Result<Vec<Vec<usize>>, Hurdle> {
    let takers = match binding.scope {
        Scope::Task => tasks,
        Scope::Host => 1,
    };
    match &binding.strategy {
        Strategy::None => Ok(vec![]),
        Strategy::Linear {
            amount,
            start: None,
        } => linear::anywhere(cores, takers, *amount),
        Strategy::Linear {
            amount,
            start: Some(start),
        } => linear::from(cores, takers, *amount, *start),
        Strategy::Striding {
            amount,
            step,
            start,
        } => striding(cores, takers, (*amount, *step), *start),
        // Section 4.1 of the specification: all or nothing. Absolute cores are shared.
        Strategy::Explicit(places) => {
            let run = |place| cores.run(cores.find(place)?, 1, 1);
            let all: Result<Vec<_>, _> = places.iter().copied().map(run).collect();
            Ok(vec![all?.concat()])
        }
    }
}

fn amount(binding: &Binding) -> u32 {
    match &binding.strategy {
        Strategy::None => 0,
        Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => *amount,
        Strategy::Explicit(places) => places.len() as u32,
    }
}

fn asked(binding: &Binding, tasks: u32) -> String {
    let amount = amount(binding);
    let shared = binding.scope == Scope::Host || matches!(binding.strategy, Strategy::Explicit(_));
    let unit = if amount == 1 { "core" } else { "cores" };
    match (shared, tasks) {
        (false, 2..) => format!("{tasks} tasks × {amount} {unit}"),
        _ => format!("{amount} {unit}"),
    }
}

fn in_the_way(cores: &Cores, hurdle: Hurdle) -> String {
    let free = cores.free_count();
    let unit = if free == 1 { "core" } else { "cores" };
    match hurdle {
        Hurdle::TooFew => format!("this step has {free} whole free {unit} here"),
        Hurdle::NoStart => format!("among its {free} whole free {unit} here none lie like that"),
        Hurdle::Absent(place) => {
            format!("there is no core {place} here, only {}", cores.extent())
        }
        Hurdle::Occupied(core) if core.state == State::Taken => {
            format!("another step is bound to core {} here", core.place)
        }
        Hurdle::Occupied(core) => format!(
            "core {} here is not this step's, or not all of it is; more come with -c, whole nodes with sbatch --exclusive",
            core.place
        ),
        Hurdle::End => format!("that goes past the last core: here are {}", cores.extent()),
    }
}

/// The line that would have fitted, if there is one.
fn better_line(binding: &Binding, cores: &Cores, tasks: u32) -> String {
    let with = |scope, strategy| Binding {
        scope,
        strategy,
        ..binding.clone()
    };
    let linear = |amount| Strategy::Linear {
        amount,
        start: None,
    };
    let mut lines = Vec::new();
    if binding.scope == Scope::Task && tasks > 1 {
        lines.push(with(Scope::Host, binding.strategy.clone()));
    }
    if let Strategy::Striding { amount, step, .. } = binding.strategy {
        lines.push(with(
            binding.scope,
            Strategy::Striding {
                amount,
                step,
                start: None,
            },
        ));
    }
    lines.push(with(binding.scope, linear(amount(binding))));
    let found = cores.free_count() as u32;
    if binding.scope == Scope::Task {
        lines.push(with(Scope::Task, linear(found / tasks.max(1))));
    }
    lines.push(with(Scope::Host, linear(found)));
    let fits = |line: &&Binding| {
        *line != binding && amount(line) > 0 && choose(line, cores, tasks).is_ok()
    };
    lines.iter().find(fits).map_or_else(String::new, |line| {
        format!("; --binding={} would fit", short(line))
    })
}
