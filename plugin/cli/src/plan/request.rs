//! Options to request and host: where the command's words become the engine's.

use std::path::PathBuf;

use berth_discover::{Discovered, Source, discover};
use berth_placement::{
    Allocation, CoreIdx, CpuSet, Fixes, Host, Level, Occupied, PuTable, Request, Rules, SocketKind,
    request::grid_engine::Strategy,
};

use crate::Failure;
use crate::args::{Autobind, BindingFail, CompatArg, PlanArgs, Socket};
use crate::srun_options::cpu_bind;

/// The machine the request is tried on.
///
/// # Errors
/// What hwloc could not read, or a numbering that the machine cannot have.
pub(crate) fn host(args: &PlanArgs) -> Result<Host, Failure> {
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
    let mut host = Host::of(machine, socket_kind(args.socket));
    if let Some(cpus) = args.config_cpus {
        let (threads, cores) = (host.shape.map.len() as u32, host.shape.core_count());
        if cpus != threads && cpus != cores {
            return Err(format!(
                "--config-cpus says CPUs={cpus}; slurmd takes the number of hardware threads \
                 ({threads}) or of cores ({cores}) of this machine: say one of them"
            )
            .into());
        }
        host.shape.cpus_are_cores = cpus == cores;
    }
    Ok(host)
}

pub(crate) fn socket_kind(socket: Socket) -> SocketKind {
    match socket {
        Socket::Package => SocketKind::Package,
        Socket::Numa => SocketKind::Numa,
        Socket::L3 => SocketKind::L3,
    }
}

/// The request as the slurmd of a node with so many of the tasks would see it.
///
/// # Errors
/// Cores that the machine does not have.
pub(crate) fn request(args: &PlanArgs, host: &Host, tasks: u32) -> Result<Request, Failure> {
    let asked = &args.srun;
    let binding = args
        .binding
        .clone()
        .filter(|binding| binding.strategy != Strategy::None);
    let fixes = fixes(args)?;
    Ok(Request {
        tasks,
        occupied: occupied(args, host, fixes)?,
        cpus_per_task: asked.cpus_per_task.unwrap_or(1),
        allocation: allocation(args, host)?,
        cpu_bind: cpu_bind(args),
        mem_bind: asked.mem_bind.clone(),
        distribution: asked.distribution.unwrap_or_default(),
        threads_per_core: asked.threads_per_core.filter(|threads| *threads > 0),
        ntasks_per_core: asked.most_tasks_per_core(),
        ntasks_per_socket: asked.ntasks_per_socket,
        overcommit: asked.overcommit,
        binding,
        rules: Rules {
            fixes,
            refuse_failed_binding: args.binding_fail == BindingFail::Refuse,
            block_by_default: args.block_by_default,
            autobind: args.autobind.map(level),
        },
        core_spec: asked.core_spec,
        ..Request::default()
    })
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

fn allocation(args: &PlanArgs, host: &Host) -> Result<Allocation, Failure> {
    if let Some(list) = &args.cores {
        return Ok(Allocation::Cores {
            cores: known_cores("--cores", list, host)?,
            configured: host.shape.core_count(),
        });
    }
    Ok(match &args.cpus {
        Some(cpus) => Allocation::Cpus(cpus.clone()),
        None if args.srun.one_core_a_socket => Allocation::Cores {
            cores: (0..host.shape.sockets)
                .map(|socket| CoreIdx(socket * host.shape.cores))
                .collect(),
            configured: host.shape.core_count(),
        },
        None => Allocation::Whole,
    })
}

/// What other steps are bound to, as kernel numbers.
fn occupied(args: &PlanArgs, host: &Host, fixes: Fixes) -> Result<Occupied, Failure> {
    let Some(list) = &args.occupied else {
        return Ok(Occupied::default());
    };
    let table = PuTable::new(host, fixes);
    let slots = |core: CoreIdx| core.0 * table.stride..(core.0 + 1) * table.stride;
    let cores = known_cores("--occupied", list, host)?;
    Ok(Occupied {
        taken: table.cpus(cores.into_iter().flat_map(slots)),
        ..Occupied::default()
    })
}

/// A list of core numbers that the machine has.
fn known_cores(option: &str, list: &CpuSet, host: &Host) -> Result<Vec<CoreIdx>, Failure> {
    let count = host.shape.core_count();
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
