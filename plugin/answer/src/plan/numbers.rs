//! CPU numbers in a request for a synthetic machine: they mean other threads there than on most servers.

use berth_placement::{Mode, Node};

use crate::question::Question;
use crate::srun_options::cpu_bind;

/// The note if the request names CPUs, and nobody has said how the machine numbers them.
pub(super) fn note(args: &Question, on: &Node) -> Option<String> {
    let threads = on.shape().threads;
    let is_numbered = args.numbering.is_some() || threads < 2;
    if is_numbered || !args.standing.is_synthetic {
        return None;
    }
    let option = option(args)?;
    let cores = on.shape().core_count();
    Some(format!(
        "{option} has CPU numbers, and this machine numbers the threads of a core one after the other \
         (0,1), as hwloc does; most servers number second threads last (0,{cores}), as --numbering \
         threads-last does"
    ))
}

/// The option that names CPUs.
fn option(args: &Question) -> Option<&'static str> {
    match cpu_bind(args).mode {
        Some(Mode::MapCpu(_)) => Some("--cpu-bind=map_cpu"),
        Some(Mode::MaskCpu(_)) => Some("--cpu-bind=mask_cpu"),
        _ if args.cpus.is_some() => Some("--cpus"),
        _ => args.reserved.as_ref().map(|_| "--reserved"),
    }
}
