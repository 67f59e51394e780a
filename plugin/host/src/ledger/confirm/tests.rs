//! slurmstepd in time, late, and while slurmd plans another step.

use super::super::process::Process;
use super::super::{Cpuset, Kind, PENDING};
use super::*;
use crate::state::StateDir;

/// Writes the old plan of a slurmd that has ended.
fn put(dir: &StateDir, slot: usize, (job, cpus): (u32, &str), ago: Duration) {
    let entry = Entry {
        step: step(job),
        kind: Kind::Regular,
        made: now() - ago.as_nanos() as u64,
        maker: Process { pid: 1, start: 7 },
        cpus: CpuSet::from_list(cpus).unwrap(),
        ..Entry::default()
    };
    put_entry(dir, slot, &entry);
}

fn put_entry(dir: &StateDir, slot: usize, entry: &Entry) {
    let ledger = Ledger::open(dir).unwrap();
    let record = record::write(entry, ledger.file.words).unwrap();
    let offset = ledger.file.offset(slot);
    ledger.file.write_words(offset, &record).unwrap();
}

fn step(job: u32) -> StepKey {
    StepKey {
        job,
        ..StepKey::default()
    }
}

/// An entry of a cpuset that slurmd planned long ago.
fn put_cpuset(dir: &StateDir, slot: usize, step: StepKey, cpus: &str, exclusive: bool) {
    let entry = Entry {
        step,
        cpuset: Some(Cpuset {
            exclusive,
            of_job: true,
            memory: false,
        }),
        made: now() - (LET_GO * 2).as_nanos() as u64,
        maker: Process { pid: 1, start: 7 },
        cpus: CpuSet::from_list(cpus).unwrap(),
        ..Entry::default()
    };
    put_entry(dir, slot, &entry);
}

/// The job's own bindings are inside its cpuset, late or not; an exclusive one that comes late shares with nobody.
#[test]
fn a_late_cpuset() {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    let confirm = |step| Ledger::open(&dir).unwrap().confirm_cpuset(step, 0).unwrap();
    let of_job = |job, step| StepKey {
        step,
        ..self::step(job)
    };
    put(&dir, 0, (1, "0-1"), Duration::ZERO);
    put_cpuset(&dir, 1, of_job(1, 5), "0-3", true);
    let own = confirm(of_job(1, 5));
    assert!(matches!(own, Confirmed::Held(_)), "{own:?}");
    let none = confirm(of_job(1, 6));
    assert!(matches!(none, Confirmed::Nothing), "{none:?}");
    // Another job's binding, and its cpuset that shares with others but not with an exclusive one.
    put_cpuset(&dir, 2, of_job(2, 0), "1-8", true);
    let late = confirm(of_job(2, 0));
    assert!(
        matches!(&late, Confirmed::Late(cpus) if cpus.to_string() == "1-3"),
        "{late:?}"
    );
    put_cpuset(&dir, 3, of_job(3, 0), "8-9", false);
    let shares = confirm(of_job(3, 0));
    assert!(matches!(shares, Confirmed::Held(_)), "{shares:?}");
    put_cpuset(&dir, 4, of_job(4, 0), "9-10", true);
    let late = confirm(of_job(4, 0));
    assert!(
        matches!(&late, Confirmed::Late(cpus) if cpus.to_string() == "9"),
        "{late:?}"
    );
    put_cpuset(&dir, 4, of_job(5, 0), "9-10", false);
    let shares = confirm(of_job(5, 0));
    assert!(matches!(shares, Confirmed::Held(_)), "{shares:?}");
}

#[test]
fn a_slurmstepd_for_which_slurmd_waits_no_longer_looks_too() {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    let second = Duration::from_secs(1);
    let confirm = |job| {
        let ledger = Ledger::open(&dir).unwrap();
        ledger.confirm(step(job), 0, &CpuSet::new()).unwrap()
    };
    put(&dir, 0, (1, "0-3"), LET_GO + second);
    put(&dir, 1, (2, "2-5"), second);
    put(&dir, 2, (3, "4"), LET_GO - second);
    let found = confirm(1);
    let is_late = matches!(&found, Confirmed::Late(cpus) if cpus.to_string() == "2-3");
    assert!(is_late, "{found:?}");
    assert!(matches!(confirm(3), Confirmed::Held(_)), "it is in time");
    // The late step excludes nobody any more.
    let all = super::super::look(&dir).unwrap();
    let jobs: Vec<_> = all.iter().map(|entry| entry.step.job).collect();
    assert_eq!(jobs, [2, 3]);
}

