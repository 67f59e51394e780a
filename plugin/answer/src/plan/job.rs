//! The line of a job, `sbatch -N2 -n8 job.sh` or `salloc -n8`: what the job gets, what its batch
//! script gets, and how to plan each srun of the script.

use berth_placement::sets::count::counted;
use std::io::{self, Write};
use std::sync::Arc;

use berth_placement::request::core_kind::Kind as CoreKind;
use berth_placement::request::grid_engine::Strategy;
use berth_placement::{Across, Node, Request, plan_batch};
use berth_srun::options::Command as Program;
use serde::Serialize;

use super::controller::{JobNode, NoAnswer, OnlyJob, Unusable, only_job};
use super::job_line::{self, JobLine, Script, ScriptStep};
use super::owns::{listed, of_cores};
use super::site;
use super::step::{PlannedStep, Plans};
use crate::Failure;
use crate::args::Format;
use crate::columns::write_named;
use crate::question::Question;
use crate::text;
use crate::{By, Fact};

/// Nodes that the table names; the JSON has all.
const MOST_NAMES: usize = 8;

/// What a job gets.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedJob {
    /// The line, as it was typed.
    line: String,
    /// Tasks of the job's record.
    tasks: u32,
    nodes: Vec<GivenNode>,
    /// The sruns of the batch script; of salloc one without options.
    steps: Vec<Pointer>,
}

/// A node of the job.
#[derive(Clone, Debug, Serialize)]
struct GivenNode {
    name: String,
    /// Slurm's numbers of the job's cores.
    cores: String,
    /// The CPUs that slurmctld counts for the job there.
    cpus: u32,
}

/// A step, and the command that plans it.
#[derive(Clone, Debug, Serialize)]
struct Pointer {
    /// Its line in the script, from 1; none where there is no script.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    text: String,
    plan: String,
}

/// Plans it.
///
/// # Errors
/// A configuration or an option that cannot be read. Within: why the job would not run.
pub(super) fn as_job(
    args: &Question,
    on: &Node,
    line: Result<Arc<JobLine>, NoAnswer>,
) -> Result<Result<PlannedStep, String>, Failure> {
    if let Ok(line) = &line {
        has_script(line)?;
    }
    let found = match line.and_then(|line| only_job(args, on, line)) {
        Ok(found) => found,
        Err(why) => return why.into_reason().map(Err),
    };
    is_shown(args, &found)?;
    let mut facts = site::facts(args)?;
    facts.extend(site::variables(args));
    facts.extend(found.line.variables());
    facts.push(allocation(&found));
    facts.extend(script(&found.line.script));
    let mut plans = Plans::default();
    if found.line.program == Program::Sbatch
        && let Err(why) = add_script(&mut plans, args, on, &found)?
    {
        return Ok(Err(format!("the batch script: {why}")));
    }
    let tasks: Vec<_> = plans
        .all
        .iter()
        .map(|planned| planned.plan.tasks.len() as u32)
        .collect();
    let text = args.job.as_deref().unwrap_or_default();
    let job = PlannedJob {
        line: text.into(),
        tasks: found.tasks,
        steps: pointers(args, text, &found.line.script),
        nodes: found.nodes.into_iter().map(GivenNode::from).collect(),
    };
    let count = tasks.iter().sum();
    Ok(Ok(PlannedStep {
        names: found.first.names,
        across: Across::new(&tasks, count, &berth_placement::Distribution::default()),
        tasks: count,
        notes: Vec::new(),
        nodes_assumed: found.first.nodes_assumed,
        job: Some(job),
        facts,
        plans: plans.all,
        of_node: plans.of_node,
    }))
}

impl From<JobNode> for GivenNode {
    fn from(node: JobNode) -> Self {
        Self {
            name: node.name,
            cores: node.cores,
            cpus: node.cpus,
        }
    }
}

/// salloc runs its command where it is typed, so no format shows masks of it.
fn is_shown(args: &Question, found: &OnlyJob) -> Result<(), Failure> {
    let has_cells = !matches!(args.format, None | Some(Format::Table | Format::Json));
    if found.line.program == Program::Sbatch || !(has_cells || args.batch.is_some()) {
        return Ok(());
    }
    Err(Unusable::new(
        "salloc alone binds no task, so only the formats table and json show it; give a step inside, \
         as --job 'salloc -n8' 'srun ./app'",
    )
    .into())
}

