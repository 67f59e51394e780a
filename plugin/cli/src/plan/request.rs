//! Converts the command's options into the engine's request and node.

use std::path::PathBuf;
use std::sync::Arc;

use berth_discover::{Discovered, Source, discover};
use berth_placement::{
    Allocation, Claims, Machine, Node, Request, Shape, SocketKind, request::grid_engine::Strategy,
};

use super::owns::known_cores;
use crate::Failure;
use crate::args::PlanArgs;
use crate::srun_options::cpu_bind;

/// The node the request is tried on.
///
/// # Errors
/// What hwloc could not read, or a numbering that the machine cannot have.
pub(crate) fn node(args: &PlanArgs) -> Result<Node, Failure> {
    let socket = args.socket_kind();
    let (mut shape, machine) = match slurmds(args, socket) {
        Some(known) => known,
        None => discovered(args, socket)?,
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
fn slurmds(args: &PlanArgs, socket: SocketKind) -> Option<(Shape, Arc<Machine>)> {
    let node = args.standing.node.filter(|_| args.numbering.is_none())?;
    let machine = node.machine.clone()?;
    let rules = node.rules.as_ref().filter(|rules| rules.socket() == socket);
    let shape = rules.and_then(berth_host::SiteRules::shape);
    Some((
        shape.unwrap_or_else(|| Shape::of(&machine, socket)),
        machine,
    ))
}

fn discovered(args: &PlanArgs, socket: SocketKind) -> Result<(Shape, Arc<Machine>), Failure> {
    let found: Discovered = discover(&Source::parse(&args.machine)?)?;
    let machine = match args.numbering {
        None => found.machine,
        Some(numbering) => found.machine.renumbered(numbering).ok_or_else(|| {
            format!(
                "--numbering renumbers machines of equal sockets and cores; {} is not one; \
                 leave it out",
                args.machine
            )
        })?,
    };
    Ok((Shape::of(&machine, socket), machine.into()))
}

/// The request as the slurmd of a node with `tasks` of the tasks would see it.
pub(crate) fn request(args: &PlanArgs, allocation: Allocation, tasks: u32) -> Request {
    let asked = &args.srun;
    let binding = args
        .asked_binding()
        .filter(|binding| binding.strategy != Strategy::None);
    Request {
        tasks,
        cpus_per_task: asked.cpus_per_task.unwrap_or(1),
        allocation,
        cpu_bind: cpu_bind(args),
        mem_bind: asked.mem_bind.clone(),
        distribution: asked.distribution.unwrap_or_default(),
        threads_per_core: asked.threads_per_core.filter(|threads| *threads > 0),
        ntasks_per_core: asked.most_tasks_per_core(),
        ntasks_per_socket: asked.ntasks_per_socket,
        overcommit: asked.overcommit,
        binding,
        core_spec: asked.core_spec,
        job_cpus: None,
    }
}

/// The CPUs that other steps are bound to, as kernel numbers.
///
/// # Errors
/// A core that the machine does not have.
pub(crate) fn claims(args: &PlanArgs, node: &Node) -> Result<Claims, Failure> {
    let Some(list) = &args.occupied else {
        return Ok(Claims::default());
    };
    let table = node.table();
    let cores = known_cores("--occupied", list, node)?;
    let pus = cores.iter().flat_map(|core| table.cores.members(core.0));
    Ok(Claims {
        taken: table.cpus(pus.copied()),
        ..Claims::default()
    })
}

/// Where a batch file is: `None` is stdin.
pub(super) fn batch_file(path: &PathBuf) -> Option<&PathBuf> {
    Some(path).filter(|path| path.as_os_str() != "-")
}
