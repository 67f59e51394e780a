//! What slurmctld would give the line: nodes and cores of the job, and of its step. It is asked only
//! where no option says what the step owns.

mod cluster;
mod inside;
mod nodes;
mod words;

use std::fmt;

use berth_placement::Node;
use berth_placement::controller::select::{
    self, Client, Cluster, JobAnswer, JobGrant, StepAnswer, StepGrant,
};
use berth_srun::options::Command as Program;
use berth_srun::reading::selection::{self, Selection};
use berth_srun::{Line, Release, line};

use super::given::uncounted;
use super::owns::{is_listed, whole_by};
use crate::args::PlanArgs;
pub(super) use nodes::Granted;

/// Why there is no grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The job or the step would not run, with what would happen.
    Refused(String),
    /// The model does not know it.
    NotModelled(String),
    /// Something cannot be read.
    Failed(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) | Self::Failed(why) => f.write_str(why),
            Self::NotModelled(what) => write!(f, "not modelled: {what}"),
        }
    }
}

/// Nodes that a request without `-N` may be spread over, to say how many it would need.
const MOST_NEEDED: usize = 64;

/// Whether slurmctld's model decides what the step owns.
pub(crate) fn is_asked(args: &PlanArgs) -> bool {
    args.standing.has_looked && !is_listed(args) && whole_by(args).is_none() && !args.step
}

/// Asks.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(super) fn granted(args: &PlanArgs, on: &Node) -> Result<Granted, NoAnswer> {
    let wanted = wanted(args)?;
    if let Some(job) = args.standing.job.filter(|_| args.job.is_none()) {
        return inside::granted(args, on, &wanted, job);
    }
    let outer = args
        .job
        .as_deref()
        .map(|line| of_line(line, args.srun.release));
    let outer = outer.transpose()?;
    let of_job = outer.as_ref().map_or(&wanted, |(_, wanted)| wanted);
    let asked = cluster::asked(args, on, of_job)?;
    let nodes = asked.cluster.nodes.len() as u32;
    let tasks = args.srun.tasks();
    if let Some(why) = uncounted(tasks, nodes, tasks.div_ceil(nodes.max(1))) {
        return Err(NoAnswer::Refused(why));
    }
    let started = match &outer {
        None => started(&asked.cluster, &wanted),
        Some((client, of_job)) => inside_job(&asked.cluster, *client, of_job, &wanted),
    };
    match started {
        Ok((job, step)) => {
            // A node has the name that somebody gave it.
            let is_named = !asked.is_assumed || args.srun.nodelist.is_some();
            let made = nodes::Made {
                cluster: &asked.cluster,
                job: &job,
                step: &step,
            };
            Ok(made.granted(on, is_named, asked.fact))
        }
        Err(NoAnswer::Refused(why)) if asked.is_assumed && outer.is_none() => {
            let needed = needed(args, on, &wanted, &asked.cluster);
            Err(NoAnswer::Refused(needed.unwrap_or(why)))
        }
        Err(why) => Err(why),
    }
}

/// What the request asks of slurmctld. All that concerns it is modelled.
fn wanted(args: &PlanArgs) -> Result<Selection, NoAnswer> {
    let given = |kept: &crate::args::Kept| line::Given {
        name: kept.name.clone(),
        value: kept.value.clone(),
        words: 0..0,
        trouble: None,
    };
    let kept = args.srun.kept().iter();
    let kept = kept.filter(|kept| kept.name != berth_srun::options::HOST_FILE);
    let line = Line {
        given: kept.map(given).collect(),
        ..Line::default()
    };
    modelled(&line, args.srun.release)
}

fn modelled(line: &Line, release: Release) -> Result<Selection, NoAnswer> {
    let found = selection::read(line, release);
    let found = found.map_err(|why| NoAnswer::Refused(format!("srun refuses the line: {why}")))?;
    match found.unmodelled.as_slice() {
        [] => Ok(found),
        options => Err(NoAnswer::NotModelled(options.join(", "))),
    }
}

/// The job of `--job`: salloc, sbatch or srun with its options.
fn of_line(text: &str, release: Release) -> Result<(Client, Selection), NoAnswer> {
    let failed = |why: &str| NoAnswer::Failed(format!("--job {text}: {why}"));
    let words = shlex::split(text).ok_or_else(|| failed("a quote is not closed; close it"))?;
    let named = words.first().and_then(|word| Program::named(word));
    let program = named.ok_or_else(|| failed("write a line such as 'salloc -n8 -c2'"))?;
    let line = line::read(words.get(1..).unwrap_or_default(), program, Some(release));
    if let Some(wrong) = line.given.iter().find(|given| given.trouble.is_some()) {
        let why = format!("its command does not take --{} so", wrong.name);
        return Err(failed(&why));
    }
    Ok((selection::client(program), modelled(&line, release)?))
}

/// A job that would start now, with its own step.
fn started(cluster: &Cluster, wanted: &Selection) -> Result<(JobGrant, StepGrant), NoAnswer> {
    let job = of_job(select::job(cluster, Client::Srun, &wanted.options))?;
    let step = of_step(select::own_step(cluster, &wanted.options, &job))?;
    Ok((job, step))
}

/// A job that would start now, with a step inside it while no other runs.
fn inside_job(
    cluster: &Cluster,
    client: Client,
    outer: &Selection,
    wanted: &Selection,
) -> Result<(JobGrant, StepGrant), NoAnswer> {
    let job = of_job(select::job(cluster, client, &outer.options))?;
    let step = select::step_inside(cluster, &outer.options, &job, &wanted.options, &[]);
    Ok((job, of_step(step)?))
}

fn of_job(answer: JobAnswer) -> Result<JobGrant, NoAnswer> {
    match answer {
        JobAnswer::Granted(job) => Ok(job),
        JobAnswer::Waits(wait) => Err(NoAnswer::Refused(words::waits(wait).into())),
        JobAnswer::Refused(why) => Err(NoAnswer::Refused(words::job_refusal(&why))),
        JobAnswer::NotModelled(gap) => Err(NoAnswer::NotModelled(words::gap(gap).into())),
    }
}

fn of_step(answer: StepAnswer) -> Result<StepGrant, NoAnswer> {
    match answer {
        StepAnswer::Granted(step) => Ok(step),
        StepAnswer::Waits => {
            let why = "the step waits until other steps of the job end";
            Err(NoAnswer::Refused(why.into()))
        }
        StepAnswer::Refused(why) => Err(NoAnswer::Refused(words::step_refusal(why).into())),
        StepAnswer::NotModelled(gap) => Err(NoAnswer::NotModelled(words::gap(gap).into())),
    }
}

/// A request that leaves the nodes open and does not fit one of them: how many it takes.
fn needed(args: &PlanArgs, on: &Node, wanted: &Selection, one: &Cluster) -> Option<String> {
    if args.srun.nodes.is_some() || args.srun.nodelist.is_some() {
        return None;
    }
    let mut cluster = one.clone();
    let count = (2..=MOST_NEEDED).find(|number| {
        cluster
            .nodes
            .push(cluster::like(on, &format!("more{number}")));
        started(&cluster, wanted).is_ok()
    })?;
    let what = match count {
        2 => "waits for a second node".to_string(),
        count => format!("waits for {count} nodes"),
    };
    Some(format!(
        "the job {what}: one node like this is too small for it; plan on several with -N {count}"
    ))
}