/// sbatch submits nothing without its script.
fn has_script(line: &JobLine) -> Result<(), Failure> {
    let Script::Missing { name, why } = &line.script else {
        return Ok(());
    };
    let why = format!(
        "sbatch has no script {}: {why}; give its path, or plan a job without its script with --wrap=true",
        text::short(name)
    );
    Err(Unusable::new(why).into())
}

/// The batch script on the job's first node.
fn add_script(
    plans: &mut Plans,
    args: &Question,
    on: &Node,
    found: &OnlyJob,
) -> Result<Result<(), berth_placement::Refusal>, Failure> {
    let Some(first) = found.first.nodes.first() else {
        return Ok(Ok(()));
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
            Some(_) => args.asked_core_kind(),
            None => CoreKind::Any,
        },
        // Without tasks the binding is for the steps alone.
        binding: binding.filter(|_| tasks.is_some()),
        cpuset: args.asked_cpuset(),
        allocation: of_cores(first.job.clone(), node),
        core_spec: found.line.wanted.options.core_spec,
        ..Request::default()
    };
    let cores = listed(&first.job);
    let at = (node, first.on.as_ref());
    let count = request.tasks;
    plans.add_by(plan_batch, args, at, (&cores, &cores), count, || request)
}

/// The job's part of the cluster in one line.
fn allocation(found: &OnlyJob) -> Fact {
    let fact = &found.first.fact;
    let value = match found.nodes.as_slice() {
        [_] => fact.value.clone(),
        several => {
            let cpus: u32 = several.iter().map(|node| node.cpus).sum();
            format!("{cpus} CPUs on {} nodes", several.len())
        }
    };
    Fact {
        value,
        ..fact.clone()
    }
}

/// What is known of the script.
fn script(script: &Script) -> Option<Fact> {
    match script {
        Script::None => None,
        Script::Read { name, .. } => {
            let value = format!("{name} with its #SBATCH lines");
            let value = if name == "--wrap" {
                name.clone()
            } else {
                value
            };
            Some(Fact::new("script", value, By::Option, "the line".into()))
        }
        Script::Unread(why) | Script::Missing { why, .. } => {
            let value = "no #SBATCH lines".to_string();
            Some(Fact::new("script", value, By::Assumed, why.clone()))
        }
    }
}

/// The command that plans each srun of the job.
fn pointers(args: &Question, line: &str, script: &Script) -> Vec<Pointer> {
    let mut before = vec!["berth".to_string(), "plan".into()];
    before.extend(args.beside.iter().filter(|word| !is_line(word)).cloned());
    before.extend(["--job".into(), line.into()]);
    // The job's command passes its variables on to the steps.
    let passed = args
        .line_variables
        .iter()
        .filter_map(|pair| assignment(pair));
    let passed: String = passed.map(|word| word + " ").collect();
    let plan = |step: &str| {
        let step = format!("{passed}{step}");
        let words = before.iter().map(String::as_str).chain([step.as_str()]);
        shlex::try_join(words).unwrap_or_default()
    };
    match script {
        Script::None => vec![Pointer {
            line: None,
            text: "srun".into(),
            plan: plan("srun ./app"),
        }],
        Script::Unread(_) | Script::Missing { .. } => Vec::new(),
        Script::Read { text, .. } => {
            let pointer = |step: ScriptStep| Pointer {
                plan: plan(&step.text),
                line: Some(step.line),
                text: step.text,
            };
            job_line::steps(text).into_iter().map(pointer).collect()
        }
    }
}

/// A variable as a shell sets it.
fn assignment(pair: &str) -> Option<String> {
    let (name, value) = pair.split_once('=')?;
    Some(format!("{name}={}", shlex::try_quote(value).ok()?))
}

/// Whether a typed word is the whole line, and no option.
fn is_line(word: &str) -> bool {
    let mut words = word.split_whitespace();
    let has = |word: &str| ["sbatch", "salloc"].contains(&job_line::base(word));
    !word.starts_with('-') && words.any(has)
}

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

    /// The steps, each with the command that plans it; nothing is folded, so it can be copied.
    ///
    /// # Errors
    /// Those of `out`.
    pub(super) fn write_steps(&self, out: &mut impl Write) -> io::Result<()> {
        for step in &self.steps {
            match step.line {
                Some(line) => writeln!(out, "\nline {line:<6} {}", step.text)?,
                None => writeln!(out, "\ninside      {}", step.text)?,
            }
            writeln!(out, "plan it:    {}", step.plan)?;
        }
        Ok(())
    }
}
