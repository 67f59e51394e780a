//! The plan as a picture, with the numbers of tasks in their CPUs.

use std::io::Write;

use berth_placement::{CpuId, CpuSet, Machine, Note, Owned, Plan, counted};

use super::change::shared;
use super::json::allocation;
use super::request::claims;
use super::step::Answered;
use crate::picture::svg::{self, Caption};
use crate::picture::{self, Cells, CpuState, Picture, Screen};
use crate::text::write_named;
use crate::{Failure, Question};

/// For the terminal.
///
/// # Errors
/// Those of `out`.
pub(crate) fn tree(out: &mut impl Write, of: Answered<'_>, screen: Screen) -> Result<(), Failure> {
    if let Some(shared) = shared(of) {
        write_named(out, screen.width, "shared", &shared)?;
    }
    writeln!(out)?;
    let pictures = pictures(of)?;
    picture::show(out, &pictures, screen)?;
    Ok(())
}

/// For documents.
///
/// # Errors
/// Those of `out`.
pub(crate) fn svg(out: &mut impl Write, of: Answered<'_>) -> Result<(), Failure> {
    let pictures = pictures(of)?;
    let caption = Caption {
        title: title(of.args),
        below: below(of),
        warnings: warnings(of),
    };
    out.write_all(svg::draw(&pictures, &caption).as_bytes())?;
    Ok(())
}

/// The request, as srun's line begins.
fn title(args: &Question) -> String {
    if let Some(job) = args.job.as_ref().filter(|_| args.only_job) {
        return job.clone();
    }
    let words = args.words();
    format!("srun {}", words.join(" ")).trim_end().into()
}

fn below(of: Answered<'_>) -> Vec<String> {
    let Answered { args, on, step } = of;
    let rules: Vec<_> = step
        .plans()
        .map(|(_, plan)| plan.decision.rule.to_string())
        .collect();
    vec![
        format!("machine: {} ({})", args.machine, on.shape()),
        format!("allocation: {}", allocation(step)),
        format!("{}, rule {}", counted(step.tasks, "task"), rules.join(", ")),
    ]
}

/// Requests that were not served, and CPUs that tasks share needlessly.
fn warnings(of: Answered<'_>) -> Vec<String> {
    let shared = shared(of).map(|text| format!("shared: {text}"));
    let mut texts: Vec<String> = shared.into_iter().collect();
    for note in of.step.plans().flat_map(|(_, plan)| &plan.notes) {
        let text = format!("did not fit: {note}");
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn pictures(of: Answered<'_>) -> Result<Vec<Picture<'_>>, Failure> {
    let Answered { args, on, step } = of;
    let several = step.node_count() > 1;
    let nodes = (0..).zip(step.tasks_by_node());
    nodes
        .map(|(node, tasks): (u32, _)| {
            let name = several.then(|| format!("node {}", step.names.short(node)));
            let planned = step.planned_on(node);
            let on = planned.on(on);
            let machine = on
                .machine()
                .ok_or("the machine is unknown, so there is nothing to draw")?;
            let cells = CpuCells {
                plan: &planned.plan,
                tasks: &tasks,
                owned: &Owned::of(&planned.request, on).cpus,
                taken: &claims(args, on)?.taken,
            };
            let near = planned.plan.near.iter().flat_map(|near| &near.visible);
            let near = near.filter_map(|at| machine.devices().get(*at as usize));
            let picture = Picture::new(machine, args.socket_kind(), name, cells.of(machine));
            Ok(picture.with(near))
        })
        .collect()
}

/// The facts that decide the content of a node's CPUs.
struct CpuCells<'a> {
    plan: &'a Plan,
    /// The numbers of the node's tasks, by local id.
    tasks: &'a [u32],
    owned: &'a CpuSet,
    taken: &'a CpuSet,
}

impl CpuCells<'_> {
    fn of(&self, machine: &Machine) -> Cells {
        let cpus = machine.cpus().iter();
        cpus.map(|cpu| (cpu, self.cell(cpu))).collect()
    }

    fn cell(&self, cpu: CpuId) -> CpuState {
        let bound = self.plan.is_bound();
        let has = |at: &usize| match bound {
            true => self.plan.tasks[*at].cpus.contains(cpu),
            false => self.owned.contains(cpu),
        };
        let here: Vec<_> = (0..self.plan.tasks.len()).filter(has).collect();
        let task = |at: usize| self.tasks[at];
        match here.as_slice() {
            [] if !self.owned.contains(cpu) => CpuState::Outside,
            [] if self.taken.contains(cpu) => CpuState::Taken,
            // A step that is not bound may run there too.
            [..] if !bound && self.taken.contains(cpu) => CpuState::Taken,
            [] => CpuState::Free,
            [at] if self.is_short(*at) => CpuState::TaskShort(task(*at)),
            [at] => CpuState::Task(task(*at)),
            [first, ..] if self.is_crowded() => CpuState::SeveralShort(task(*first)),
            all if all.len() == self.tasks.len() => CpuState::All,
            [first, ..] => CpuState::Several(task(*first)),
        }
    }

    /// Whether a task has fewer CPUs than it requests.
    fn is_short(&self, at: usize) -> bool {
        self.plan.notes.iter().any(|note| match note {
            Note::CpusPerTaskShrunk { .. } => true,
            Note::TaskShort { task, .. } => *task as usize == at,
            _ => false,
        })
    }

    /// Whether tasks share CPUs because there was no other way.
    fn is_crowded(&self) -> bool {
        let crowded = |note: &Note| {
            matches!(
                note,
                Note::SharedWhileIdle { .. } | Note::MoreTasksThanCpus { .. }
            )
        };
        self.plan.is_bound() && self.plan.notes.iter().any(crowded)
    }
}
