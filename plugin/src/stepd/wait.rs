//! A step whose cpuset has CPUs that others have: its tasks are forked and bound, and wait before their programs
//! ([`crate::stepd::gate`]) until a thread of ours has got these CPUs in the ledger. If that takes too long, they
//! end without having started. The time of a suspension does not count.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use berth_host::StateDir;
use berth_host::ledger::{Claimed, Task, claim};
use berth_placement::CpuSet;
use berth_placement::sets::bounded::repeated;
use slurm_sys::StepRecord;

use crate::message::handover::{Handover, InCpuset};
use crate::planning::ledger;
use crate::site::{settings, standing};
use crate::stepd::account::{self, Account};
use crate::stepd::gate::Gate;
use crate::stepd::our_thread::OurThread;
use crate::stepd::refused::{self, Place};
use crate::stepd::session::{Session, Wait};
use crate::stepd::state::STATE;
use crate::stepd::watch::{self, Watched};

/// The pause between two looks at the ledger.
const BETWEEN: Duration = Duration::from_millis(200);
/// The same after the first seconds.
const LATER: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(10);
/// The end of a step waits so long for the thread, which may wait for the ledger.
const PATIENCE: Duration = Duration::from_secs(3);
/// What a user reads whose step cannot wait.
pub(crate) const CANNOT: &str = "--cpuset: others have CPUs of this job's cpuset, and the step cannot wait for them; \
                                 ask the administrator; the reason is in slurmd's log";

/// The step while it waits.
struct Waiting {
    wait: Wait,
    name: String,
    program: &'static str,
    node_name: String,
    node_id: u32,
    first_task: Task,
    watched: Option<Watched>,
}

/// How a wait ended.
enum End {
    /// The CPUs are the step's.
    Free(Box<Account>),
    Refused(String),
    /// The step has ended.
    Over,
}

/// The thread, to be ended.
static THREAD: Mutex<Option<(Sender<()>, OurThread<()>)>> = Mutex::new(None);

/// Before the first fork: closes the gate, if slurmd says that the step waits.
///
/// # Errors
/// Why it cannot wait, for the log.
pub(crate) fn prepare(
    record: &StepRecord<'_>,
    (heard, is_in_pool): (&Handover, bool),
    node_name: &str,
) -> Result<Option<Wait>, String> {
    let Some(cpuset) = heard.cpuset.clone().filter(|cpuset| cpuset.waits > 0) else {
        return Ok(None);
    };
    let step = (ledger::step(record.step_id()), record.uid());
    let Some(entry) = account::entry_of_cpuset(step, record.node_tasks(), &cpuset) else {
        return Ok(None);
    };
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let gate = Gate::new(cpuset.waits).map_err(|why| why.to_string())?;
    // Slurm calls pre_setuid once.
    let _ = STATE.gate.set(gate);
    Ok(Some(Wait {
        cpuset,
        entry,
        is_in_pool,
        dir,
    }))
}

/// After the last task was forked: begins to wait, and to watch the step once it has its CPUs.
pub(crate) fn start(step: &Session, wait: Wait, record: &StepRecord<'_>, watched: Option<Watched>) {
    let waiting = Waiting {
        wait,
        name: step.name.clone(),
        program: step.program(),
        node_name: step.node_name.clone(),
        node_id: record.nodeid(),
        first_task: record
            .task(0)
            .map(|task| Task::of(task.pid))
            .unwrap_or_default(),
        watched,
    };
    let place = (waiting.node_id, waiting.node_name.clone());
    if let Err(why) = begin(waiting) {
        log::error!(
            "{}: its tasks cannot wait for their cpuset: {why}",
            step.name
        );
        // The tasks go first: nobody knows how long the user's file takes.
        refuse();
        tell((place.0, &place.1), step.program(), CANNOT);
    }
}

fn begin(waiting: Waiting) -> io::Result<()> {
    let (stop, stopped) = channel();
    let name = waiting.name.clone();
    let started = OurThread::start(move || {
        // The panic hook has logged it.
        if catch_unwind(AssertUnwindSafe(|| waiting.run(&stopped))).is_err() {
            log::error!("{name}: nobody waits for its cpuset any more; its tasks are not started");
            refuse();
        }
    })?;
    *THREAD.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, started));
    Ok(())
}

