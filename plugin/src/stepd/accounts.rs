//! A step's entries in the ledger as it begins: those that slurmd has made for it, or its wait for a cpuset whose CPUs
//! others have.

use berth_placement::CpusetFail;
use berth_placement::sets::bounded::repeated;
use slurm_sys::StepRecord;

use crate::message::handover::{Handover, Outcome};
use crate::planning::cpuset::GRACE;
use crate::planning::words::{join, name};
use crate::site::settings;
use crate::stepd::account::{Account, Late, What};
use crate::stepd::session::Wait;
use crate::stepd::wait;

/// What its tasks wait for, or the step's entries in the ledger.
pub(crate) fn accounts(
    record: &StepRecord<'_>,
    settled: Option<Option<Account>>,
    heard: &mut Handover,
    node_name: &str,
) -> (Option<Wait>, Vec<Account>) {
    if let Some(wait) = waits(record, heard, node_name) {
        return (Some(wait), Vec::new());
    }
    let is_bound = settled.is_some() || heard.served.is_some();
    let account = match settled {
        Some(account) => account,
        None => confirmed(record, heard, node_name),
    };
    match cpuset_confirmed(record, heard, node_name) {
        Ok(cpuset) => (None, account.into_iter().chain(cpuset).collect()),
        Err(late) => {
            let wait = match is_bound {
                true => None,
                false => waits_after_all(record, &late, heard, node_name),
            };
            if wait.is_none() {
                told_late(record, heard, late);
            }
            (wait, account.into_iter().collect())
        }
    }
}

/// The ledger's entry that slurmd made for this step's binding, if it did.
fn of_binding(
    record: &StepRecord<'_>,
    heard: &Handover,
    node_name: &str,
) -> Result<Option<Account>, Late> {
    let Some(served) = &heard.served else {
        return Ok(None);
    };
    let cpus = served.chosen.cpus();
    Account::confirm(record, What::Binding(&cpus), (node_name, is_in_pool(heard)))
}

/// The same for a step that goes on with its cores if others have got them meanwhile.
fn confirmed(record: &StepRecord<'_>, heard: &mut Handover, node_name: &str) -> Option<Account> {
    of_binding(record, heard, node_name).unwrap_or_else(|late| {
        told_late(record, heard, late);
        None
    })
}

/// The same for a step that can be planned again; none if it must be, because other steps have got its cores meanwhile.
pub(crate) fn in_time(
    record: &StepRecord<'_>,
    heard: &Handover,
    node_name: &str,
) -> Option<Option<Account>> {
    let found = of_binding(record, heard, node_name);
    let planned_again = |late: Late| {
        let taken = repeated(&late.taken);
        log::info!(
            "{}: others were bound to CPUs {taken} before it began; it is planned again",
            name(record.step_id())
        );
    };
    found.map_err(planned_again).ok()
}

/// Whether the step has an entry of its binding. The tasks of one that waits for its cpuset have none.
pub(crate) fn has_entry(heard: &Handover) -> bool {
    let waits = heard.cpuset.as_ref().is_some_and(|cpuset| cpuset.waits > 0);
    heard.served.is_some() && !waits
}

/// The same for its cpuset.
fn cpuset_confirmed(
    record: &StepRecord<'_>,
    heard: &Handover,
    node_name: &str,
) -> Result<Option<Account>, Late> {
    let Some(cpuset) = &heard.cpuset else {
        return Ok(None);
    };
    let found = Account::confirm(record, What::Cpuset(cpuset), (node_name, is_in_pool(heard)))?;
    log::info!("{} cpuset={:?}", name(record.step_id()), cpuset.line);
    Ok(found)
}

/// Another step took CPUs of its cpuset after slurmd had planned it: it waits for these as it would have if slurmd had
/// found them taken.
fn waits_after_all(
    record: &StepRecord<'_>,
    late: &Late,
    heard: &mut Handover,
    node_name: &str,
) -> Option<Wait> {
    let seconds = match settings::current().cpuset_fail {
        CpusetFail::Wait(seconds) => seconds.max(GRACE),
        CpusetFail::Refuse => GRACE,
        CpusetFail::Unbound => return None,
    };
    let cpuset = heard.cpuset.as_mut()?;
    if cpuset.is_debugged || late.taken.is_empty() {
        return None;
    }
    cpuset.waits = seconds;
    let note = format!(
        "others have CPUs {} now; the tasks wait for the CPUs {} of their cpuset, at most {seconds} s",
        repeated(&late.taken),
        repeated(&cpuset.cpus),
    );
    let wait = waits(record, heard, node_name);
    if wait.is_some() {
        add_note(heard, Some(note));
    }
    wait
}

fn told_late(record: &StepRecord<'_>, heard: &mut Handover, late: Late) {
    log::warn!("{}: {}", name(record.step_id()), late.note);
    add_note(heard, Some(late.note));
}

/// One note more for the user.
pub(crate) fn add_note(heard: &mut Handover, late: Option<String>) {
    let before = std::mem::take(&mut heard.note);
    heard.note = join(&[], [before, late.unwrap_or_default()]);
}

/// What its tasks wait for, if slurmd says so. A step that cannot wait is refused.
fn waits(record: &StepRecord<'_>, heard: &mut Handover, node_name: &str) -> Option<Wait> {
    let prepared = wait::prepare(record, (heard, is_in_pool(heard)), node_name);
    prepared.unwrap_or_else(|why| {
        let step = name(record.step_id());
        log::error!("{step}: its tasks cannot wait for their cpuset: {why}");
        heard.outcome = Outcome::Refused;
        heard.note = wait::CANNOT.into();
        None
    })
}

/// Whether the step's job is in a pool, and has its place there.
pub(crate) fn is_in_pool(heard: &Handover) -> bool {
    heard
        .pool
        .as_ref()
        .is_some_and(|pool| pool.member.is_some())
}
