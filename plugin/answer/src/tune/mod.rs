//! `berth tune`: the lines that are worth a run for a program, what the engine plans for each, and what their runs
//! show. Pure: nothing is run here, and there is no clock.

mod figures;
mod line;
mod options;
mod result;
mod statistics;
mod table;

use crate::lines::NoAnswer;
use crate::reader::Reader;
use crate::{Failure, World, plan};
use figures::{Figures, Placement};
use options::About;

pub use figures::Goal;
pub use line::TunedLine;
pub use result::{document, svg};
pub use statistics::{Metric, Series, Verdict, is_look, verdict};
pub use table::{Runs, dry_run, measured};

/// A request to tune a line.
pub struct Request<'a> {
    /// The line as it is used today.
    pub line: &'a str,
    /// Options of `berth plan` that say where it runs.
    pub place: Vec<String>,
    /// The kind of program, for the order of the figures.
    pub goal: Goal,
    /// Further options to try.
    pub also: &'a [String],
    /// Options to try instead of berth's own choice.
    pub only: &'a [String],
    /// Whether the plans are those of the node on which the line would run.
    pub is_planned: bool,
}

/// One line that is compared.
#[derive(Default)]
pub struct Candidate {
    /// As it is typed, with its variables.
    pub line: String,
    /// The line's words, options and program.
    pub typed: TunedLine,
    /// Its options that today's line does not have, in short.
    pub(crate) change: String,
    /// The options of other lines that the engine plans alike.
    pub alike: Vec<String>,
    /// Why it cannot run.
    pub refused: Option<String>,
    /// The CPUs of each task by its number, where they are known and few enough to be checked.
    pub cpus: Vec<String>,
    /// Notes to the user of this line.
    pub notes: Vec<String>,
    pub(crate) figures: Option<Figures>,
    placement: Option<Placement>,
}

/// The lines; today's is the first.
pub struct Candidates {
    /// Each line that differs from the others.
    pub all: Vec<Candidate>,
    pub(crate) goal: Goal,
    /// The CPUs that the line requests for each task, if it does.
    each: Option<u32>,
    /// Options that say where the lines run.
    pub(crate) place: Vec<String>,
}

/// Finds the lines to compare.
///
/// # Errors
/// [`NoAnswer`] with what is wrong with the line, and a machine or file that cannot be read.
pub fn candidates(request: &Request<'_>, world: &dyn World) -> Result<Candidates, Failure> {
    let today = TunedLine::read(request.line).map_err(NoAnswer::Usage)?;
    let reader = Reader::new(request.place.clone(), world);
    let mut reader = reader.map_err(NoAnswer::from)?;
    let mut question = reader.line(request.line).map_err(NoAnswer::from)?;
    question.typed.near = "gpu".parse().ok();
    let on = plan::node(&question, world)?;
    let tried = match request.only.is_empty() {
        true => options::options(&About::of(&today, &on)),
        false => request.only.to_vec(),
    };
    let mut found = Candidates {
        all: Vec::new(),
        goal: request.goal,
        each: today.cpus_per_task(),
        place: request.place.clone(),
    };
    let mut planner = figures::Planner {
        reader,
        on: &on,
        is_planned: request.is_planned,
    };
    found.add(planner.today(&today)?);
    for options in tried.iter().chain(request.also) {
        let line = today.with(options).map_err(NoAnswer::Usage)?;
        found.add(planner.candidate(&line, options));
    }
    Ok(found)
}

impl Candidates {
    /// Adds a line, or its text to the one that gives the same.
    fn add(&mut self, new: Candidate) {
        let is_alike = |known: &&mut Candidate| {
            known.line == new.line
                || (known.placement.is_some() && known.placement == new.placement)
        };
        // The variables of lines that are alike are the same.
        let words = new.change.split(' ');
        let options: Vec<_> = words.filter(|word| !word.starts_with("OMP_")).collect();
        let options = options.join(" ");
        match self.all.iter_mut().find(is_alike) {
            Some(known) if known.line == new.line || known.alike.contains(&options) => {}
            Some(known) => known.alike.push(options),
            None => self.all.push(new),
        }
    }

    /// Positions of the lines that can run.
    pub fn runnable(&self) -> impl Iterator<Item = usize> + '_ {
        let can_run = |at: &usize| self.all[*at].refused.is_none();
        (0..self.all.len()).filter(can_run)
    }

    /// The positions by the figures of their plans, the best first.
    pub(crate) fn by_figures(&self) -> Vec<usize> {
        let mut all: Vec<_> = (0..self.all.len()).collect();
        all.sort_by_key(|at| {
            let one = &self.all[*at];
            let order = one.figures.as_ref().map(|figures| {
                let is_near = one.line.contains("--near=");
                let is_short = self.each > Some(figures.cpus_per_task.least);
                (self.goal.order(figures, is_near, is_short), one.line.len())
            });
            (one.refused.is_some(), order.is_none(), order)
        });
        all
    }

    /// The best of them, if the figures of its plan are known.
    pub(crate) fn best_by_figures(&self) -> Option<usize> {
        let best = self.by_figures().into_iter().next()?;
        self.all[best].figures.is_some().then_some(best)
    }

    /// The command that plans a line.
    pub(crate) fn plan_of(&self, line: &str) -> String {
        let place = self.place.iter().map(String::as_str);
        line::joined(["berth", "plan"].into_iter().chain(place).chain([line]))
    }
}
