//! The line of a job, `sbatch -N2 -n8 job.sh` or `salloc -n8`: what the job gets, what its batch script gets, how to plan
//! each srun of the script, and how all of that is shown.

use std::io::{self, Write};
use std::sync::Arc;

use berth_placement::request::grid_engine::Strategy;
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::{Across, Node, Request, counted, plan_batch};
use berth_srun::Program;
use berth_srun::options::variables;

use super::controller::{OnlyJob, only_job, passed_on};
use super::for_programs::{ALONE, cpus};
use super::owns::{of_cores, specialised};
use super::step::{InJob, JobStep, NodePart, PlannedJob, PlannedStep, Plans, StepAnswer};
use super::{answer_of_line, premises};
use crate::args::Format;
use crate::lines::NoAnswer;
use crate::lines::job::{self, JobLine, Script, is_exclusive};
use crate::picture::Screen;
use crate::text::{self, write_named};
use crate::{Failure, Premise, Provenance, Question};

/// Plans it.
///
/// # Errors
/// [`NoAnswer`], and a configuration or an option that cannot be read.
pub(super) fn as_job(
    args: &Question,
    on: &Node,
    line: Result<Arc<JobLine>, NoAnswer>,
) -> Result<PlannedStep, Failure> {
    if let Ok(line) = &line {
        has_script(line)?;
    }
    let found = only_job(args, on, line?)?;
    is_shown(args, &found)?;
    let mut premises = premises::of(args)?;
    premises.extend(found.line.variables());
    premises.push(allocation(&found));
    premises.extend(script(&found.line.script));
    let mut plans = Plans::default();
    if found.line.program == Program::Sbatch {
        add_script(&mut plans, args, on, &found)?;
    }
    let tasks: Vec<_> = plans
        .all
        .iter()
        .map(|planned| planned.plan.tasks.len() as u32)
        .collect();
    let job = planned(args, &found);
    let count = tasks.iter().sum();
    Ok(PlannedStep {
        names: found.first.names,
        across: Across::new(&tasks, count, &berth_placement::Distribution::default()),
        tasks: count,
        notes: Vec::new(),
        nodes_assumed: found.first.nodes_assumed,
        job: Some(job),
        premises,
        plans: plans.all,
        of_node: plans.of_node,
    })
}

/// The job, as yet without the steps of its script.
fn planned(args: &Question, found: &OnlyJob) -> PlannedJob {
    let text = args.job.as_deref().unwrap_or_default();
    let script = &found.line.script;
    let inside = matches!(script, Script::None).then(|| JobStep {
        line: None,
        text: "srun".into(),
        plan: command(args, text, "srun ./app"),
        answer: None,
    });
    PlannedJob {
        line: text.into(),
        tasks: found.tasks,
        steps: inside.into_iter().collect(),
        submits: matches!(script, Script::Read { .. }).then(|| passed(args) + text),
        nodes: found.nodes.clone(),
    }
}

/// salloc runs its command where it is typed, so no format shows masks of it.
fn is_shown(args: &Question, found: &OnlyJob) -> Result<(), NoAnswer> {
    let has_cells = !matches!(args.format, None | Some(Format::Table | Format::Json));
    match found.line.program != Program::Sbatch && has_cells {
        true => Err(NoAnswer::Usage(ALONE.into())),
        false => Ok(()),
    }
}

/// sbatch submits nothing without its script.
fn has_script(line: &JobLine) -> Result<(), NoAnswer> {
    let Script::Missing { name, why } = &line.script else {
        return Ok(());
    };
    let why = format!(
        "sbatch has no script {}: {why}; give its path, or plan a job without its script with --wrap=true",
        text::short(name)
    );
    Err(NoAnswer::Usage(why))
}

