//! What a plan takes from srun's reading of its options: the binding with the site's default, and
//! which option chose the level.

use berth_placement::{CpuBind, Machine, SocketKind};
use berth_srun::reading::LevelFrom;
use berth_srun::{Release, SrunRequest};

use crate::question::Question;

/// `--cpu-bind` as it arrives at slurmd. Source: `launch_p_step_launch`: any bit keeps the site's
/// default out, also those of the level that another option chose; in 22.05 also `verbose`.
pub fn cpu_bind(args: &Question) -> CpuBind {
    let request = &args.srun.cpu_bind;
    match &args.site_cpu_bind() {
        Some(site) if takes_default(&args.srun) => CpuBind {
            verbose: request.verbose || site.verbose,
            ..site.clone()
        },
        _ => request.clone(),
    }
}

fn takes_default(request: &SrunRequest) -> bool {
    let bind = CpuBind {
        verbose: request.cpu_bind.verbose && request.release == Release::V22_05,
        ..request.cpu_bind.clone()
    };
    bind == CpuBind::default()
}

/// Which of the options chose the level.
pub fn level_from(args: &Question) -> String {
    let implied = |option: &str| format!("{option} implies it");
    match args.srun.level_from {
        Some(LevelFrom::CpuBind) => match args.srun.cpu_bind.level {
            Some(level) => format!("--cpu-bind={level} asks for it"),
            None => "--cpu-bind asks for it".into(),
        },
        Some(LevelFrom::NodeInfo(fields)) => {
            let numbers = ["one number", "two numbers", "three numbers"];
            let fields = usize::from(fields).clamp(1, 3);
            format!("-B has {}", numbers[fields - 1])
        }
        Some(LevelFrom::ThreadsPerCore) => implied("--threads-per-core"),
        Some(LevelFrom::NtasksPerCore) => implied("--ntasks-per-core"),
        Some(LevelFrom::NtasksPerSocket) => implied("--ntasks-per-socket"),
        Some(LevelFrom::Hint) => "the hint asks for it".into(),
        // The request itself chose none.
        None if args.srun.cpu_bind.level.is_none() => "it is the site's default (CpuBind=)".into(),
        None => "the request asks for it".into(),
    }
}

/// Why slurmctld would not choose this node, if so.
pub fn unmet(request: &SrunRequest, machine: &Machine, kind: SocketKind) -> Option<String> {
    let sockets = machine.sockets(kind);
    let cores = sockets.iter().map(Vec::len).max().unwrap_or(0);
    let all = sockets.iter().flatten();
    let threads = all
        .map(|core| machine.pus_of(*core).len())
        .max()
        .unwrap_or(0);
    let found = [sockets.len(), cores, threads];
    let names = ["sockets", "cores per socket", "threads per core"];
    let options = [
        "--sockets-per-node",
        "--cores-per-socket",
        "--threads-per-core",
    ];
    let parts = request
        .node
        .iter()
        .zip(found)
        .zip(names.iter().zip(options));
    parts
        .filter_map(|((wanted, found), (name, option))| Some(((*wanted)?, found, name, option)))
        .find(|(wanted, found, ..)| *wanted as usize > *found)
        .map(|(least, found, name, option)| {
            let option = if request.by_node_info { "-B" } else { option };
            format!("{option} asks for {least} {name}; this machine has {found}; ask for no more")
        })
}
