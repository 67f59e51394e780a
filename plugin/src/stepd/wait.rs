//! A step whose cpuset has CPUs that others have: its tasks are forked and bound, and wait before their programs
//! ([`crate::stepd::gate`]) until a thread of ours has got these CPUs in the ledger. If that takes too long, they
//! end without having started.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use berth_host::StateDir;
use berth_host::ledger::{Claimed, Entry, claim};
use berth_placement::CpuSet;
use berth_placement::sets::bounded::repeated;
use libc::pid_t;
use slurm_sys::StepRecord;

use crate::message::handover::{Handover, InCpuset};
use crate::planning::ledger;
use crate::site::settings;
use crate::stepd::account::{self, Account};
use crate::stepd::gate::Gate;
use crate::stepd::our_thread::OurThread;
use crate::stepd::refused::{self, Place};
use crate::stepd::session::Session;
use crate::stepd::state::STATE;
use crate::stepd::watch::{self, Watched};

/// The pause between two looks at the ledger.
const BETWEEN: Duration = Duration::from_millis(200);
/// The same after the first seconds.
const LATER: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(10);
/// The end of a step waits so long for the thread, which may wait for the ledger.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a step waits for.
pub(crate) struct Wait {
    cpuset: InCpuset,
    /// What is to be written into the ledger.
    entries: Vec<Entry>,
    dir: StateDir,
}

/// The step while it waits.
struct Waiting {
    wait: Wait,
    name: String,
    program: &'static str,
    node_name: String,
    node_id: u32,
    first_task: pid_t,
    watched: Option<Watched>,
}

/// How a wait ended.
enum End {
    /// The CPUs are the step's.
    Free(Vec<Account>),
    Refused(String),
    /// The step has ended.
    Over,
}

/// The thread, to be ended.
static THREAD: Mutex<Option<(Sender<()>, OurThread)>> = Mutex::new(None);

/// Before the first fork: closes the gate, if slurmd says that the step waits.
///
/// # Errors
/// Why it cannot wait, for the log.
pub(crate) fn prepare(
    record: &StepRecord<'_>,
    heard: &Handover,
    node_name: &str,
) -> Result<Option<Wait>, String> {
    let Some(cpuset) = heard.cpuset.clone().filter(|cpuset| cpuset.waits > 0) else {
        return Ok(None);
    };
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let step = (ledger::step(record.step_id()), record.uid());
    let of_cpuset = account::of_cpuset(step, record.node_tasks(), &cpuset);
    let binding = heard.served.as_ref().map(|served| Entry {
        step: step.0,
        uid: step.1,
        kind: ledger::kind(record.step_id(), STATE.overlaps()),
        tasks: record.node_tasks(),
        request: served.binding.to_string(),
        cpus: served.chosen.cpus(),
        ..Entry::default()
    });
    // A script's own binding and a step with --overlap take nothing from other steps of the job.
    let entries: Vec<_> = of_cpuset.into_iter().chain(binding).collect();
    let gate = Gate::new(cpuset.waits).map_err(|why| why.to_string())?;
    // Slurm calls pre_setuid once.
    let _ = STATE.gate.set(gate);
    Ok(Some(Wait {
        cpuset,
        entries,
        dir,
    }))
}

/// After the last task was forked: begins to wait, and to watch the step once it has its CPUs.
pub(crate) fn start(
    step: &Session,
    wait: Wait,
    (record, first_task): (&StepRecord<'_>, pid_t),
    watched: Option<Watched>,
) {
    let waiting = Waiting {
        wait,
        name: step.name.clone(),
        program: step.program(),
        node_name: step.node_name.clone(),
        node_id: record.nodeid(),
        first_task,
        watched,
    };
    if let Err(why) = begin(waiting) {
        log::error!(
            "{}: its tasks cannot wait for their cpuset: {why}",
            step.name
        );
        refuse();
    }
}

fn begin(waiting: Waiting) -> io::Result<()> {
    let (stop, stopped) = channel();
    let name = waiting.name.clone();
    let started = OurThread::start(move |_until_here| {
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
        match self.end(start, stopped) {
            End::Free(mut accounts) => {
                for account in &mut accounts {
                    account.first_task(self.first_task);
                }
                if let Some(step) = STATE.step().as_mut() {
                    step.accounts.extend(accounts);
                }
                log::info!("{} cpuset={:?}", self.name, self.wait.cpuset.line);
                log::info!(
                    "{}: its tasks have waited {:.1} s for CPUs {} of their cpuset",
                    self.name,
                    start.elapsed().as_secs_f64(),
                    self.wait.cpuset.cpus
                );
                if let Some(gate) = STATE.gate.get() {
                    gate.open();
                }
                self.watched.into_iter().for_each(watch::start);
            }
            End::Refused(why) => {
                self.tell(&why);
                refuse();
            }
            End::Over => refuse(),
        }
    }

    fn end(&self, start: Instant, stopped: &Receiver<()>) -> End {
        let Wait {
            cpuset,
            entries,
            dir,
        } = &self.wait;
        let most = Duration::from_secs(cpuset.waits.into());
        loop {
            let taken = match claim(dir, entries) {
                Ok(Claimed::Held(held)) => return End::Free(Account::claimed(held, dir, cpuset)),
                Ok(Claimed::Elsewhere(cpus)) => return End::Refused(elsewhere(&cpus)),
                Ok(Claimed::Taken(taken)) => Ok(taken),
                Err(why) => Err(why.to_string()),
            };
            if start.elapsed() >= most {
                return End::Refused(match taken {
                    Ok(taken) => too_long(&taken, cpuset),
                    Err(why) => {
                        log::error!("{}: {why}", self.name);
                        "--cpuset: which CPUs others have cannot be found out; ask the administrator; the \
                         reason is in slurmd's log"
                            .into()
                    }
                });
            }
            let pause = if start.elapsed() < SOON {
                BETWEEN
            } else {
                LATER
            };
            match stopped.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return End::Over,
            }
        }
    }

    fn tell(&self, why: &str) {
        let place = Place {
            local_id: 0,
            node_id: self.node_id,
            node_name: &self.node_name,
        };
        log::info!("{} bound=refused why={why:?}", self.name);
        if let Some(text) = refused::text(place, self.program, why) {
            crate::stepd::job_stderr::to_user(&format!("berth: error: {text}\n"));
        }
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
