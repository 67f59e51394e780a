//! slurmctld's answer to the line: the job's nodes with their cores, and the step's. It is asked only where no option
//! says what the step owns. For a job without a step it gives the nodes and cores, and the first of the nodes, on
//! which a batch script runs.

mod cluster;
mod nodes;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_placement::controller::select::{
    self, Client, Cluster, ClusterNode, JobGrant, StepGrant, StepNode,
};
use berth_placement::{Node, counted};
use berth_srun::options::{Command as Program, Own, drops_hint, passed_by};
use berth_srun::reading::per_task;
use berth_srun::reading::selection::{self, Selection};
use berth_srun::submission::cpuset::is_part_of_job;
use berth_srun::{Line, LineOption, Release};

use super::cpuset::ncpus_and_nodes;
use super::from_options::uncounted;
use super::gpu_options::cpus_for_gpus;
use super::owns::{listed, uses_controller};
use super::step::PlannedJobNode;
use crate::Question;
use crate::lines::NoAnswer;
use crate::lines::job::{self, JobLine};
use crate::parents::gpus as gpus_of;
use words::of_step;

pub(super) use nodes::Granted;
pub(super) use words::unmet;

/// Why the node that was assumed does not start the job: how many like it would, or its size.
fn too_small(
    on: &Node,
    selection: &Selection,
    one: &Cluster,
    why: &str,
    starts: impl Fn(&Cluster) -> bool,
) -> NoAnswer {
    let needed = needed(on, selection, one, starts);
    let with_size = || format!("{why}; a node like this has {}", size(on, one));
    NoAnswer::Refused(needed.unwrap_or_else(with_size))
}

/// `2 CPUs on 1 core`, and its GPUs where they limit the tasks.
fn size(on: &Node, cluster: &Cluster) -> String {
    let table = on.table();
    let cpus = counted(table.numbered().count(), "CPU");
    let cores = counted(table.cores.len(), "core");
    let is_limited = cluster.nodes.iter().any(|node| node.most_tasks.is_some());
    let gpus = on.machine().filter(|_| is_limited);
    let gpus = gpus.map(|machine| format!(" and {}", counted(gpus_of(machine).count(), "GPU")));
    format!("{cpus} on {cores}{}", gpus.unwrap_or_default())
}

/// Nodes that a request without `-N` may be spread over, to say how many it would need.
const MOST_NEEDED: usize = 64;

/// Asks.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(super) fn granted(args: &Question, on: &Node) -> Result<Granted, NoAnswer> {
    let selection = selection_of(args)?;
    if let Some(job) = args.context.job.as_ref().filter(|_| args.job.is_none()) {
        return nodes::in_own_job(args, on, &selection, job);
    }
    let outer = args.job_line().transpose()?;
    let own = match &outer {
        Some(_) => None,
        None => Some(job::of_job(
            selection.clone(),
            Program::Srun,
            args.srun.release,
        )?),
    };
    let of_outer = outer.as_ref().map(|outer| &outer.selection);
    let of_job = of_outer.or(own.as_ref()).unwrap_or(&selection);
    let model = cluster::model(args, on, of_job)?;
    let nodes = model.cluster.nodes.len() as u32;
    let tasks = args.srun.tasks();
    if let Some(why) = uncounted(tasks, nodes, tasks.div_ceil(nodes.max(1))) {
        return Err(NoAnswer::Refused(why));
    }
    let answer = match &outer {
        None => started(&model.cluster, of_job, &selection),
        Some(outer) => inside_job(&model.cluster, outer, &selection, &args.hidden)
            .map_err(|why| or_not_modelled(args, why)),
    };
    match answer {
        Ok((job, step)) => {
            // A node has the name that somebody gave it.
            let is_named = !model.is_assumed || args.srun.nodelist.is_some();
            let made = nodes::Made {
                cluster: &model.cluster,
                job: &job,
                step: &step,
                numbering: args.numbering,
            };
            let leaves = |line: &Arc<JobLine>| leaves_cores_to_cpuset(line, &job);
            Ok(Granted {
                leaves_cores_to_cpuset: outer.as_ref().is_some_and(leaves),
                ..made.granted(on, is_named, model.premise)
            })
        }
        Err(NoAnswer::Refused(why)) if model.is_assumed && outer.is_none() => {
            let starts = |cluster: &Cluster| started(cluster, of_job, &selection).is_ok();
            Err(too_small(on, of_job, &model.cluster, &why, starts))
        }
        Err(why) => Err(why),
    }
}

