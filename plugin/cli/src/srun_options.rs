//! What srun makes of its options before slurmd sees them: one option derived
//! from another. Source: `verify_socket_core_thread_count`, `_opt_verify`; tried
//! with the real srun.

use std::str::FromStr;

use berth_placement::{CpuBind, Level, Machine, SocketKind};
use clap::ValueEnum;

use crate::args::PlanArgs;

/// `-B S[:C[:T]]`: each a number, `*`, or a range of which the least counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtraNodeInfo {
    /// Least numbers; `None` for `*`, 0 and what was left out.
    minimum: [Option<u32>; 3],
    fields: usize,
}

impl FromStr for ExtraNodeInfo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is not SOCKETS[:CORES[:THREADS]] with numbers, min-max or *");
        let parts: Vec<_> = text.split(':').collect();
        if parts.len() > 3 {
            return Err(wrong());
        }
        let mut minimum = [None; 3];
        for (place, part) in minimum.iter_mut().zip(&parts) {
            let (least, most) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
            if number(most).is_ok_and(|most| most == 0) {
                return Err(format!(
                    "\"{text}\" asks for 0 of something; a node has at least 1; * means any"
                ));
            }
            if *part != "*" {
                if number(least)? > number(most)? {
                    return Err(wrong());
                }
                *place = Some(number(least)?).filter(|number| *number > 0);
            }
        }
        Ok(Self {
            minimum,
            fields: parts.len(),
        })
    }
}

impl ExtraNodeInfo {
    /// `--sockets-per-node` and `--cores-per-socket`: as in `-B`, but they choose no level.
    pub(crate) fn at_least(sockets: Option<u32>, cores: Option<u32>) -> Self {
        Self {
            minimum: [sockets, cores, None],
            fields: 0,
        }
    }

    fn level(&self) -> Level {
        [Level::Sockets, Level::Cores, Level::Threads][self.fields.clamp(1, 3) - 1]
    }

    /// Why slurmctld would not choose this node, if so.
    pub(crate) fn unmet(&self, machine: &Machine, kind: SocketKind) -> Option<String> {
        let sockets = machine.sockets(kind);
        let cores = sockets.iter().map(Vec::len).max().unwrap_or(0);
        let all = sockets.iter().flatten();
        let threads = all
            .map(|core| machine.pus_of(*core).len())
            .max()
            .unwrap_or(0);
        let found = [sockets.len(), cores, threads];
        let names = ["sockets", "cores a socket", "threads a core"];
        let option = match self.fields {
            0 => "--sockets-per-node and --cores-per-socket ask",
            _ => "-B asks",
        };
        self.minimum
            .iter()
            .zip(found)
            .zip(names)
            .find_map(|((asked, found), name)| {
                let asked = (*asked)?;
                (asked as usize > found).then(|| {
                    format!(
                        "{option} for {asked} {name}; this machine has {found}; ask for no more"
                    )
                })
            })
    }
}

/// `--hint`, as srun turns it into other options (`verify_hint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Hint {
    /// Whole cores, one thread of each counted
    ComputeBound,
    /// One core a socket
    MemoryBound,
    /// All hardware threads
    Multithread,
    /// One hardware thread a core
    Nomultithread,
}

/// Options as they arrive at slurmd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Derived {
    pub cpu_bind: CpuBind,
    pub threads_per_core: Option<u32>,
    pub ntasks_per_core: Option<u32>,
    /// slurmctld gives the job one core of each socket.
    pub one_core_a_socket: bool,
    /// What srun drops without a word; we say it.
    pub note: Option<String>,
}

/// Derives them in srun's order.
pub(crate) fn derive(args: &PlanArgs) -> Derived {
    let mut derived = from_srun(args);
    // Source: `launch_p_step_launch`: any bit keeps it out, also those of `verbose`,
    // of the level that another option chose, and of a hint.
    if derived.cpu_bind == CpuBind::default()
        && let Some(site) = &args.default_cpu_bind
    {
        derived.cpu_bind = site.clone();
    }
    derived
}

fn from_srun(args: &PlanArgs) -> Derived {
    let mut derived = from_options(args);
    let Some(hint) = args.hint else {
        return derived;
    };
    let other = [
        (args.extra_node_info.is_some(), "-B"),
        (args.ntasks_per_core.is_some(), "--ntasks-per-core"),
        (args.threads_per_core.is_some(), "--threads-per-core"),
        (!is_bare(args.bind()), "--cpu-bind"),
    ];
    if let Some((_, option)) = other.iter().find(|(given, _)| *given) {
        derived.note = Some(format!(
            "srun drops --hint beside {option}; leave one of the two out"
        ));
        return derived;
    }
    let (level, one_thread) = match hint {
        Hint::ComputeBound | Hint::MemoryBound => (Level::Cores, false),
        Hint::Multithread => (Level::Threads, false),
        Hint::Nomultithread => (Level::Threads, true),
    };
    derived.cpu_bind.level = Some(level);
    derived.cpu_bind.one_thread |= one_thread;
    derived.threads_per_core = (hint != Hint::Multithread).then_some(1);
    derived.one_core_a_socket = hint == Hint::MemoryBound;
    derived
}

/// Without a level or a mode: not given, or `verbose` and `quiet` alone.
fn is_bare(bind: Option<&CpuBind>) -> bool {
    bind.is_none_or(|bind| bind.level.is_none() && bind.mode.is_none() && !bind.one_thread)
}

fn from_options(args: &PlanArgs) -> Derived {
    let mut bind = args.bind().cloned().unwrap_or_default();
    let extra = args.extra_node_info.as_ref();
    // The first that applies sets the level.
    let by_threads = args.threads_per_core.is_some() && is_bare(args.bind());
    let level = extra
        .map(ExtraNodeInfo::level)
        .or(by_threads.then_some(Level::Threads))
        .or(args.ntasks_per_core.map(|_| Level::Cores))
        .or(args.ntasks_per_socket.map(|_| Level::Sockets));
    bind.level = bind.level.or(level);
    Derived {
        cpu_bind: bind,
        threads_per_core: args
            .threads_per_core
            .or(extra.and_then(|extra| extra.minimum[2])),
        ntasks_per_core: args.ntasks_per_core,
        ..Derived::default()
    }
}

/// Which of the options chose the level, in the order in which srun asks them.
pub(crate) fn level_from(args: &PlanArgs) -> String {
    if let Some(level) = args.bind().and_then(|bind| bind.level) {
        return format!("--cpu-bind={level} asks for it");
    }
    let (derived, plain) = (derive(args), from_options(args));
    if derived.cpu_bind.level != plain.cpu_bind.level {
        return match args.hint.filter(|_| derived.note.is_none()) {
            Some(_) => "the hint asks for it".into(),
            None => "it is the site's default (CpuBind=)".into(),
        };
    }
    if let Some(extra) = &args.extra_node_info {
        let numbers = ["one number", "two numbers", "three numbers"][extra.fields.clamp(1, 3) - 1];
        return format!("-B has {numbers}");
    }
    let option = [
        (args.threads_per_core.is_some(), "--threads-per-core"),
        (args.ntasks_per_core.is_some(), "--ntasks-per-core"),
        (args.ntasks_per_socket.is_some(), "--ntasks-per-socket"),
    ];
    match option.iter().find(|(given, _)| *given) {
        Some((_, option)) => format!("{option} implies it"),
        None => "the request asks for it".into(),
    }
}