#[test]
fn a_slurmstepd_that_comes_late_looks_who_has_its_cores() {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    let late = PENDING + Duration::from_secs(9);
    let confirm = |job| {
        let ledger = Ledger::open(&dir).unwrap();
        ledger.confirm(step(job), 0, &CpuSet::new()).unwrap()
    };
    put(&dir, 0, (1, "0-3"), late);
    put(&dir, 1, (2, "2-5"), Duration::from_secs(1));
    put(&dir, 2, (3, "8"), late);
    let found = confirm(1);
    let is_late = matches!(&found, Confirmed::Late(cpus) if cpus.to_string() == "2-3");
    assert!(is_late, "{found:?}");
    assert!(matches!(confirm(3), Confirmed::Held(_)), "nobody took it");
    // An expired entry of another step takes nothing.
    put(&dir, 3, (4, "0-1"), late);
    assert!(matches!(confirm(4), Confirmed::Held(_)));
    // A pool job gets its CPUs whoever is bound there.
    put(&dir, 5, (6, "2"), late);
    let ledger = || Ledger::open(&dir).unwrap();
    let found = ledger().confirm(step(6), 0, &CpuSet::new()).unwrap();
    assert!(matches!(found, Confirmed::Late(_)), "{found:?}");
    put(&dir, 5, (6, "2"), late);
    let in_pool = ledger().for_pool(true);
    let found = in_pool.confirm(step(6), 0, &CpuSet::new()).unwrap();
    assert!(matches!(found, Confirmed::Held(_)), "{found:?}");
    // The late step excludes nobody: its entry is gone.
    put(&dir, 4, (5, "0"), Duration::ZERO);
    let mut all = super::super::look(&dir).unwrap();
    all.sort_by_key(|entry| entry.step.job);
    let jobs: Vec<_> = all.iter().map(|entry| entry.step.job).collect();
    assert_eq!(jobs, [2, 3, 4, 5, 6]);
}

/// Gives a slot to another step, as a slurmd of an older release did.
fn overwrite(dir: &StateDir, slot: usize, job: u32, cpus: &str) -> Entry {
    let entry = Entry {
        step: step(job),
        made: now(),
        maker: Process::own(),
        cpus: CpuSet::from_list(cpus).unwrap(),
        ..Entry::default()
    };
    put_entry(dir, slot, &entry);
    entry
}

fn in_slot(dir: &StateDir, slot: usize) -> Option<Entry> {
    let file = Ledger::open(dir).unwrap().file;
    record::read(&file.read_words(file.offset(slot), file.words).unwrap())
}

fn jobs(dir: &StateDir) -> Vec<u32> {
    let all = super::super::look(dir).unwrap();
    let mut jobs: Vec<_> = all.iter().map(|entry| entry.step.job).collect();
    jobs.sort_unstable();
    jobs
}