/// The question's request to slurmctld. All that concerns it is modelled.
fn selection_of(args: &Question) -> Result<Selection, NoAnswer> {
    let line = Line {
        options: own_options(args),
        ..Line::default()
    };
    job::selection_of(&line, Program::Srun, args.srun.release)
}

/// The options of the request, without those of the job around it.
pub(super) fn own_options(args: &Question) -> Vec<LineOption> {
    let own = args.srun.options().iter().filter(|one| !one.is_jobs);
    let own = own.filter(|one| one.name != berth_srun::options::HOST_FILE);
    own.cloned().collect()
}

/// The options that the job of `--job` passes on to its steps by variables, as far as it can be read.
pub(crate) fn passed_on(args: &Question) -> Vec<LineOption> {
    let release = args.srun.release;
    let Some(job) = args.job() else {
        return Vec::new();
    };
    let threads = job.selection.options.threads_per_core;
    passed_by_variables(job.options.iter().cloned(), threads, release).collect()
}

/// The options of a job that its steps take over by variables. A hint and the third part of -B set the threads of a
/// core too.
pub(crate) fn passed_by_variables(
    given: impl Iterator<Item = LineOption>,
    threads: Option<u32>,
    release: Release,
) -> impl Iterator<Item = LineOption> {
    let given: Vec<_> = given.collect();
    let mut typed = given.iter().filter(|one| one.variable.is_none());
    let is_dropped = typed.any(|one| drops_hint(&one.name));
    let is_passed =
        move |one: &LineOption| one.name != THREADS && !(one.name == "hint" && is_dropped);
    let threads = threads.map(|threads| LineOption::typed(THREADS, Some(threads.to_string())));
    // A job's command sets the variable of -c for the CPUs of this list too.
    let list = given.iter().rfind(|one| one.name == "tres-per-task");
    let cpus = list.and_then(|list| per_task::cpus(list.value.as_deref()?, release));
    let cpus = cpus.map(|cpus| LineOption::typed("cpus-per-task", Some(cpus.to_string())));
    let all = given
        .into_iter()
        .filter(is_passed)
        .chain(threads)
        .chain(cpus);
    all.filter_map(move |one| {
        Some(LineOption {
            variable: Some(passed_by(&one.name, release)?.into()),
            is_jobs: true,
            ..one
        })
    })
}

/// The option that a step has from several of its job's.
pub(crate) const THREADS: &str = "threads-per-core";

/// Why the job of `--job` would not start; none if it would, or if the model does not know.
pub(crate) fn job_refused(args: &Question, on: &Node) -> Option<String> {
    let line = args.job_line().filter(|_| uses_controller(args))?;
    match line.and_then(|line| only_job(args, on, line)) {
        Err(NoAnswer::Refused(why) | NoAnswer::Usage(why)) => Some(why),
        _ => None,
    }
}

/// A job that would start on idle nodes, with its own step.
fn started(
    cluster: &Cluster,
    of_job: &Selection,
    selection: &Selection,
) -> Result<(JobGrant, StepGrant), NoAnswer> {
    let job = words::job(Client::Srun, cluster, &of_job.options)?;
    let step = of_step(select::own_step(cluster, &selection.options, &job))?;
    Ok((job, step))
}

/// A job that would start on idle nodes, with a step inside it while no other runs; the step does not find these options
/// of the job in variables.
fn inside_job(
    cluster: &Cluster,
    outer: &JobLine,
    selection: &Selection,
    hidden: &BTreeSet<String>,
) -> Result<(JobGrant, StepGrant), NoAnswer> {
    let client = selection::client(outer.program);
    let mut options = outer.selection.options.clone();
    let mut job = words::job(client, cluster, &options)?;
    let is_hidden = |name: &str| hidden.contains(name);
    let record = &mut job.record;
    record.tasks_given = record.tasks_given.filter(|_| !is_hidden("ntasks"));
    record.tasks_per_node = (record.tasks_per_node).filter(|_| !is_hidden("ntasks-per-node"));
    record.threads_per_core = record.threads_per_core.filter(|_| !is_hidden(THREADS));
    record.overcommit &= !is_hidden("overcommit");
    if is_hidden("distribution") {
        options.distribution = berth_placement::Distribution::default();
    }
    if is_hidden("cpus-per-task") || leaves_cores_to_cpuset(outer, &job) {
        job.record.cpus_per_task = None;
    }
    let step = select::step_inside(cluster, &options, &job, &selection.options);
    Ok((job, of_step(step)?))
}

