//! `berth advise`: tries the options that make sense for a request, and shows the best lines with their
//! figures and what they cost. Each line is planned by the code of `berth plan`.

mod candidates;
mod criteria;
mod devices;
mod figures;
mod fits;
mod json;
mod place;
mod rank;
mod table;
mod tried;

use std::io::{self, Write};

use berth_placement::{DeviceKind, Node, ObjectKind};
use serde::Serialize;

use crate::Failure;
use crate::args::PlanArgs;
use crate::lines::NoAnswer;
use crate::plan::{self, PlannedStep};
use crate::question::Question;
use crate::reader;
use crate::world::World;
use candidates::{About, LEVELS, candidates};
use criteria::Criterion;
use devices::Devices;
use rank::{Entry, Kept};
use tried::{Masks, Request, Tried};

pub use criteria::Goal;

/// The most letters of options that stay on every line.
const MOST_LETTERS: usize = 4096;

/// A request for advice.
pub struct Wanted<'a> {
    /// The options that stay on every line.
    pub plan: &'a PlanArgs,
    /// The words as they were typed.
    pub words: &'a [String],
    /// The kind of program that the lines start.
    pub goal: Goal,
    /// The most lines to show.
    pub lines: usize,
}

/// The lines that were tried, and the best of them.
pub struct Advice {
    on: Node,
    machine: String,
    goal: Goal,
    /// The options that say where the request is planned, as they were typed.
    place: Vec<String>,
    /// How many lines were tried, and how many of them would run.
    all: usize,
    would_run: usize,
    /// Those that would run, without lines that bind nothing where others do.
    tried: Vec<Tried>,
    /// The lines to show, the best first.
    kept: Vec<Kept>,
    /// Lines that would be shown if there were room.
    more: usize,
}

/// Tries all lines.
///
/// # Errors
/// A machine or file that cannot be read. Within: why there is no line, with what would fit.
pub fn advise(wanted: &Wanted<'_>, world: &dyn World) -> Result<Result<Advice, NoAnswer>, Failure> {
    let letters: usize = tried::staying(wanted.plan).iter().map(String::len).sum();
    if letters > MOST_LETTERS {
        return Ok(Err(NoAnswer::Usage(format!(
            "the options of the line have {letters} letters, and berth advise takes {MOST_LETTERS}; \
             leave out those that do not concern CPUs"
        ))));
    }
    let bare = match Question::of(wanted.plan.clone(), world) {
        Ok(bare) => bare,
        Err(why) => return Ok(Err(NoAnswer::Usage(why))),
    };
    let on = node(wanted, &bare, world)?;
    let asked = Request {
        typed: wanted.plan,
        bare: &bare,
        on: &on,
        devices: None,
        world,
    };
    Ok(advice(wanted, &asked))
}

/// The node; with its devices if the advice is for GPUs.
fn node(wanted: &Wanted<'_>, bare: &Question, world: &dyn World) -> Result<Node, Failure> {
    let mut question = bare.clone();
    if wanted.goal == Goal::Gpu {
        question.typed.near = "gpu".parse().ok();
    }
    plan::node(&question, world)
}

fn advice(wanted: &Wanted<'_>, asked: &Request<'_>) -> Result<Advice, NoAnswer> {
    fits::is_bounded(asked)?;
    let base = asked.planned(&[]);
    match &base {
        Ok((_, step)) => fits::is_bounded_on_each(asked.on, step)?,
        Err(NoAnswer::Refused(_)) => {}
        Err(why) => return Err(why.clone()),
    }
    let devices = match wanted.goal {
        Goal::Gpu => Some(gpus(asked)?),
        _ => None,
    };
    let request = Request {
        devices: devices.as_ref(),
        ..*asked
    };
    let step = base.as_ref().ok().map(|(_, step)| step);
    let lines = candidates(&about(wanted.goal, &request, step));
    let all = lines.len();
    let tried = lines.iter().filter_map(|added| request.tried(added).ok());
    let mut tried: Vec<_> = tried.collect();
    if tried.is_empty() {
        return Err(fits::refused(asked, request.tried(&[]).err()));
    }
    // Where tasks can be bound, a line that binds none is no advice.
    let would_run = tried.len();
    if tried.iter().any(Tried::is_bound) {
        tried.retain(Tried::is_bound);
    }
    let entries = entries(&tried, wanted.goal.criteria());
    let mut kept = rank::best(&entries);
    let more = kept.len().saturating_sub(wanted.lines);
    rank::cut(&mut kept, wanted.lines, &entries);
    Ok(Advice {
        on: asked.on.clone(),
        machine: wanted.plan.machine.clone(),
        goal: wanted.goal,
        place: place::place(wanted.words, &reader::command()),
        all,
        would_run,
        tried,
        kept,
        more,
    })
}

