//! The step's allocation on a node: the one of the options, else the job's part inside a job, else the one that
//! slurmctld would give, and how that is known.

use berth_placement::sets::limits::USER_TEXT;
use berth_placement::sets::text::shown;
use berth_placement::{Allocation, CoreIdx, CoreSpec, CpuSet, Node};
use berth_srun::Config;

use crate::args::OwnedCores;
use crate::world::{LIVE, Part};
use crate::{Failure, Premise, Provenance, Question, Unreadable};

/// The step's part of each node.
#[derive(Clone, Debug)]
pub struct Owns {
    pub allocation: Allocation,
    pub premise: Premise,
}

impl Owns {
    fn new(allocation: Allocation, value: String, by: Provenance, source: String) -> Self {
        Self {
            allocation,
            premise: Premise::new("allocation", value, by, source),
        }
    }
}

/// Whether options name the cores or CPUs.
pub(crate) fn is_listed(args: &Question) -> bool {
    args.cpus.is_some() || matches!(args.cores, Some(OwnedCores::Listed(_)))
}

/// Whether options say that the step owns whole nodes.
pub(crate) fn is_whole(args: &Question) -> bool {
    args.cores == Some(OwnedCores::All)
}

/// Whether slurmctld's model decides what the step owns.
pub(crate) fn uses_controller(args: &Question) -> bool {
    !is_listed(args) && !is_whole(args) && !args.step
}

/// The note if srun's word for what a step gets changes nothing here.
pub(super) fn without_effect(args: &Question) -> Option<&'static str> {
    let requested = &args.srun;
    let is_of_job = args.job.is_some() || args.context.job.is_some();
    match () {
        () if requested.exact && requested.exclusive.is_none() && is_whole(args) => Some(
            "--exact gives the step only the cores that it asks for, and this plan is for the \
             whole node; leave out --cores all to plan with slurmctld's choice",
        ),
        () if !requested.whole || is_whole(args) || is_listed(args) => None,
        () if requested.cpus_per_task.is_some() && !requested.overcommit => Some(
            "srun ignores --whole beside -c: the step gets the CPUs that it asks for; --cores all plans \
             with the whole node",
        ),
        () if !is_of_job && !args.gives_whole_nodes() && args.cluster.is_none() => Some(
            "--whole gives a step all CPUs of its job, and this job has only those that it asks for; \
             --exclusive gives a job its nodes, and --cores all plans with the whole node",
        ),
        () => None,
    }
}

/// The note if cores that a job specialises are not left free here.
pub(super) fn core_spec(args: &Question) -> Option<&'static str> {
    let of_job = args
        .job()
        .is_some_and(|job| job.selection.options.core_spec.is_given());
    if !args.srun.core_spec.is_given() && !of_job {
        return None;
    }
    if is_listed(args) || is_whole(args) {
        let is_cores = matches!(args.srun.core_spec, CoreSpec::Cores(_));
        return is_cores.then_some(
            "--core-spec leaves none of the cores free that --cores or --cpus names; name those that the job has",
        );
    }
    is_spec_ignored(args).then_some(
        "slurmctld ignores --core-spec and --thread-spec without AllowSpecResourcesUsage=yes in slurm.conf, and so \
         does this plan; --cluster FILE says what a cluster has",
    )
}

/// Whether slurmctld is asked, and jobs cannot specialise cores there.
fn is_spec_ignored(args: &Question) -> bool {
    let is_allowed = args.known_config().is_some_and(Config::allows_spec_usage);
    !is_allowed && !is_listed(args) && !is_whole(args)
}

/// The cores or threads that a job specialises, unless slurmctld ignores that.
pub(super) fn specialised(args: &Question, requested: CoreSpec) -> CoreSpec {
    match is_spec_ignored(args) {
        true => CoreSpec::None,
        false => requested,
    }
}

/// The refusal where nobody says which machine the nodes of a cluster's file are.
const WITHOUT_MACHINE: &str = "--cores, --cpus and --step name a part of a machine, and --cluster FILE does not say which \
                               machine its nodes are; add --machine, or leave them out: --exclusive gives the job whole nodes";

