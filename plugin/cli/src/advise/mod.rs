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

use std::io::Write;
use std::process::ExitCode;

use berth_placement::{DeviceKind, Node, ObjectKind};

use crate::Failure;
use berth_answer::args::Format;
use berth_answer::question::{self, Question};

use crate::args::{AdviseArgs, Goal, usage};
use crate::here::HOST;
use crate::say;
use berth_answer::plan::{self, PlannedStep};
use berth_answer::text;
use candidates::{About, LEVELS, candidates};
use criteria::Criterion;
use devices::Devices;
use rank::{Entry, Kept};
use tried::{Masks, No, Request, Tried};

/// The most letters of options that stay on every line.
const MOST_LETTERS: usize = 4096;

/// What is shown.
struct Advice<'a> {
    args: &'a AdviseArgs,
    on: &'a Node,
    criteria: &'static [Criterion],
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

/// Runs the subcommand.
///
/// # Errors
/// A machine or file that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let letters: usize = tried::staying(&args.plan).iter().map(String::len).sum();
    if letters > MOST_LETTERS {
        usage(&format!(
            "the options of the line have {letters} letters, and berth advise takes {MOST_LETTERS}; \
             leave out those that do not concern CPUs"
        ))
        .exit();
    }
    let bare = Question::of(args.plan.clone(), &HOST);
    let bare = bare.unwrap_or_else(|why| usage(&why).exit());
    let on = node(args, &bare)?;
    let asked = Request {
        typed: &args.plan,
        bare: &bare,
        on: &on,
        devices: None,
    };
    match advice(args, &asked) {
        Ok(advice) => print(&advice),
        Err(No::Usage(why)) => usage(&why).exit(),
        Err(No::NotModelled(why)) => {
            say::failed(&why);
            Ok(ExitCode::FAILURE)
        }
        Err(No::Refused(why)) => {
            say::refused(&text::short(&why));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The node; with its devices if the advice is for GPUs.
fn node(args: &AdviseArgs, bare: &Question) -> Result<Node, Failure> {
    let mut question = bare.clone();
    if args.goal == Goal::Gpu {
        question.typed.near = "gpu".parse().ok();
    }
    plan::node(&question, &HOST)
}

/// Tries all lines.
///
/// # Errors
/// [`No`], with what would fit.
fn advice<'a>(args: &'a AdviseArgs, asked: &Request<'a>) -> Result<Advice<'a>, No> {
    fits::is_bounded(asked)?;
    let base = asked.planned(&[]);
    match &base {
        Err(why @ (No::Usage(_) | No::NotModelled(_))) => return Err(why.clone()),
        Ok((_, step)) => fits::is_bounded_on_each(asked.on, step)?,
        Err(No::Refused(_)) => {}
    }
    let devices = match args.goal {
        Goal::Gpu => Some(gpus(asked)?),
        _ => None,
    };
    let request = Request {
        devices: devices.as_ref(),
        ..*asked
    };
    let step = base.as_ref().ok().map(|(_, step)| step);
    let (mut all, mut refused) = (Vec::new(), 0);
    for added in candidates(&about(args, &request, step)) {
        match request.tried(&added) {
            Ok(one) => all.push(one),
            Err(_) => refused += 1,
        }
    }
    if all.is_empty() {
        return Err(fits::refused(asked, request.tried(&[]).err()));
    }
    // Where tasks can be bound, a line that binds none is no advice.
    let would_run = all.len();
    if all.iter().any(Tried::is_bound) {
        all.retain(Tried::is_bound);
    }
    let criteria = criteria::of(args.goal);
    let entries = entries(&all, criteria);
    let mut kept = rank::best(&entries);
    let more = kept.len().saturating_sub(args.lines);
    rank::cut(&mut kept, args.lines, &entries);
    Ok(Advice {
        args,
        on: asked.on,
        criteria,
        all: would_run + refused,
        would_run,
        tried: all,
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
fn gpus(asked: &Request<'_>) -> Result<Devices, No> {
    if !has_gpu(asked.on) {
        return Err(No::Refused(
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
        false => Err(No::Refused(
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
fn about(args: &AdviseArgs, request: &Request<'_>, step: Option<&PlannedStep>) -> About {
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
        near_gpu: args.goal == Goal::Gpu,
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

fn print(advice: &Advice<'_>) -> Result<ExitCode, Failure> {
    if advice.args.plan.format == Some(Format::Json) {
        let mut out = say::output();
        json::write(&mut out, advice)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = say::foreign_output();
    table::write(&mut out, advice)?;
    out.flush()?;
    for (number, one) in (1..).zip(advice.lines()) {
        for note in &one.notes {
            say::note(&format!("line {number}: {note}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Advice<'_> {
    /// The lines to show.
    fn lines(&self) -> impl Iterator<Item = &Tried> {
        self.kept.iter().map(|kept| &self.tried[kept.at])
    }

    /// The command that plans a line.
    fn plan_of(&self, line: &str) -> String {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let words: Vec<_> = words.skip_while(|word| word != "advise").skip(1).collect();
        let place = place::place(&words, &question::command());
        let mut all = vec!["berth".to_string(), "plan".into()];
        all.extend(place);
        all.push(line.into());
        shlex::try_join(all.iter().map(String::as_str)).unwrap_or_default()
    }
}