/// What decides about each line.
fn entries<'a>(tried: &'a [Tried], criteria: &[Criterion]) -> Vec<Entry<'a, Masks<'a>>> {
    let entry = |one: &'a Tried| Entry {
        line: &one.line,
        masks: one.masks(),
        values: criteria::values(criteria, &one.figures),
        is_near: one.args.asked_near().is_some(),
        wastes: one.figures.quality.shared_cores > 0 && one.figures.quality.idle_cores > 0,
    };
    tried.iter().map(entry).collect()
}

/// Each task's GPUs.
fn gpus(asked: &Request<'_>) -> Result<Devices, NoAnswer> {
    if !has_gpu(asked.on) {
        return Err(NoAnswer::Refused(
            "--for gpu: no GPU of this node is known; give a node's XML file with its GPUs to \
             --machine (lstopo node.xml writes it), or use --for mpi, openmp or memory"
                .into(),
        ));
    }
    let near = ("near", Some("gpu".to_string()));
    let step = match asked.planned(&[near]) {
        Ok((_, step)) => step,
        Err(why) => return Err(fits::refused(asked, Some(why))),
    };
    match tried::is_near(&step) {
        true => Ok(Devices::of(&step, asked.on)),
        false => Err(NoAnswer::Refused(
            "--for gpu: --near=gpu, which says which GPU each task has, cannot be served here; berth \
             plan --near=gpu shows why"
                .into(),
        )),
    }
}

fn has_gpu(on: &Node) -> bool {
    let all = on.machine().map_or(&[][..], |machine| machine.devices());
    all.iter().any(|device| device.kind == DeviceKind::Gpu)
}

/// What matters for the choice of lines.
fn about(goal: Goal, request: &Request<'_>, step: Option<&PlannedStep>) -> About {
    let (asked, on) = (&request.bare.srun, request.on);
    let per_core = on.shape().threads.max(1);
    let has_hint = asked.kept().iter().any(|kept| kept.name == "hint");
    let threads = match asked.threads_per_core {
        _ if asked.cpu_bind.one_thread || on.counts_cores() => 1,
        Some(threads) if threads > 0 => threads.min(per_core),
        _ => per_core,
    };
    About {
        each: asked.cpus_per_task,
        threads,
        share: step.map_or(0, |step| step.core_count() as u32 / step.tasks.max(1)),
        levels: levels(on),
        has_order: asked.distribution.is_some(),
        has_threads: has_hint || asked.threads_per_core.is_some(),
        near_gpu: goal == Goal::Gpu,
    }
}

/// The levels of the machine; those with the same objects are one.
fn levels(on: &Node) -> Vec<ObjectKind> {
    let Some(machine) = on.machine() else {
        return Vec::new();
    };
    let mut known = Vec::new();
    let mut levels = Vec::new();
    for level in LEVELS {
        let objects = machine.objects(level);
        if !objects.is_empty() && !known.contains(&objects) {
            levels.push(level);
            known.push(objects);
        }
    }
    levels
}

impl Advice {
    /// The text for people.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        table::write(out, self, width)
    }

    /// The document for scripts.
    pub fn document(&self) -> impl Serialize + '_ {
        json::document(self)
    }

    /// Notes to the user, each with the number of its line.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let of_line = |(number, one): (u32, &'_ Tried)| -> Vec<String> {
            let notes = one.notes.iter();
            notes.map(|note| format!("line {number}: {note}")).collect()
        };
        (1..).zip(self.lines()).flat_map(of_line)
    }

    fn criteria(&self) -> &'static [Criterion] {
        self.goal.criteria()
    }

    /// The lines to show.
    fn lines(&self) -> impl Iterator<Item = &Tried> {
        self.kept.iter().map(|kept| &self.tried[kept.at])
    }

    /// The command that plans a line.
    fn plan_of(&self, line: &str) -> String {
        let place = self.place.iter().map(String::as_str);
        let words = ["berth", "plan"].into_iter().chain(place);
        shlex::try_join(words.chain([line])).unwrap_or_default()
    }
}