/// slurmd has read the table, in which the late step 1 counts as expired; then its slurmstepd confirms it, and only then
/// slurmd does the rest.
fn confirm_meanwhile(
    dir: &StateDir,
    rest: impl FnOnce(&mut Session<'_>),
) -> Result<Confirmed, LedgerError> {
    let mut slurmd = Ledger::open(dir).unwrap();
    let mut session = slurmd.session(PATIENCE).unwrap();
    let near = CpuSet::from_list("0-7").unwrap();
    assert!(!session.others(step(2), &near).has_jobs(), "it has expired");
    std::thread::scope(|scope| {
        let stepd = scope.spawn(|| {
            let ledger = Ledger::open(dir).unwrap();
            ledger.confirm(step(1), 0, &CpuSet::new())
        });
        while in_slot(dir, 0).is_none_or(|entry| entry.stepd.is_none()) {
            std::thread::yield_now();
        }
        rest(&mut session);
        drop(session);
        stepd.join().unwrap()
    })
}

/// The step that was planned meanwhile keeps its entry, and the late one sees it there.
#[test]
fn an_entry_that_is_confirmed_while_slurmd_plans_keeps_its_slot() {
    let late = PENDING + Duration::from_secs(9);
    for (cpus, is_late) in [("2-5", true), ("4-5", false)] {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        put(&dir, 0, (1, "0-3"), late);
        let found = confirm_meanwhile(&dir, |session| {
            let entry = Entry {
                step: step(2),
                cpus: CpuSet::from_list(cpus).unwrap(),
                ..Entry::default()
            };
            session.add(entry).unwrap();
        });
        let found = found.unwrap();
        match is_late {
            true => assert!(
                matches!(&found, Confirmed::Late(cpus) if cpus.to_string() == "2-3"),
                "{found:?}"
            ),
            false => assert!(matches!(&found, Confirmed::Held(_)), "{found:?}"),
        }
        let both: &[u32] = if is_late { &[2] } else { &[1, 2] };
        assert_eq!(jobs(&dir), both);
    }
}

/// A slurmd of an older release gives the slot away nevertheless: its new entry stays as it is.
#[test]
fn a_slot_that_went_to_another_step_is_left_alone() {
    let late = PENDING + Duration::from_secs(9);
    for (cpus, is_late) in [("2-5", true), ("4-5", false)] {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        put(&dir, 0, (1, "0-3"), late);
        let mut other = None;
        let found = confirm_meanwhile(&dir, |_| other = Some(overwrite(&dir, 0, 2, cpus)));
        match is_late {
            true => assert!(matches!(found, Ok(Confirmed::Late(_))), "{found:?}"),
            false => assert!(matches!(found, Err(LedgerError::Lost(_))), "{found:?}"),
        }
        assert_eq!(in_slot(&dir, 0), other);
    }
}

#[test]
fn nobody_writes_into_the_entry_of_another_step() {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    put(&dir, 0, (1, "0-3"), Duration::ZERO);
    let ledger = Ledger::open(&dir).unwrap();
    let found = ledger.confirm(step(1), 0, &CpuSet::new()).unwrap();
    let Confirmed::Held(mut held) = found else {
        panic!("{found:?}");
    };
    held.set_task(std::process::id() as i32).unwrap();
    let other = overwrite(&dir, 0, 2, "4-5");
    let is_lost = |done: Result<(), LedgerError>| matches!(done, Err(LedgerError::Lost(_)));
    assert!(is_lost(held.set_task(std::process::id() as i32)));
    assert!(is_lost(held.set_suspended(true)));
    let mut slurmd = Ledger::open(&dir).unwrap();
    let session = slurmd.session(PATIENCE).unwrap();
    let elsewhere = CpuSet::from_list("6").unwrap();
    assert!(is_lost(held.set_cpus(&session, elsewhere, 1)));
    drop(session);
    held.release().unwrap();
    assert_eq!(in_slot(&dir, 0), Some(other.clone()));
    // The same for a step that was planned by slurmstepd.
    let planned = Entry {
        step: step(3),
        ..Entry::default()
    };
    let held = Ledger::open(&dir).unwrap().hold(0, planned);
    assert!(matches!(held, Err(LedgerError::Lost(_))), "{held:?}");
    assert_eq!(in_slot(&dir, 0), Some(other));
}

/// Otherwise an entry might expire for slurmd between its reading and its planning, and be confirmed in time meanwhile.
#[test]
fn slurmd_judges_an_entry_by_the_time_when_it_was_read() {
    let base = tempfile::tempdir().unwrap();
    let dir = StateDir::new(base.path(), "n1").unwrap();
    dir.prepare().unwrap();
    put(&dir, 0, (1, "0-3"), PENDING);
    let mut slurmd = Ledger::open(&dir).unwrap();
    let before = now();
    let mut session = slurmd.session(PATIENCE).unwrap();
    assert!((before..=now()).contains(&session.read_at));
    let near = CpuSet::from_list("0").unwrap();
    assert!(!session.others(step(2), &near).has_jobs());
    session.read_at -= PENDING.as_nanos() as u64;
    assert!(session.others(step(2), &near).has_jobs());
}
