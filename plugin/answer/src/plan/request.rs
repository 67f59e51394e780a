//! Converts the command's options into the engine's request and node.

use std::sync::Arc;

use berth_placement::{
    Allocation, Claims, CpuSet, ECores, Machine, Node, Request, Shape, SocketKind,
    request::grid_engine::Strategy,
};
use berth_srun::{Config, Release};

use super::effective_options::{cpu_bind, mem_bind};
use super::owns::{known_cores, specialised};
use crate::{Failure, Question, World};

/// The node the request is tried on.
///
/// # Errors
/// A machine that hwloc could not read, or a numbering that the machine cannot have.
pub fn node(args: &Question, world: &dyn World) -> Result<Node, Failure> {
    let socket = args.socket_kind();
    let (mut shape, machine) = match slurmds(args, socket) {
        Some(known) => known,
        None => discovered(args, socket, world)?,
    };
    if let Some(cpus) = args.config_cpus {
        let (threads, cores) = (shape.map.len() as u32, shape.core_count());
        if cpus != threads && cpus != cores {
            return Err(format!(
                "--config-cpus gives CPUs={cpus}; slurmd takes the number of hardware threads \
                 ({threads}) or of cores ({cores}) of this machine; give one of them"
            )
            .into());
        }
        shape.cpus_are_cores = cpus == cores;
    }
    Ok(Node::new(shape, Some(machine), socket, args.rules()?))
}

/// This node as its slurmd knows it: the machine that it found, counted as it counts.
fn slurmds(args: &Question, socket: SocketKind) -> Option<(Shape, Arc<Machine>)> {
    let node = args.context.node.as_ref();
    let node = node.filter(|_| args.numbering.is_none())?;
    let machine = node.machine.clone()?;
    let rules = node.rules.as_ref().filter(|rules| rules.socket() == socket);
    let shape = rules.and_then(berth_site::SiteRules::shape);
    let shape = shape.filter(|_| !args.allow_ecores);
    Some((
        shape.unwrap_or_else(|| counted(&machine, args, socket)),
        machine,
    ))
}

fn discovered(
    args: &Question,
    socket: SocketKind,
    world: &dyn World,
) -> Result<(Shape, Arc<Machine>), Failure> {
    let found = world.machine(&args.machine, args.near.is_some())?;
    let machine = match args.numbering {
        None => found,
        Some(numbering) => found.renumbered(numbering).ok_or_else(|| {
            format!(
                "--numbering renumbers machines of equal sockets and cores; {} is not one; \
                 leave it out",
                args.machine
            )
        })?,
    };
    let shape = counted(&machine, args, socket);
    Ok((shape, machine.into()))
}

/// slurmd's count of a machine, or of the part of it that slurmd counts.
fn counted(machine: &Machine, args: &Question, socket: SocketKind) -> Shape {
    Shape::of(part_of(machine, args).as_ref().unwrap_or(machine), socket)
}

/// The part of a machine that slurmd counts, if it leaves out efficiency cores.
fn part_of(machine: &Machine, args: &Question) -> Option<Machine> {
    if args.allow_ecores {
        return None;
    }
    if let Some(words) = args.context.node.as_ref().map(|node| &node.words) {
        let left = CpuSet::from_list(&words.left_out).ok()?;
        let parts = ECores::ALL
            .into_iter()
            .filter_map(|release| machine.without_ecores(release));
        let mut parts = parts.filter(|part| machine.cpus().difference(part.cpus()) == left);
        return parts.next();
    }
    if args.config().is_some_and(Config::allows_ecores) {
        return None;
    }
    machine.without_ecores(match args.srun.release {
        Release::V22_05 => return None,
        Release::V23_02 | Release::V23_11 | Release::V24_05 => ECores::FirstKind,
        Release::V24_11 | Release::V25_05 => ECores::SameFrequency,
        Release::V25_11 | Release::V26_05 => ECores::AnyFrequency,
    })
}

/// The note if slurmd leaves out efficiency cores of this node.
pub(super) fn efficiency_note(on: &Node) -> Option<String> {
    on.efficiency_cpus().map(|cpus| {
        format!(
            "slurmd leaves out the efficiency cores (CPUs {cpus}), unless SlurmdParameters has allow_ecores; \
             --allow-ecores plans with them"
        )
    })
}

/// The request as the slurmd of a node with `tasks` of the tasks would see it.
pub(crate) fn request(args: &Question, allocation: Allocation, tasks: u32) -> Request {
    let requested = &args.srun;
    let cpu_bind = cpu_bind(args);
    let binding = args
        .effective_binding(&cpu_bind)
        .filter(|binding| binding.strategy != Strategy::None);
    // srun sends the job's limits where the step has none: `job_step_create_allocation`.
    let job = args.job().map(|job| &job.selection.options);
    let of_core = || job?.tasks_per_core;
    let of_socket = || job?.tasks_per_socket;
    Request {
        tasks,
        cpus_per_task: requested.cpus_per_task.unwrap_or(1),
        allocation,
        cpu_bind,
        mem_bind: mem_bind(args),
        distribution: requested.distribution.unwrap_or_default(),
        threads_per_core: requested.threads_per_core.filter(|threads| *threads > 0),
        ntasks_per_core: requested.most_tasks_per_core().or_else(of_core),
        ntasks_per_socket: requested.ntasks_per_socket.or_else(of_socket),
        overcommit: requested.overcommit,
        binding,
        near: args.effective_near(),
        near_by_default: args.is_near_by_default(),
        mapping: args.effective_mapping(),
        core_spec: specialised(args, requested.core_spec),
        core_kind: args.effective_core_kind(),
        cpuset: args.effective_cpuset(),
        reserved: args.effective_reserved(),
        ..Request::default()
    }
}

/// The CPUs that other steps are bound to or that jobs of pools use, as kernel numbers.
///
/// # Errors
/// A core that the machine does not have.
pub(crate) fn claims(args: &Question, node: &Node) -> Result<Claims, Failure> {
    let table = node.table();
    let cpus = |option, list: &Option<CpuSet>| -> Result<CpuSet, Failure> {
        let Some(list) = list else {
            return Ok(CpuSet::new());
        };
        let cores = known_cores(option, list, node)?;
        let pus = cores.iter().flat_map(|core| table.cores.members(core.0));
        Ok(table.cpus(pus.copied()))
    };
    Ok(Claims {
        taken: cpus("--occupied", &args.occupied)?,
        pools: cpus("--pool-cores", &args.pool_cores)?,
        ..Claims::default()
    })
}