/// The step has ended, or its slurmstepd gives up: nobody waits any more.
pub(crate) fn stop() {
    let thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((stop, thread)) = thread {
        drop(stop);
        thread.join(PATIENCE);
    }
    refuse();
}

fn refuse() {
    if let Some(gate) = STATE.gate.get() {
        gate.refuse();
    }
}

impl Waiting {
    fn run(self, stopped: &Receiver<()>) {
        let start = Instant::now();
        match self.end(stopped) {
            End::Free(mut account) => {
                account.first_task(self.first_task.pid);
                log::info!("{} cpuset={:?}", self.name, self.wait.cpuset.line);
                log::info!(
                    "{}: its tasks have waited {:.1} s for CPUs {} of their cpuset",
                    self.name,
                    start.elapsed().as_secs_f64(),
                    self.wait.cpuset.cpus
                );
                account.publish(standing::working());
                if let Some(step) = STATE.step().as_mut() {
                    step.accounts.push(*account);
                    let said = self.watched.and_then(|watched| watch::start(step, watched));
                    said.into_iter()
                        .for_each(|text| log::info!("{}: note: {text}", self.name));
                }
                if let Some(gate) = STATE.gate.get() {
                    gate.open();
                }
            }
            End::Refused(why) => {
                log::info!("{} bound=refused why={why:?}", self.name);
                tell((self.node_id, &self.node_name), self.program, &why);
                refuse();
            }
            End::Over => refuse(),
        }
    }

    /// Looks again and again, as long as its job runs.
    fn end(&self, stopped: &Receiver<()>) -> End {
        let wait = &self.wait;
        let most = Duration::from_secs(wait.cpuset.waits.into());
        let mut waited = Duration::ZERO;
        loop {
            let look = Instant::now();
            let is_suspended = self.is_suspended();
            if !is_suspended {
                let is_last = waited >= most;
                match claim(&wait.dir, &wait.entry, wait.is_in_pool) {
                    Ok(Claimed::Held(held)) => {
                        let dir = wait.dir.clone();
                        let account = Account::of_cpuset(*held, dir, &wait.cpuset);
                        return End::Free(Box::new(account));
                    }
                    Ok(Claimed::Elsewhere(cpus)) if is_last => {
                        return End::Refused(elsewhere(&cpus));
                    }
                    Ok(Claimed::Taken(taken)) if is_last => {
                        return End::Refused(too_long(&taken, &wait.cpuset));
                    }
                    Ok(_) => {}
                    Err(why) if is_last => {
                        log::error!(
                            "{}: its tasks cannot wait for their cpuset: {why}",
                            self.name
                        );
                        return End::Refused(CANNOT.into());
                    }
                    Err(why) => log::debug!("{}: {why}", self.name),
                }
            }
            match stopped.recv_timeout(if waited < SOON { BETWEEN } else { LATER }) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return End::Over,
            }
            if !is_suspended {
                waited += look.elapsed();
            }
        }
    }

    /// Whether Slurm has suspended the step: its cgroup is frozen, or its first task is stopped.
    fn is_suspended(&self) -> bool {
        let watched = self.watched.as_ref();
        watched.is_some_and(Watched::is_suspended) || self.first_task.is_stopped()
    }
}

/// What the user reads of a step that is not started.
fn tell((node_id, node_name): (u32, &str), program: &str, why: &str) {
    let place = Place {
        local_id: 0,
        node_id,
        node_name,
    };
    if let Some(text) = refused::text(place, program, why) {
        crate::stepd::job_stderr::to_user(&format!("berth: error: {text}\n"));
    }
}

fn too_long(taken: &CpuSet, cpuset: &InCpuset) -> String {
    format!(
        "--cpuset: others still have CPUs {} of this job's cpuset, which are CPUs {}, after {} s; submit it later, \
         request fewer CPUs (NCPUS), or submit it with --exclusive",
        repeated(taken),
        repeated(&cpuset.cpus),
        cpuset.waits
    )
}

fn elsewhere(cpus: &CpuSet) -> String {
    format!(
        "--cpuset: another step of this job was faster, and the job has its cpuset on CPUs {} now; start this step \
         again",
        repeated(cpus)
    )
}
