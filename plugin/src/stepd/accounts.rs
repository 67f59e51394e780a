//! A step's entries in the ledger as it begins: those that slurmd has made for it, or that of a cpuset whose CPUs
//! another job leaves as it is suspended.

use std::thread::sleep;
use std::time::{Duration, Instant};

use berth_host::StateDir;
use berth_host::ledger::{Claimed, claim};
use berth_placement::sets::bounded::repeated;
use berth_placement::{CpuSet, CpusetFail};
use slurm_sys::StepRecord;

use crate::message::handover::{Handover, InCpuset, Outcome};
use crate::planning::cpuset::GRACE;
use crate::planning::ledger;
use crate::planning::words::{join, name};
use crate::site::settings;
use crate::stepd::account::{Account, Late, What, entry_of_cpuset};

/// The pause between two looks at the ledger.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// What a user reads whose node has no ledger.
const CANNOT: &str = "--cpuset: others have CPUs of this job's cpuset, and whether they leave them cannot be seen; \
                      ask the administrator; the reason is in slurmd's log";

/// The step's entries in the ledger.
pub(crate) fn accounts(
    record: &StepRecord<'_>,
    settled: Option<Option<Account>>,
    heard: &mut Handover,
    node_name: &str,
) -> Vec<Account> {
    if heard.cpuset.as_ref().is_some_and(|cpuset| cpuset.is_held) {
        return once_stopped(record, heard, node_name).into_iter().collect();
    }
    let is_bound = settled.is_some() || heard.served.is_some();
    let account = match settled {
        Some(account) => account,
        None => confirmed(record, heard, node_name),
    };
    let cpuset = match cpuset_confirmed(record, heard, node_name) {
        Ok(cpuset) => cpuset,
        Err(late) if !is_bound && may_be_left(heard, &late) => {
            once_stopped(record, heard, node_name)
        }
        Err(late) => {
            told_late(record, heard, late);
            None
        }
    };
    account.into_iter().chain(cpuset).collect()
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

/// Whether another step that took CPUs of its cpuset after slurmd had planned it may leave them, as it would have if
/// slurmd had found them taken.
fn may_be_left(heard: &Handover, late: &Late) -> bool {
    let is_debugged = heard
        .cpuset
        .as_ref()
        .is_none_or(|cpuset| cpuset.is_debugged);
    let is_refused = settings::current().cpuset_fail == CpusetFail::Refuse;
    is_refused && !is_debugged && !late.taken.is_empty()
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

/// The entry of a cpuset whose CPUs others have, if they leave it within [`GRACE`]; otherwise the step is refused.
/// Nothing is forked yet, so Slurm cannot cancel the step before.
fn once_stopped(record: &StepRecord<'_>, heard: &mut Handover, node_name: &str) -> Option<Account> {
    let cpuset = heard.cpuset.as_ref()?;
    let found = left_by_others(record, cpuset, (node_name, is_in_pool(heard)));
    found.unwrap_or_else(|why| {
        heard.outcome = Outcome::Refused;
        heard.note = why;
        None
    })
}

/// Looks again and again. In: the cpuset. Out: its entry, or why the step is refused.
fn left_by_others(
    record: &StepRecord<'_>,
    cpuset: &InCpuset,
    (node_name, is_in_pool): (&str, bool),
) -> Result<Option<Account>, String> {
    let step = name(record.step_id());
    let broken = |why: &dyn std::fmt::Display| {
        log::error!("{step}: whether others leave its cpuset cannot be seen: {why}");
        CANNOT.to_owned()
    };
    let own = (ledger::step(record.step_id()), record.uid());
    let Some(entry) = entry_of_cpuset(own, record.node_tasks(), cpuset) else {
        return Ok(None);
    };
    let dir =
        StateDir::new(&settings::current().state_dir, node_name).map_err(|why| broken(&why))?;
    let start = Instant::now();
    loop {
        let is_last = start.elapsed() >= GRACE;
        match claim(&dir, &entry, is_in_pool) {
            Ok(Claimed::Held(held)) => {
                let took = start.elapsed().as_secs_f64();
                log::info!(
                    "{step} cpuset={:?}: others left it after {took:.1} s",
                    cpuset.line
                );
                return Ok(Some(Account::of_cpuset(*held, dir, cpuset)));
            }
            Ok(Claimed::Elsewhere(cpus)) => return Err(elsewhere(&cpus)),
            Ok(Claimed::Taken(taken)) if is_last => return Err(still_taken(&taken, cpuset)),
            Err(why) if is_last => return Err(broken(&why)),
            Ok(Claimed::Taken(_)) => {}
            Err(why) => log::debug!("{step}: {why}"),
        }
        sleep(BETWEEN_LOOKS);
    }
}

fn still_taken(taken: &CpuSet, cpuset: &InCpuset) -> String {
    format!(
        "--cpuset: others still have CPUs {} of this job's cpuset, which are CPUs {}, after {} s; submit it later, \
         request fewer CPUs (NCPUS), or submit it with --exclusive",
        repeated(taken),
        repeated(&cpuset.cpus),
        GRACE.as_secs()
    )
}

fn elsewhere(cpus: &CpuSet) -> String {
    format!(
        "--cpuset: another step of this job was faster, and the job has its cpuset on CPUs {} now; start this step \
         again",
        repeated(cpus)
    )
}

/// Whether the step's job is in a pool, and has its place there.
pub(crate) fn is_in_pool(heard: &Handover) -> bool {
    heard
        .pool
        .as_ref()
        .is_some_and(|pool| pool.member.is_some())
}