/// The batch script on the job's first node.
fn add_script(
    plans: &mut Plans,
    args: &Question,
    on: &Node,
    found: &OnlyJob,
) -> Result<(), Failure> {
    let Some(first) = found.first.nodes.first() else {
        return Ok(());
    };
    let node = first.on.as_deref().unwrap_or(on);
    let nodes = found.nodes.len() as u32;
    let binding = args.script_binding();
    let binding = binding.filter(|binding| binding.strategy != Strategy::None);
    let tasks = binding
        .as_ref()
        .and_then(|binding| binding.tasks_of_script(found.tasks, nodes));
    let request = Request {
        tasks: tasks.unwrap_or(1),
        core_kind: match tasks {
            Some(_) => args.effective_core_kind(),
            None => CoreKindWish::Any,
        },
        // Without tasks the binding is for the steps alone.
        binding: binding.filter(|_| tasks.is_some()),
        cpuset: args.effective_cpuset(),
        allocation: of_cores(first.job.clone(), node),
        core_spec: specialised(args, found.line.selection.options.core_spec),
        ..Request::default()
    };
    let part = NodePart {
        tasks: request.tasks,
        ..first.clone()
    };
    let refused = |why| format!("the batch script: {why}");
    plans.add(plan_batch, args, on, &part, || request, refused)
}

/// The job's part of the cluster in one line.
fn allocation(found: &OnlyJob) -> Premise {
    let premise = &found.first.premise;
    let value = match found.nodes.as_slice() {
        [_] => premise.value.clone(),
        several => {
            let cpus: u32 = several.iter().map(|node| node.cpus).sum();
            format!("{cpus} CPUs on {} nodes", several.len())
        }
    };
    Premise {
        value,
        ..premise.clone()
    }
}

/// The premise of the script.
fn script(script: &Script) -> Option<Premise> {
    match script {
        Script::None => None,
        Script::Read { name, .. } => {
            let value = format!("{name} with its #SBATCH lines");
            let value = if name == "--wrap" {
                name.clone()
            } else {
                value
            };
            Some(Premise::new(
                "script",
                value,
                Provenance::Option,
                "the line".into(),
            ))
        }
        Script::Unread(why) | Script::Missing { why, .. } => {
            let value = "no #SBATCH lines".to_string();
            Some(Premise::new(
                "script",
                value,
                Provenance::Assumed,
                why.clone(),
            ))
        }
    }
}

/// The variables that a job's command copies for the steps: those around it, if it does not set them itself and --export
/// lets them through, and those of --export. slurmd sets the nodes of a batch script.
fn passed(args: &Question) -> String {
    let export = args.job().and_then(|job| job.own("export"));
    let export: Vec<_> = export.unwrap_or("ALL").split(',').collect();
    let of_job = passed_on(args);
    let is_set = |option: &str| option == "nodes" || of_job.iter().any(|one| one.name == option);
    let is_copied = |name: &str| {
        let mut words = export.iter();
        words.any(|word| word.eq_ignore_ascii_case("ALL") || *word == name)
    };
    let all: Vec<_> = variables(Program::Srun, args.srun.release).collect();
    let read = all.iter().filter(|(_, option)| !is_set(option));
    let read = read.filter_map(|(name, _)| Some(format!("{name}={}", args.variable(name)?)));
    let is_other = |name: &str| !all.iter().any(|(read, _)| *read == name);
    let others = args.line_variables.iter().cloned();
    let others = others.filter(|pair| pair.split_once('=').is_some_and(|(name, _)| is_other(name)));
    let copied = read.chain(others);
    let copied = copied.filter(|pair| {
        pair.split_once('=')
            .is_some_and(|(name, _)| is_copied(name))
    });
    let set = export.iter().map(|word| word.to_string());
    let words = copied.chain(set).filter_map(|pair| assignment(&pair));
    words.map(|word| word + " ").collect()
}

/// The command that plans a step of the job alone.
fn command(args: &Question, line: &str, step: &str) -> String {
    let mut words = vec!["berth".to_string(), "plan".into()];
    words.extend(args.beside.iter().filter(|word| !is_line(word)).cloned());
    words.extend(["--job".into(), line.into(), passed(args) + step]);
    let words = words.iter().map(String::as_str);
    shlex::try_join(words).unwrap_or_default()
}

impl PlannedJob {
    /// Takes the steps of its script, each with the command that plans it alone.
    pub(crate) fn take_steps(&mut self, steps: Vec<JobStep>, args: &Question) {
        self.steps = steps;
        for step in &mut self.steps {
            step.plan = command(args, &self.line, &step.plan);
        }
    }
}

