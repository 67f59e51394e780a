//! A step and its request in words, for the log and for users.

use std::fmt::{self, Write};

use berth_placement::request::grid_engine::Strategy;
use berth_placement::sets::bounded::{Bounded, shown};
use berth_placement::sets::limits::{DESCRIBED_REQUEST, USER_TEXT};
use berth_placement::{Binding, Note, Request};
use slurm_sys::StepId;
use slurm_sys::views::StepKind;

/// The note to a user whose `--binding` meets the administrator's switch-off file; none for
/// `--binding=none`, which asks for nothing.
pub(crate) fn switched_off_note(asked: &str) -> Option<String> {
    let binding = asked.parse::<Binding>();
    let asks = !binding.is_ok_and(|binding| binding.strategy == Strategy::None);
    asks.then(|| {
        format!(
            "--binding={} is not applied: the administrator has switched berth off on this node; \
             leave it out, or ask for another node",
            shown(USER_TEXT / 4, asked)
        )
    })
}

/// A request on one line of a log.
pub(crate) fn describe(ask: &Request) -> String {
    let mut line = Bounded::new(DESCRIBED_REQUEST);
    // A full line is long enough, so what does not fit is dropped.
    let _ = describe_in(ask, &mut line);
    line.into_text()
}

fn describe_in(ask: &Request, line: &mut Bounded) -> fmt::Result {
    // Every field is named here, so that the compiler asks about a new one.
    let Request {
        tasks,
        cpus_per_task,
        cpu_bind,
        distribution,
        threads_per_core,
        ntasks_per_core,
        ntasks_per_socket,
        overcommit,
        binding,
        mem_bind,
        // These are the job's and its allocation, no wish of the step.
        core_spec: _,
        job_cpus: _,
        allocation: _,
    } = ask;
    write!(line, "n={tasks} c={cpus_per_task} {cpu_bind}")?;
    write!(line, " dist={distribution}")?;
    let limits = [
        ("threads-per-core", threads_per_core),
        ("ntasks-per-core", ntasks_per_core),
        ("ntasks-per-socket", ntasks_per_socket),
    ];
    for (limit, value) in limits {
        if let Some(value) = value {
            write!(line, " {limit}={value}")?;
        }
    }
    if *overcommit {
        line.write_str(" overcommit")?;
    }
    if mem_bind.policy.is_some() {
        write!(line, " mem={mem_bind}")?;
    }
    if let Some(binding) = binding {
        write!(line, " binding={binding}")?;
    }
    Ok(())
}

/// All notes to the user, as one text.
pub(crate) fn join(notes: &[Note], others: impl IntoIterator<Item = String>) -> String {
    let all = notes.iter().map(ToString::to_string).chain(others);
    let said: Vec<_> = all.filter(|note| !note.is_empty()).collect();
    said.join("; ")
}

/// The beginning of every log line about a step.
pub(crate) fn name(id: StepId) -> String {
    match id.kind {
        StepKind::Regular => format!("step={}.{}", id.job_id, id.step_id),
        kind => format!("step={}.{}", id.job_id, format!("{kind:?}").to_lowercase()),
    }
}