/// Where the job has CPUs for its GPUs, the model knows too few of them to refuse a step.
fn or_not_modelled(args: &Question, why: NoAnswer) -> NoAnswer {
    let why_not = "slurmctld gives the job CPUs for its GPUs, for which the step may have room";
    match (why, cpus_for_gpus(args)) {
        (NoAnswer::Refused(_), Some(shown)) => NoAnswer::NotModelled(format!("{shown}: {why_not}")),
        (why, _) => why,
    }
}

/// Whether srun's berth takes the `-c` of the job's variables away, because slurmctld would give the step cores of its own
/// choice, and the job's cpuset is a part of the CPUs of its one node.
fn leaves_cores_to_cpuset(line: &JobLine, job: &JobGrant) -> bool {
    let [node] = job.nodes.as_slice() else {
        return false;
    };
    let set = line
        .own(Own::Cpuset.name)
        .and_then(|text| text.parse().ok());
    let (counted, _) = ncpus_and_nodes(&line.selection.options);
    let owned = |_: &str| Some(node.cpus.to_string());
    set.is_some_and(|set| is_part_of_job(&set, counted, owned))
}

/// A request that leaves the nodes open and does not fit one of them: how many it takes.
fn needed(
    on: &Node,
    selection: &Selection,
    one: &Cluster,
    starts: impl Fn(&Cluster) -> bool,
) -> Option<String> {
    if selection.options.nodes.is_some() || !selection.options.node_names.is_empty() {
        return None;
    }
    let like = one.nodes.first()?;
    let more = (2..=MOST_NEEDED).map(|number| ClusterNode {
        name: format!("more{number}"),
        ..like.clone()
    });
    let mut cluster = one.clone();
    cluster.nodes.extend(more);
    // A step that does not start on all of them starts on no fewer.
    let nodes = starts(&cluster).then(|| std::mem::take(&mut cluster.nodes))?;
    let count = (2..=nodes.len()).find(|count| {
        cluster.nodes = nodes[..*count].to_vec();
        starts(&cluster)
    })?;
    let what = match count {
        2 => "waits for a second node".to_string(),
        count => format!("waits for {count} nodes"),
    };
    Some(format!(
        "the job {what}: one node like this, with {}, is too small for it; plan on several with -N {count}",
        size(on, one)
    ))
}

/// The nodes and cores that slurmctld gives a job.
pub(super) struct OnlyJob {
    pub line: Arc<JobLine>,
    /// The tasks of its record.
    pub tasks: u32,
    /// `SLURM_NTASKS` of its steps.
    pub tasks_given: Option<u32>,
    pub nodes: Vec<PlannedJobNode>,
    /// The first node, with all of the job's cores there.
    pub first: Granted,
}

impl OnlyJob {
    /// The CPUs that slurmctld counts for it, on all its nodes.
    pub fn cpus(&self) -> u32 {
        self.nodes.iter().map(|node| node.cpus).sum()
    }
}

/// Asks for the job of a line.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(super) fn only_job(
    args: &Question,
    on: &Node,
    line: Arc<JobLine>,
) -> Result<OnlyJob, NoAnswer> {
    let client = selection::client(line.program);
    let model = cluster::model(args, on, &line.selection)?;
    let options = &line.selection.options;
    let job = words::job(client, &model.cluster, options).map_err(|why| match why {
        NoAnswer::Refused(why) if model.is_assumed => {
            let starts = |cluster: &Cluster| words::job(client, cluster, options).is_ok();
            too_small(on, &line.selection, &model.cluster, &why, starts)
        }
        why => why,
    })?;
    let first = job.nodes.iter().take(1).map(|granted| StepNode {
        node: granted.node,
        cores: granted.cores.clone(),
        tasks: 1,
    });
    let made = nodes::Made {
        cluster: &model.cluster,
        job: &job,
        step: &StepGrant {
            nodes: first.collect(),
            tasks: 1,
        },
        numbering: args.numbering,
    };
    let nodes = job.nodes.iter().map(|granted| PlannedJobNode {
        name: model.cluster.nodes[granted.node].name.clone(),
        cores: listed(&nodes::cores(&granted.cores)),
        cpus: granted.cpus,
    });
    let is_named = !model.is_assumed || !options.node_names.is_empty();
    Ok(OnlyJob {
        tasks: job.tasks,
        tasks_given: job.record.tasks_given,
        nodes: nodes.collect(),
        first: made.granted(on, is_named, model.premise),
        line,
    })
}
