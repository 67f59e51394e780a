//! `--hint` beside other options: the one that counts (`validate_hint_option`), and the options
//! that the hint sets (`verify_hint`).

use crate::reading::state::State;
use crate::reading::{LevelFrom, Refused, Source};
use crate::release::Release;
use crate::spelling::{TypedBind, hints};

/// Drops the hint, or applies it.
pub(super) fn apply(state: &mut State) -> Result<(), Refused> {
    let Some(hint) = state.hint.clone() else {
        return Ok(());
    };
    if let Some(other) = in_its_way(state) {
        if state.on_line("hint") {
            state.notes.push(format!(
                "srun ignores --hint beside {other}; leave out one of the two"
            ));
        }
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
fn in_its_way(state: &State) -> Option<&'static str> {
    // The last two count from 25.11 on, and only on the line.
    let others = [
        ("extra-node-info", "-B"),
        ("ntasks-per-core", "--ntasks-per-core"),
        ("threads-per-core", "--threads-per-core"),
        ("cores-per-socket", "--cores-per-socket"),
        ("sockets-per-node", "--sockets-per-node"),
    ];
    let by = |source: Source| {
        let all = state.release >= Release::V25_11 && source == Source::Line;
        let mut counted = others.iter().take(if all { 5 } else { 3 });
        let other = counted.find(|(name, _)| state.source(name) == Some(source));
        other.map(|(_, shown)| *shown)
    };
    let bare = state.bind.is_bare();
    // Until 23.02 a `--cpu-bind=verbose` of the line stood in the way of a variable's hint.
    let lenient = state.release >= Release::V23_11 || state.on_line("hint");
    let bind = |source| {
        let is_set = state.source("cpu-bind") == Some(source);
        (is_set && !(lenient && bare)).then_some("--cpu-bind")
    };
    match state.on_line("hint") {
        true => by(Source::Line).or_else(|| bind(Source::Line)),
        false => by(Source::Line)
            .or_else(|| bind(Source::Line))
            .or_else(|| by(Source::Environment))
            .or_else(|| bind(Source::Environment)),
    }
}

/// A hint of the line goes over variables.
fn reset_others(state: &mut State) {
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
