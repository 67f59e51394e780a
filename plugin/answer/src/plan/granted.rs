//! A step on the nodes and cores that slurmctld gives.

use berth_placement::request::near::What;
use berth_placement::{Across, CpuId, CpuSet, Gres, Node, Request, plan};

use super::controller::granted;
use super::from_options::uncounted;
use super::owns::of_cores;
use super::premises;
use super::request::request;
use super::step::{NodePart, PlannedStep, Plans, refused};
use crate::lines::NoAnswer;
use crate::lines::job::JobLine;
use crate::parents::gpus;
use crate::world::GpusOfJob;
use crate::{Failure, Premise, Provenance, Question};

/// slurmctld gives CPUs away that the site keeps free by berth's own setting. Those of `CpuSpecList` it
/// keeps itself.
const NOT_KNOWN: &str =
    "slurmctld may choose reserved CPUs: it keeps only those of slurm.conf's CpuSpecList";

/// The allocation, with what it does not take into account.
fn beside_reserved(args: &Question, mut premise: Premise) -> Premise {
    if !args.effective_reserved().is_empty() {
        premise.source += &format!("; {NOT_KNOWN}");
    }
    premise
}

/// Plans it.
///
/// # Errors
/// [`NoAnswer`], and a configuration or an option that cannot be read.
pub(super) fn as_granted(args: &Question, on: &Node) -> Result<PlannedStep, Failure> {
    let granted = granted(args, on)?;
    let own = granted
        .leaves_cores_to_cpuset
        .then(|| args.without_cpus_of_job());
    let args = own.as_ref().unwrap_or(args);
    let bound = args.bound_as(&granted.of_job);
    let args = bound.as_ref().unwrap_or(args);
    let most = granted.nodes.iter().map(|part| part.tasks).max();
    let nodes = granted.nodes.len() as u32;
    if let Some(why) = uncounted(granted.tasks, nodes, most.unwrap_or(0)) {
        return Err(NoAnswer::Refused(why).into());
    }
    let mut premises = premises::of(args)?;
    premises.extend(args.job().and_then(JobLine::variables));
    let allocation = beside_reserved(args, granted.premise);
    let (gres, devices) = gpus_of_job(args, on, granted.nodes.len()).unzip();
    let plans = of_parts(args, on, &granted.nodes, &gres.flatten());
    let plans = plans.map_err(|why| beside_assumed(why, &allocation))?;
    premises.push(allocation);
    premises.extend(devices);
    let tasks: Vec<_> = granted.nodes.iter().map(|part| part.tasks).collect();
    let order = args.srun.distribution.unwrap_or_default();
    Ok(PlannedStep {
        names: granted.names,
        across: Across::new(&tasks, granted.tasks, &order),
        tasks: granted.tasks,
        notes: args.other_settings(&granted.of_job).into_iter().collect(),
        nodes_assumed: granted.nodes_assumed,
        job: None,
        premises,
        plans: plans.all,
        of_node: plans.of_node,
    })
}

/// A refusal with the allocation that was assumed for it: on another one the step may run.
fn beside_assumed(why: Failure, allocation: &Premise) -> Failure {
    match why.downcast::<NoAnswer>().map(|why| *why) {
        Ok(NoAnswer::Refused(why)) if allocation.by == Provenance::Assumed => {
            NoAnswer::Refused(format!("{why}; {}: {allocation}", allocation.what)).into()
        }
        Ok(why) => why.into(),
        Err(why) => why,
    }
}

/// The plan of each node.
fn of_parts(
    args: &Question,
    on: &Node,
    parts: &[NodePart],
    gres: &Option<Gres>,
) -> Result<Plans, Failure> {
    let mut plans = Plans::default();
    for part in parts {
        let node = part.on.as_deref().unwrap_or(on);
        let requested = || Request {
            gres: gres.clone(),
            ..request(args, of_cores(part.step.clone(), node), part.tasks)
        };
        let refused = |why| refused(args, (parts.len() > 1).then_some(part.tasks), why);
        plans.add(plan, args, on, part, requested, refused)?;
    }
    Ok(plans)
}

/// The GPUs of the user's own job that a `--near` may use, and how they are known; `None` where the request does not
/// name Slurm's GPUs, or the job has none.
fn gpus_of_job(args: &Question, on: &Node, nodes: usize) -> Option<(Option<Gres>, Premise)> {
    let near = args.effective_near()?;
    let job = args.context.job.as_ref().filter(|_| args.job.is_none())?;
    if near.what == What::Network {
        return None;
    }
    let assumed = |why: String| {
        let value = "all of the node".into();
        Some((
            None,
            Premise::new("devices", value, Provenance::Assumed, why),
        ))
    };
    if nodes > 1 {
        return assumed("the job has several nodes, which may have given it different ones".into());
    }
    match args.gpus_of_job.clone()? {
        Err(why) => assumed(why),
        Ok(GpusOfJob::None) => None,
        Ok(GpusOfJob::Unknown) => assumed(format!(
            "scontrol show job -d {} does not say which GPUs the job has",
            job.id
        )),
        Ok(GpusOfJob::Known(step)) => {
            let found = on
                .machine()
                .map_or(0, |machine| gpus(machine).count() as u32);
            let highest = step.last().map_or(0, |index| index + 1);
            let numbers: CpuSet = step.iter().map(|index| CpuId(*index)).collect();
            let value = format!("GPUs {numbers}");
            let how = format!("scontrol show job -d {}", job.id);
            let gres = Gres {
                on_node: found.max(highest),
                step,
                tasks: Vec::new(),
            };
            Some((
                Some(gres),
                Premise::new("devices", value, Provenance::Found, how),
            ))
        }
    }
}
