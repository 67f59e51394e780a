//! Derives options from others after all are read: `_opt_verify` of srun, `validate_options_salloc_sbatch_srun`, and
//! `--hint` beside other options: the one that counts (`validate_hint_option`), and the options that the hint sets
//! (`verify_hint`).

use berth_placement::controller::select::{ClientRules, LineOptions, SrunTasks};
use berth_placement::sets::text::counted;
use berth_placement::{AcrossHosts, Distribution, Level};

use crate::reading::state::{State, from_state};
use crate::reading::{LevelFrom, Refused, SrunRequest, per_task};
use crate::release::Release;
use crate::spelling::{LevelBits, TypedBind, hints};

/// Pairs of options of which srun takes only one, with the first release line that has the rule.
const NOT_BOTH: [(&str, &str, Release); 12] = [
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
    ("cpus-per-task", "cpus-per-gpu", Release::V23_11),
];

/// Refuses options that srun does not take beside each other.
fn not_together(state: &State<'_>) -> Result<(), Refused> {
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
pub(super) fn derive(state: &mut State<'_>) -> Result<(), Refused> {
    not_together(state)?;
    per_task::take(state)?;
    threads_per_core(state)?;
    if let Some(text) = state.bind_text.clone() {
        take_bind(state, &text)?;
    }
    apply_hint(state)?;
    host_file(state);
    tasks_per_object(state)
}

/// Checks options beside each other, derives the level and the shape of the node, and counts the tasks.
pub(super) fn verify(mut state: State<'_>) -> Result<SrunRequest, Refused> {
    derive(&mut state)?;
    let tasks = tasks(&state)?;
    if state.bind.ignored_rank {
        state.notes.push(
            "Slurm 24.11 removed --cpu-bind=rank: srun ignores it; name the CPUs with map_cpu"
                .into(),
        );
    }
    let levels = state.bind.levels;
    Ok(SrunRequest {
        ntasks: tasks.is_set.then_some(tasks.count),
        default_tasks: tasks.count,
        ntasks_given: state.ntasks.is_some(),
        ntasks_per_node: tasks.per_node,
        cpu_bind: state.bind.bind(),
        levels,
        level_from: state.level_from.filter(|_| !levels.is_empty()),
        threads_per_core: state.node[2],
        ..state.into_request()
    })
}

const NO_LIST: &str = "-m arbitrary takes each task's node from a list; give it with -w, or in a \
                       file named by SLURM_HOSTFILE";

/// The number of tasks: it is given, or follows from nodes, a node's numbers, or a list of nodes (`_opt_verify`). The
/// model of slurmctld's clients counts them.
fn tasks(state: &State<'_>) -> Result<SrunTasks, Refused> {
    let requested = state.distribution;
    let arbitrary = requested.is_some_and(|requested| requested.hosts == AcrossHosts::Arbitrary);
    if arbitrary && state.nodelist.is_none() && !state.nodefile {
        return Err(Refused::together(NO_LIST));
    }
    if arbitrary && state.on_line("nodes") && state.release >= Release::V23_11 {
        return Err(Refused::together(
            "srun takes no --nodes beside -m arbitrary: the list names the nodes; leave -N out",
        ));
    }
    let mut options = LineOptions::default();
    from_state(&mut options, state)?;
    let rules = ClientRules {
        per_node_first: state.release >= Release::V23_02,
        drops_per_node: state.release <= Release::V23_11,
    };
    SrunTasks::of(rules, &options).map_err(|_| {
        Refused::together(
            "srun takes no 0 as a count, and no range of nodes whose end is below its start",
        )
    })
}

fn take_bind(state: &mut State<'_>, text: &str) -> Result<(), Refused> {
    let before = state.bind.levels;
    let release = state.release;
    let taken = state.bind.take(text, release);
    taken.map_err(|why| Refused::text("cpu-bind", text, &why))?;
    if state.bind.levels != before {
        state.level_from = Some(LevelFrom::CpuBind);
    }
    Ok(())
}

/// The variable `SLURM_HOSTFILE` names a file where no option names nodes, and makes `-m arbitrary`
/// of any distribution.
fn host_file(state: &mut State<'_>) {
    let named = state.nodelist.is_some() || state.nodefile;
    let Some(file) = state.host_file.take().filter(|_| !named) else {
        return;
    };
    let pack = state.distribution.and_then(|requested| requested.pack);
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
fn threads_per_core(state: &mut State<'_>) -> Result<(), Refused> {
    if state.last("threads-per-core").is_none() {
        return Ok(());
    }
    let text = state.bind_text.as_deref();
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
fn tasks_per_object(state: &mut State<'_>) -> Result<(), Refused> {
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

fn level_where_none(state: &mut State<'_>, level: Level, from: LevelFrom) {
    if state.bind.levels.is_empty() {
        state.bind.levels = LevelBits::only(level);
        state.level_from = Some(from);
    }
}

/// Drops the hint, or applies it.
fn apply_hint(state: &mut State<'_>) -> Result<(), Refused> {
    let Some(hint) = state.hint.clone() else {
        return Ok(());
    };
    if let Some(other) = in_its_way(state) {
        let by_typed = other == "--cpu-bind" && state.on_line("cpu-bind");
        let ignored = match state.on_line("hint") {
            true => Some("--hint".into()),
            false => by_typed.then(|| format!("SLURM_HINT={hint}, as a job's --hint sets it,")),
        };
        state.notes.extend(ignored.map(|ignored| {
            format!("srun ignores {ignored} beside {other}; leave out one of the two")
        }));
        return Ok(());
    }
    if state.on_line("hint") {
        reset_others(state);
    }
    let found = hints(&hint).map_err(|why| Refused::text("hint", &hint, &why))?;
    if found.any_node {
        state.node = [None; 3];
    }
    if found.one_core_a_socket {
        state.node[1] = Some(1);
        state.one_core_a_socket = true;
    }
    if let Some(threads) = found.threads_per_core {
        state.node[2] = threads;
    }
    if found.any_tasks_per_core {
        state.ntasks_per_core = Some(u32::from(u16::MAX));
    }
    state.bind.levels = state.bind.levels.with(found.levels);
    state.bind.one_thread = found.one_thread.unwrap_or(state.bind.one_thread);
    state.level_from = Some(LevelFrom::Hint);
    state.hinted = true;
    Ok(())
}

/// The option beside which the hint does not count.
fn in_its_way(state: &State<'_>) -> Option<&'static str> {
    // The last two count from 25.11 on, and only on the line.
    let others = [
        ("extra-node-info", "-B"),
        ("ntasks-per-core", "--ntasks-per-core"),
        ("threads-per-core", "--threads-per-core"),
        ("cores-per-socket", "--cores-per-socket"),
        ("sockets-per-node", "--sockets-per-node"),
    ];
    let is_given = |name: &str, typed: bool| {
        let last = state.last(name);
        last.is_some_and(|option| option.is_typed() == typed)
    };
    let by = |typed: bool| {
        let all = state.release >= Release::V25_11 && typed;
        let mut counted = others.iter().take(if all { 5 } else { 3 });
        let other = counted.find(|(name, _)| is_given(name, typed));
        other.map(|(_, shown)| *shown)
    };
    let bare = state.bind.is_bare();
    // Until 23.02 a `--cpu-bind=verbose` of the line stood in the way of a variable's hint.
    let lenient = state.release >= Release::V23_11 || state.on_line("hint");
    let found = |typed: bool| {
        let bind = || is_given("cpu-bind", typed) && !(lenient && bare);
        by(typed).or_else(|| bind().then_some("--cpu-bind"))
    };
    match state.on_line("hint") {
        true => found(true),
        false => found(true).or_else(|| found(false)),
    }
}

/// A hint of the line goes over variables.
fn reset_others(state: &mut State<'_>) {
    for name in [
        "ntasks-per-core",
        "threads-per-core",
        "extra-node-info",
        "cpu-bind",
    ] {
        state.reset(name);
    }
    state.ntasks_per_core = None;
    // One option's reset is the other's too.
    state.node = [None; 3];
    state.by_node_info = false;
    state.bind_text = None;
    if state.release >= Release::V23_11 && !state.bind.is_bare() {
        state.bind = TypedBind {
            verbose: state.bind.verbose,
            ..TypedBind::default()
        };
    }
}
