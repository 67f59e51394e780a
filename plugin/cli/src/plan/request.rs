//! Converts the command's options into the engine's request and node.

use std::path::{Path, PathBuf};

use berth_discover::{Discovered, Source, discover};
use berth_host::StateDir;
use berth_host::announcement::{self, Announcement};
use berth_placement::{
    Allocation, Claims, CoreIdx, CpuSet, ECores, Fixes, Level, Machine, Node, Request, Rules,
    Shape, SocketKind, request::grid_engine::Strategy,
};

use berth_srun::Release;

use crate::Failure;
use crate::args::{Autobind, BindingFail, CompatArg, PlanArgs, Socket};
use crate::srun_options::cpu_bind;
use crate::state_nodes::nodes_of;

/// The node the request is tried on.
///
/// # Errors
/// What hwloc could not read, or a numbering that the machine cannot have.
pub(crate) fn node(args: &PlanArgs) -> Result<Node, Failure> {
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
    let socket = socket_kind(args.socket);
    let mut shape = Shape::of(part_of(&machine, args).as_ref().unwrap_or(&machine), socket);
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
    Ok(Node::new(shape, Some(machine.into()), socket, rules(args)?))
}

/// The part of a machine that slurmd counts, if it leaves out efficiency cores.
fn part_of(machine: &Machine, args: &PlanArgs) -> Option<Machine> {
    if args.allow_ecores {
        return None;
    }
    if let Some(words) = announced(args) {
        let left = CpuSet::from_list(&words.left_out).ok()?;
        let parts = ECores::ALL
            .into_iter()
            .filter_map(|release| machine.without_ecores(release));
        let mut parts = parts.filter(|part| machine.cpus().difference(part.cpus()) == left);
        return parts.next();
    }
    machine.without_ecores(match args.slurm {
        Release::V22_05 => return None,
        Release::V23_02 | Release::V23_11 | Release::V24_05 => ECores::FirstKind,
        Release::V24_11 | Release::V25_05 => ECores::SameFrequency,
        Release::V25_11 | Release::V26_05 => ECores::AnyFrequency,
    })
}

/// The note if slurmd leaves out efficiency cores of this node.
pub(super) fn left_out(on: &Node) -> Option<String> {
    on.left_out().map(|cpus| {
        format!(
            "slurmd leaves out the efficiency cores (CPUs {cpus}), unless SlurmdParameters has allow_ecores; \
             --allow-ecores plans with them"
        )
    })
}

pub(crate) fn socket_kind(socket: Socket) -> SocketKind {
    match socket {
        Socket::Package => SocketKind::Package,
        Socket::Numa => SocketKind::Numa,
        Socket::L3 => SocketKind::L3,
    }
}

/// The request as the slurmd of a node with `tasks` of the tasks would see it.
///
/// # Errors
/// Cores that the machine does not have.
pub(crate) fn request(args: &PlanArgs, node: &Node, tasks: u32) -> Result<Request, Failure> {
    let asked = &args.srun;
    let binding = args
        .binding
        .clone()
        .filter(|binding| binding.strategy != Strategy::None);
    Ok(Request {
        tasks,
        cpus_per_task: asked.cpus_per_task.unwrap_or(1),
        allocation: allocation(args, node)?,
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
    })
}

/// The site's rules.
///
/// # Errors
/// A fix that is not known.
pub(crate) fn rules(args: &PlanArgs) -> Result<Rules, Failure> {
    Ok(Rules {
        fixes: fixes(args)?,
        refuse_failed_binding: args.binding_fail == BindingFail::Refuse,
        block_by_default: args.block_by_default,
        autobind: args.autobind.map(level),
        constrain_cores: args.constrain_cores
            || announced(args).is_some_and(|words| words.constrain_cores),
    })
}

/// slurmd's own words about this host, where one slurmd of one node has left any.
fn announced(args: &PlanArgs) -> Option<Announcement> {
    if args.machine != "live" {
        return None;
    }
    let base = Path::new(berth_host::state::DEFAULT_BASE);
    let nodes = nodes_of(base, None);
    let [node] = nodes.as_slice() else {
        return None;
    };
    announcement::read(&StateDir::new(base, node).ok()?).ok()
}

fn level(site: Autobind) -> Level {
    match site {
        Autobind::Threads => Level::Threads,
        Autobind::Cores => Level::Cores,
        Autobind::Sockets => Level::Sockets,
    }
}

fn fixes(args: &PlanArgs) -> Result<Fixes, Failure> {
    let base = match args.compat {
        CompatArg::Berth => Fixes::ALL,
        CompatArg::Affinity => Fixes::NONE,
    };
    let words = args.fixes.as_deref().unwrap_or_default();
    Ok(base.apply(words).map_err(|why| format!("--fixes: {why}"))?)
}

fn allocation(args: &PlanArgs, node: &Node) -> Result<Allocation, Failure> {
    let table = node.table();
    let configured = table.cores.len() as u32;
    if let Some(list) = &args.cores {
        return Ok(Allocation::Cores {
            cores: known_cores("--cores", list, node)?,
            configured,
        });
    }
    Ok(match &args.cpus {
        Some(cpus) => Allocation::Cpus(cpus.clone()),
        None if args.srun.one_core_a_socket => Allocation::Cores {
            cores: table
                .sockets
                .iter()
                .filter_map(|pus| Some(CoreIdx(table.cores.of(*pus.first()?))))
                .collect(),
            configured,
        },
        None => Allocation::Whole,
    })
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

/// A list of core numbers that the machine has.
fn known_cores(option: &str, list: &CpuSet, node: &Node) -> Result<Vec<CoreIdx>, Failure> {
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

/// Where a batch file is: `None` is stdin.
pub(super) fn batch_file(path: &PathBuf) -> Option<&PathBuf> {
    Some(path).filter(|path| path.as_os_str() != "-")
}
