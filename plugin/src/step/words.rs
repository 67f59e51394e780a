//! A step and its request in words, for the log and for users.

use std::fmt::{self, Display, Write};

use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::sets::limits::{DESCRIBED_REQUEST, USER_TEXT};
use berth_placement::sets::text::{Bounded, shown, write_number};
use berth_placement::{Note, Request, Rule};
use slurm_sys::StepId;
use slurm_sys::views::StepKind;

use crate::step::own_options::{Ours, Texts};

/// Most rules are shorter.
const USUAL_RULE: usize = 32;

/// The note to a user whose options meet the administrator's switch-off file; none if they request
/// nothing, as `--binding=none`.
pub(crate) fn switched_off_note(requested: &Texts) -> Option<String> {
    let typed = match Ours::read(requested) {
        Ok(ours) if ours.is_empty() => return None,
        Ok(ours) => ours.typed(),
        Err(_) => "the request".into(),
    };
    Some(format!(
        "{typed} is not applied: the administrator has switched berth off on this node; leave it \
         out, or ask for another node"
    ))
}

/// A request on one line of a log.
pub(crate) fn describe(request: &Request) -> String {
    let mut line = Bounded::new(DESCRIBED_REQUEST);
    // A full line is long enough, so what does not fit is dropped.
    let _ = describe_in(request, &mut line);
    line.into_text()
}

fn describe_in(request: &Request, line: &mut Bounded) -> fmt::Result {
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
        near,
        mapping,
        cpuset,
        core_kind,
        mem_bind,
        // These are the job's and its allocation, no wish of the step.
        core_spec: _,
        job_cpus: _,
        job_allocation: _,
        gres: _,
        allocation: _,
        reserved: _,
        near_by_default: _,
    } = request;
    numbered(line, "n=", *tasks)?;
    numbered(line, " c=", *cpus_per_task)?;
    line.write_str(" ")?;
    cpu_bind.write(line)?;
    line.write_str(" dist=")?;
    distribution.write(line)?;
    let limits = [
        (" threads-per-core=", threads_per_core),
        (" ntasks-per-core=", ntasks_per_core),
        (" ntasks-per-socket=", ntasks_per_socket),
    ];
    for (limit, value) in limits {
        if let Some(value) = value {
            numbered(line, limit, *value)?;
        }
    }
    if *overcommit {
        line.write_str(" overcommit")?;
    }
    let mem_bind = mem_bind.policy.is_some().then_some(mem_bind);
    optional(line, " mem=", mem_bind)?;
    optional(line, " binding=", binding.as_ref())?;
    let core_kind = (*core_kind != CoreKindWish::Any).then_some(core_kind);
    optional(line, " core-kind=", core_kind)?;
    optional(line, " cpuset=", cpuset.as_ref())?;
    optional(line, " ", mapping.as_ref())?;
    optional(line, " near=", near.as_ref())
}

fn optional(line: &mut Bounded, name: &str, value: Option<&impl Display>) -> fmt::Result {
    match value {
        Some(value) => write!(line, "{name}{value}"),
        None => Ok(()),
    }
}

/// The rule that decided.
pub(crate) fn rule(rule: &Rule) -> String {
    let mut text = String::with_capacity(USUAL_RULE);
    // A String takes everything.
    let _ = rule.write(&mut text);
    text
}

fn numbered(line: &mut Bounded, name: &str, number: u32) -> fmt::Result {
    line.write_str(name)?;
    write_number(line, number)
}

/// All notes to the user, as one text.
pub(crate) fn join(notes: &[Note], others: impl IntoIterator<Item = String>) -> String {
    let all = notes.iter().map(ToString::to_string).chain(others);
    let mut said = all.filter(|note| !note.is_empty());
    let first = said.next().unwrap_or_default();
    said.fold(first, |text, next| text + "; " + &next)
}

/// All notes to the user as one text, cut if it has more than `USER_TEXT` bytes.
pub(crate) fn join_bounded(notes: &[Note], others: impl IntoIterator<Item = String>) -> String {
    let all = join(notes, others);
    match all.len() <= USER_TEXT {
        true => all,
        false => shown(USER_TEXT, all),
    }
}

/// The beginning of every log line about a step.
pub(crate) fn name(id: StepId) -> String {
    match id.kind {
        StepKind::Regular => format!("step={}.{}", id.job_id, id.step_id),
        kind => format!("step={}.{}", id.job_id, format!("{kind:?}").to_lowercase()),
    }
}