/// The step's allocation on a node.
///
/// # Errors
/// A configuration without a machine; cores that the machine does not have; `--step` outside of a step.
pub(crate) fn owns(args: &Question, node: &Node) -> Result<Owns, Failure> {
    let is_of_file = args
        .cluster
        .as_deref()
        .is_some_and(|cluster| cluster != LIVE);
    if is_of_file && args.machine == LIVE {
        return Err(Unreadable(WITHOUT_MACHINE.into()).into());
    }
    let several = args.srun.nodes.is_some();
    let each = if several { " of each node" } else { "" };
    let (owned, value, option) = match (&args.cores, &args.cpus) {
        (Some(OwnedCores::Listed(list)), _) => {
            let cores = known_cores("--cores", list, node)?;
            (
                of_cores(cores, node),
                format!("cores {list}{each}"),
                "--cores",
            )
        }
        (_, Some(cpus)) => {
            let owned = Allocation::Cpus(cpus.clone());
            (owned, format!("CPUs {cpus}{each}"), "--cpus")
        }
        (Some(OwnedCores::All), None) if several => {
            (Allocation::Whole, "whole nodes".into(), "--cores all")
        }
        (Some(OwnedCores::All), None) => {
            (Allocation::Whole, "the whole node".into(), "--cores all")
        }
        (None, None) => return of_step(args, node),
    };
    Ok(Owns::new(owned, value, Provenance::Option, option.into()))
}

/// The part of the step in which the command runs.
fn of_step(args: &Question, node: &Node) -> Result<Owns, Failure> {
    let known = args.context.job.as_ref().and_then(|job| job.step.as_ref());
    let (part, how) = known.ok_or(
        "--step: no cgroup here shows the cores of a step; run it inside a step on a node with \
         ConstrainCores=yes, or name the cores with --cores",
    )?;
    let cores = cores_of(part, node);
    let value = format!("cores {}", listed(&cores));
    let owned = of_cores(cores, node);
    Ok(Owns::new(owned, value, Provenance::Found, how.clone()))
}

/// The cores of a part of a node.
pub(super) fn cores_of(part: &Part, node: &Node) -> Vec<CoreIdx> {
    let core_of = |cpu| {
        let mut numbered = node.table().numbered();
        let found = numbered.find(|(known, _)| *known == cpu);
        found.map(|(_, core)| core)
    };
    part.cores(node.shape().threads.max(1), core_of)
}

pub(super) fn of_cores(cores: Vec<CoreIdx>, node: &Node) -> Allocation {
    Allocation::Cores {
        cores,
        configured: node.table().cores.len() as u32,
    }
}

/// Slurm's numbers of cores as a list.
pub(crate) fn listed(cores: &[CoreIdx]) -> String {
    let cores: CpuSet = cores
        .iter()
        .map(|core| berth_placement::CpuId(core.0))
        .collect();
    cores.to_string()
}

/// A list of core numbers that the machine has.
pub(super) fn known_cores(
    option: &str,
    list: &CpuSet,
    node: &Node,
) -> Result<Vec<CoreIdx>, Failure> {
    let count = node.table().cores.len() as u32;
    match list.highest().filter(|last| last.0 >= count) {
        Some(last) => Err(format!(
            "{option} names core {last}; this machine has cores 0-{}; name only those",
            count.saturating_sub(1)
        )
        .into()),
        None => Ok(list.iter().map(|core| CoreIdx(core.0)).collect()),
    }
}

/// Checks that the CPUs of `--reserved` and `--cpus` exist.
///
/// # Errors
/// A CPU that the machine does not have.
pub(super) fn has_cpus(args: &Question, node: &Node) -> Result<(), Failure> {
    let mut numbered: CpuSet = node.table().numbered().map(|(cpu, _)| cpu).collect();
    let online = node.machine().map(|all| all.cpus());
    if let Some(reserved) = &args.reserved {
        known_cpus("--reserved", reserved, online.unwrap_or(&numbered))?;
    }
    if let Some(owned) = &args.cpus {
        // slurmd's own line for a step may have CPUs that are offline by now.
        online
            .into_iter()
            .for_each(|online| numbered.insert_all(online));
        known_cpus("--cpus", owned, &numbered)?;
    }
    Ok(())
}

fn known_cpus(option: &str, list: &CpuSet, there: &CpuSet) -> Result<(), Failure> {
    let others = list.difference(there);
    match others.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{option} names CPUs {}; this machine has CPUs {}; name only those",
            shown(USER_TEXT / 4, &others),
            shown(USER_TEXT / 4, there)
        )
        .into()),
    }
}
