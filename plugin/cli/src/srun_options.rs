//! What srun makes of its options before slurmd sees them: one option derived
//! from another. Source: `verify_socket_core_thread_count`, `_opt_verify`; tried
//! with the real srun.

use std::str::FromStr;

use berth_placement::{CpuBind, Level, Machine, SocketKind};

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
        self.minimum
            .iter()
            .zip(found)
            .zip(names)
            .find_map(|((asked, found), name)| {
                let asked = (*asked)?;
                (asked as usize > found).then(|| {
                    format!("-B asks for {asked} {name}; this machine has {found}; ask for no more")
                })
            })
    }
}

/// `--cpu-bind` and `--threads-per-core` as they arrive at slurmd.
pub(crate) fn derive(args: &PlanArgs) -> (CpuBind, Option<u32>) {
    let mut bind = args.cpu_bind.clone().unwrap_or_default();
    let extra = args.extra_node_info.as_ref();
    let threads = args
        .threads_per_core
        .or(extra.and_then(|extra| extra.minimum[2]));
    // In srun's order: the first that applies sets the level.
    let level = extra
        .map(ExtraNodeInfo::level)
        .or(args
            .threads_per_core
            .filter(|_| args.cpu_bind.is_none())
            .map(|_| Level::Threads))
        .or(args.ntasks_per_core.map(|_| Level::Cores))
        .or(args.ntasks_per_socket.map(|_| Level::Sockets));
    bind.level = bind.level.or(level);
    (bind, threads)
}
