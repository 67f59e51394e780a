//! Derives options from others after all are read: `_opt_verify` of srun, and
//! `validate_options_salloc_sbatch_srun`.

use berth_placement::controller::select::SrunTasks;
use berth_placement::sets::count::counted;
use berth_placement::{AcrossHosts, Distribution, Level};

use crate::reading::state::State;
use crate::reading::{Asked, LevelFrom, Refused, hint, tasks};
use crate::release::Release;
use crate::spelling::LevelBits;

/// Pairs of options of which srun takes only one, with the first release line that has the rule.
const NOT_BOTH: [(&str, &str, Release); 11] = [
    ("core-spec", "thread-spec", Release::V22_05),
    ("mem", "mem-per-cpu", Release::V22_05),
    ("mem", "mem-per-gpu", Release::V22_05),
    ("mem-per-cpu", "mem-per-gpu", Release::V22_05),
    ("exclusive", "oversubscribe", Release::V23_02),
    ("exclusive", "overlap", Release::V22_05),
    ("quiet", "verbose", Release::V22_05),
    ("bb", "bbf", Release::V22_05),
    ("relative", "exclude", Release::V22_05),
    ("relative", "nodelist", Release::V22_05),
    ("no-allocate", "relative", Release::V22_05),
];

/// Refuses options that srun does not take beside each other.
fn not_together(state: &State) -> Result<(), Refused> {
    for (one, other, since) in NOT_BOTH {
        if state.release >= since && state.on_line(one) && state.on_line(other) {
            return Err(Refused::together(format!(
                "srun takes --{one} or --{other}, not both"
            )));
        }
    }
    if state.exact && state.whole {
        return Err(Refused::together(
            "srun takes --exact or --whole for a step, not both, and --exclusive includes --exact; leave out \
             --whole for the CPUs that the step asks for, or the other for all CPUs of its job",
        ));
    }
    Ok(())
}

/// Checks options beside each other, and derives the level and the shape of the node.
pub(super) fn derive(state: &mut State) -> Result<(), Refused> {
    not_together(state)?;
    threads_per_core(state)?;
    if let Some(text) = state.cpu_bind.clone() {
        take_bind(state, &text)?;
    }
    hint::apply(state)?;
    host_file(state);
    tasks_per_object(state)
}

/// The same, and counts the tasks.
pub(super) fn verify(mut state: State) -> Result<Asked, Refused> {
    derive(&mut state)?;
    let tasks = tasks::of(&state)?;
    if state.bind.ignored_rank {
        state.notes.push(
            "Slurm 24.11 removed --cpu-bind=rank: srun ignores it; name the CPUs with map_cpu"
                .into(),
        );
    }
    Ok(asked(state, tasks))
}

fn asked(state: State, tasks: SrunTasks) -> Asked {
    Asked {
        release: state.release,
        ntasks: tasks.is_set.then_some(tasks.count),
        default_tasks: tasks.count,
        ntasks_given: state.ntasks.is_some(),
        nodes: state.nodes,
        nodelist: state.nodelist,
        cpus_per_task: state.cpus_per_task,
        cpu_bind: state.bind.bind(),
        levels: state.bind.levels,
        level_from: state.level_from.filter(|_| !state.bind.levels.is_empty()),
        mem_bind: state.mem_bind,
        distribution: state.distribution,
        node: state.node,
        by_node_info: state.extra,
        threads_per_core: state.node[2],
        ntasks_per_node: tasks.per_node,
        ntasks_per_core: state.ntasks_per_core,
        ntasks_per_socket: state.ntasks_per_socket,
        one_core_a_socket: state.one_core_a_socket,
        overcommit: state.overcommit,
        exact: state.exact,
        whole: state.whole,
        overlap: state.overlap,
        exclusive: state.exclusive,
        core_spec: state.core_spec,
        notes: state.notes,
    }
}

fn take_bind(state: &mut State, text: &str) -> Result<(), Refused> {
    let before = state.bind.levels;
    let taken = state.bind.take(text, state.release);
    taken.map_err(|why| Refused::text("cpu-bind", text, &why))?;
    if state.bind.levels != before {
        state.level_from = Some(LevelFrom::CpuBind);
    }
    Ok(())
}

/// The variable `SLURM_HOSTFILE` names a file where no option names nodes, and makes `-m arbitrary`
/// of any distribution.
fn host_file(state: &mut State) {
    let named = state.nodelist.is_some() || state.nodefile;
    let Some(file) = state.host_file.take().filter(|_| !named) else {
        return;
    };
    let pack = state.distribution.and_then(|asked| asked.pack);
    state.distribution = Some(Distribution {
        hosts: AcrossHosts::Arbitrary,
        pack,
        ..Distribution::default()
    });
    state.nodelist = Some(match file.contains('/') {
        true => file,
        false => format!("./{file}"),
    });
}

/// `--threads-per-core` means `--cpu-bind=threads` if there is no `--cpu-bind`, or only `verbose`.
fn threads_per_core(state: &mut State) -> Result<(), Refused> {
    if state.source("threads-per-core").is_none() {
        return Ok(());
    }
    let text = state.cpu_bind.as_deref();
    let is_verbose = match text {
        Some(text) if state.release >= Release::V23_02 => {
            text.eq_ignore_ascii_case("verbose") || text.eq_ignore_ascii_case("v")
        }
        text => text == Some("verbose"),
    };
    if text.is_none() || is_verbose {
        state.bind.levels = LevelBits::only(Level::Threads);
        state.level_from = Some(LevelFrom::ThreadsPerCore);
    }
    Ok(())
}

/// `--ntasks-per-core` and `--ntasks-per-socket` choose a level if there is none.
fn tasks_per_object(state: &mut State) -> Result<(), Refused> {
    if let Some(most) = state.ntasks_per_core {
        let level = match most {
            2.. if state.release >= Release::V23_02 => Level::Threads,
            _ => Level::Cores,
        };
        level_where_none(state, level, LevelFrom::NtasksPerCore);
        let threads = state.node[2].filter(|threads| *threads < most);
        if let Some(threads) = threads.filter(|_| state.release >= Release::V23_02) {
            return Err(Refused::together(format!(
                "--ntasks-per-core={most} is more than the {} of each core that may be used; request \
                 fewer tasks or more threads",
                counted(threads, "thread")
            )));
        }
    }
    if state.ntasks_per_socket.is_some() {
        level_where_none(state, Level::Sockets, LevelFrom::NtasksPerSocket);
    }
    Ok(())
}

fn level_where_none(state: &mut State, level: Level, from: LevelFrom) {
    if state.bind.levels.is_empty() {
        state.bind.levels = LevelBits::only(level);
        state.level_from = Some(from);
    }
}
