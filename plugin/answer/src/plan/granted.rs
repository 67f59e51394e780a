//! A step on the nodes and cores that slurmctld gives.

use berth_placement::{Across, Node, Request, plan};

use super::controller::granted;
use super::given::uncounted;
use super::gpus;
use super::owns::{listed, of_cores};
use super::request::request;
use super::site;
use super::step::{PlannedStep, Plans, refused};
use crate::Fact;
use crate::Failure;
use crate::question::Question;

/// slurmctld gives CPUs away that the site keeps free by berth's own setting. Those of `CpuSpecList` it
/// keeps itself.
const NOT_KNOWN: &str =
    "slurmctld may choose reserved CPUs: it keeps only those of slurm.conf's CpuSpecList";

/// The allocation, with what it does not take into account.
fn beside_reserved(args: &Question, mut fact: Fact) -> Fact {
    if !args.asked_reserved().is_empty() {
        fact.source += &format!("; {NOT_KNOWN}");
    }
    fact
}

/// Plans it.
///
/// # Errors
/// A configuration or an option that cannot be read. Within: why the step would not run.
pub(super) fn as_granted(
    args: &Question,
    on: &Node,
) -> Result<Result<PlannedStep, String>, Failure> {
    let granted = match granted(args, on) {
        Ok(granted) => granted,
        Err(why) => return why.into_reason().map(Err),
    };
    let own = granted
        .leaves_cores_to_cpuset
        .then(|| args.without_cpus_of_job());
    let args = own.as_ref().unwrap_or(args);
    let bound = args.bound_as(&granted.of_job);
    let args = bound.as_ref().unwrap_or(args);
    let most = granted.nodes.iter().map(|part| part.tasks).max();
    let nodes = granted.nodes.len() as u32;
    if let Some(why) = uncounted(granted.tasks, nodes, most.unwrap_or(0)) {
        return Ok(Err(why));
    }
    let mut facts = site::facts(args)?;
    facts.extend(site::variables(args));
    let job = args.job_line().and_then(Result::ok);
    facts.extend(job.and_then(|job| job.variables()));
    facts.push(beside_reserved(args, granted.fact));
    let (gres, devices) = gpus::of_job(args, on, granted.nodes.len()).unzip();
    facts.extend(devices);
    let mut plans = Plans::default();
    let several = granted.nodes.len() > 1;
    for part in &granted.nodes {
        let node = part.on.as_deref().unwrap_or(on);
        let cores = (listed(&part.job), listed(&part.step));
        let asked = || {
            let allocation = of_cores(part.step.clone(), node);
            Request {
                gres: gres.clone().flatten(),
                ..request(args, allocation, part.tasks)
            }
        };
        let at = (node, part.on.as_ref());
        let planned = plans.add(plan, args, at, (&cores.0, &cores.1), part.tasks, asked)?;
        if let Err(why) = planned {
            return Ok(Err(refused(args, several.then_some(part.tasks), &why)));
        }
    }
    let tasks: Vec<_> = granted.nodes.iter().map(|part| part.tasks).collect();
    let order = args.srun.distribution.unwrap_or_default();
    Ok(Ok(PlannedStep {
        names: granted.names,
        across: Across::new(&tasks, granted.tasks, &order),
        tasks: granted.tasks,
        notes: args.other_settings(&granted.of_job).into_iter().collect(),
        nodes_assumed: granted.nodes_assumed,
        job: None,
        facts,
        plans: plans.all,
        of_node: plans.of_node,
    }))
}