/// The answer for a step of a script.
pub(crate) fn answered(args: Question, on: &Node) -> StepAnswer {
    let failure = match answer_of_line(&args, on) {
        Ok(step) => {
            return StepAnswer::Planned {
                cpus: cpus(&step).collect(),
                inside: Box::new(InJob { args, step }),
            };
        }
        Err(failure) => failure,
    };
    let why = failure.to_string();
    match failure.downcast_ref() {
        Some(NoAnswer::NotModelled(_)) => StepAnswer::NotPlanned { why },
        _ => StepAnswer::Refused { why },
    }
}

/// A variable as a shell sets it.
fn assignment(pair: &str) -> Option<String> {
    let (name, value) = pair.split_once('=')?;
    Some(format!("{name}={}", shlex::try_quote(value).ok()?))
}

/// Whether a typed word is the whole line, or an option that is the job's now.
fn is_line(word: &str) -> bool {
    let mut words = word.split_whitespace();
    let has = |word: &str| ["sbatch", "salloc"].contains(&job::base(word));
    is_exclusive(word) || !word.starts_with('-') && words.any(has)
}

/// Stands before the reason of a step that would not run.
const REFUSED: &str = "refused";

/// Nodes that the table names; the JSON has all.
const MOST_NAMES: usize = 8;

impl PlannedJob {
    /// The job in the head of a table.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_head(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let tasks = match self.tasks {
            0 => "no number of tasks".to_string(),
            tasks => counted(tasks, "task"),
        };
        let text = format!("{tasks}: {}", self.nodes_in_words());
        write_named(out, width, "job", &text)
    }

    /// `cores 0-3 on n1, n2; cores 0-1 on n3`
    fn nodes_in_words(&self) -> String {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for node in &self.nodes {
            match groups.iter_mut().find(|(cores, _)| *cores == node.cores) {
                Some((_, names)) => names.push(&node.name),
                None => groups.push((&node.cores, vec![&node.name])),
            }
        }
        let group = |(cores, names): &(&str, Vec<&str>)| {
            let shown = names.iter().take(MOST_NAMES).copied();
            let shown = shown.collect::<Vec<_>>().join(", ");
            let more = match names.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("cores {cores} on {shown}{more}")
        };
        let groups: Vec<_> = groups.iter().map(group).collect();
        groups.join("; ")
    }

    /// The steps that would be refused, in words.
    pub(crate) fn refused_steps(&self) -> impl Iterator<Item = String> + '_ {
        self.steps.iter().filter_map(|step| {
            let (_, why) = step.not_planned().filter(|(what, _)| *what == REFUSED)?;
            Some(format!("line {}: refused: {why}", step.line.unwrap_or(1)))
        })
    }
}

impl JobStep {
    /// `line 3: srun -n2 ./app`, with the reason where there is no plan.
    pub(super) fn title(&self) -> String {
        let line = self.line.unwrap_or(1);
        let why = self.not_planned();
        let why = why.map_or(String::new(), |(what, why)| format!(": {what}: {why}"));
        format!("line {line}: {}{why}", self.text)
    }

    /// Whether a step without a plan is refused or not planned, in words, and the reason.
    fn not_planned(&self) -> Option<(&'static str, &str)> {
        match &self.answer {
            Some(StepAnswer::Refused { why }) => Some((REFUSED, why)),
            Some(StepAnswer::NotPlanned { why }) => Some(("not planned", why)),
            _ => None,
        }
    }

    /// Its plan, if there is one.
    pub(crate) fn planned(&self) -> Option<&InJob> {
        match &self.answer {
            Some(StepAnswer::Planned { inside, .. }) => Some(inside),
            _ => None,
        }
    }

    /// The step's line, what becomes of it, and its plan, if there is one. The command that plans it is
    /// not folded, so it can be copied.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_head(
        &self,
        out: &mut impl Write,
        screen: Screen,
    ) -> io::Result<Option<&InJob>> {
        match self.line {
            Some(line) => writeln!(out, "\nline {line:<6} {}", self.text)?,
            None => writeln!(out, "\ninside      {}", self.text)?,
        }
        match self.not_planned() {
            Some((what, why)) => write_named(out, screen.width, what, why)?,
            None if self.answer.is_none() => writeln!(out, "plan it:    {}", self.plan)?,
            None => {}
        }
        Ok(self.planned())
    }
}
