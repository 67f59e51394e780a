//! slurmstepd's state, which is one static. Each part names its writer, the time, and its readers.
//!
//! A slurmstepd serves one step, and Slurm calls its hooks one after the other: before the first
//! fork, in the parent after each fork, and when the step has ended. These may lock.
//!
//! A task between fork and exec has a copy of this memory, in which another thread's lock stays
//! locked for ever. It reads the parts that are written once, before the first fork: an
//! [`OnceLock`] that is written and an atomic number are read without a lock. It must not call
//! [`State::step`], [`State::alone`], [`State::quarantine`] or [`State::options`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use berth_host::StateDir;
use berth_host::job_files::StepLock;
use berth_host::key::Key;

use crate::site::{metrics, standing};
use crate::step::handover::Outcome;
use crate::step::own_options::{Own, Texts};
use crate::stepd::running_step::{Adopts, Alone, Quarantine, RunningStep};
use crate::stepd::{pe_files, pool, task_env, task_memory};

/// slurmstepd's state.
pub(crate) static STATE: State = State::new();

/// Where this step has left facts about its job, and the lock by which others see that the step lives.
pub(crate) struct JobFiles {
    pub dir: StateDir,
    pub owner: u32,
    pub job: u32,
    pub _living: StepLock,
}

/// slurmstepd's knowledge of its step. Each part names the hook that writes it.
pub(crate) struct State {
    /// The texts of berth's own options; `None` if there is none. Written by the options' callback;
    /// read before the first fork.
    options: Mutex<Option<Texts>>,
    /// Whether srun had `--overlap`. Written and read as `options`.
    overlaps: AtomicBool,
    /// slurmd's key, or the reason why there is none. Written and read by `pre_setuid`.
    pub key: OnceLock<Result<Key, String>>,
    /// The step of the task plugin. Written by `pre_setuid`, counted up in the parent after
    /// each fork, and read again when the step has ended.
    step: Mutex<Option<RunningStep>>,
    /// The step, if only SPANK's hooks serve it. Written by `init_post_opt`, then as `step`.
    alone: Mutex<Option<Alone>>,
    /// The processes that `quarantine=` holds. Written by SPANK's `init`; read and let go in the parent.
    quarantine: Mutex<Quarantine>,
    /// The job's CPUs, for processes that its extern step adopts. Written by SPANK's `init`; read in
    /// slurmstepd's own threads.
    pub adopts: OnceLock<Adopts>,
    /// Whether the step has ended. Written and read in the parent.
    is_released: AtomicBool,
    /// Whether a reader of the job's stderr failed to read in time. Written and read in the parent.
    pub nobody_reads: AtomicBool,
    /// The cores that `--binding=pe:` chose. Written by `pre_setuid` or `init_post_opt`; read by
    /// `user_init`.
    pub files_request: OnceLock<pe_files::FilesRequest>,

    /// The job of which this step has left facts for `berth env`. Written by `pre_setuid`; read when the step has ended.
    pub job_files: OnceLock<JobFiles>,

    /// The step's place in its job's pool. Written by `pre_setuid`, and taken when the step has ended.
    pool: Mutex<Option<pool::Membership>>,

    /// Whether the tasks must not start. Written by `pre_setuid`; read in the task.
    is_refused: AtomicBool,
    /// The line with the reason, if only SPANK's hooks serve the step. Written by
    /// `init_post_opt`; read in the task.
    pub refusal: OnceLock<String>,
    /// The variables of each task. Written by `pre_setuid` or `init_post_opt`; read in
    /// the task.
    pub entries: OnceLock<task_env::Prepared>,
    /// Each task's memory policy. Written by `pre_setuid`; read in the task.
    pub memory: OnceLock<task_memory::Prepared>,
    /// The files of `--binding=pe:`. Written by `user_init`; read in the task.
    pub files: OnceLock<pe_files::Prepared>,
}

impl State {
    const fn new() -> Self {
        Self {
            options: Mutex::new(None),
            overlaps: AtomicBool::new(false),
            key: OnceLock::new(),
            step: Mutex::new(None),
            alone: Mutex::new(None),
            quarantine: Mutex::new(Quarantine::new()),
            adopts: OnceLock::new(),
            is_released: AtomicBool::new(false),
            nobody_reads: AtomicBool::new(false),
            files_request: OnceLock::new(),
            job_files: OnceLock::new(),
            pool: Mutex::new(None),
            is_refused: AtomicBool::new(false),
            refusal: OnceLock::new(),
            entries: OnceLock::new(),
            memory: OnceLock::new(),
            files: OnceLock::new(),
        }
    }

    /// Slurm gives the text of an option. If it gives several of one option, the last counts.
    pub(crate) fn set_option(&self, own: Own, text: String) {
        let mut options = unpoisoned(&self.options);
        options.get_or_insert_default().set(own, text);
    }

    /// Slurm reports that the step was started with `--overlap`.
    pub(crate) fn set_overlap(&self) {
        self.overlaps.store(true, Ordering::Relaxed);
    }

    /// The options that Slurm has given. A task must not call this.
    pub(crate) fn options(&self) -> Texts {
        unpoisoned(&self.options).clone().unwrap_or_default()
    }

    /// Whether the step was started with `--overlap`.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps.load(Ordering::Relaxed)
    }

    /// The step has a place in its job's pool.
    pub(crate) fn join_pool(&self, membership: Option<pool::Membership>) {
        *unpoisoned(&self.pool) = membership;
    }

    /// The last task was forked; this is the first one.
    pub(crate) fn started(&self, pid: i32) {
        if let Some(membership) = unpoisoned(&self.pool).as_mut() {
            membership.started(pid);
        }
    }

    /// The step's tasks are about to be forked.
    pub(crate) fn begin(&self, step: RunningStep) {
        let is_refused = step.outcome == Outcome::Refused;
        self.is_refused.store(is_refused, Ordering::Relaxed);
        *self.step() = Some(step);
    }

    /// The step, if `pre_setuid` saw one. A task must not call this.
    pub(crate) fn step(&self) -> MutexGuard<'_, Option<RunningStep>> {
        unpoisoned(&self.step)
    }

    /// The step, if only SPANK's hooks serve it. A task must not call this.
    pub(crate) fn alone(&self) -> MutexGuard<'_, Option<Alone>> {
        unpoisoned(&self.alone)
    }

    /// The processes that `quarantine=` holds. A task must not call this.
    pub(crate) fn quarantine(&self) -> MutexGuard<'_, Quarantine> {
        unpoisoned(&self.quarantine)
    }

    /// Whether the task must not start.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// A task has ended, by its number in the step.
    pub(crate) fn task_ended(&self, task: u32) {
        let mut step = self.step();
        if let Some(fences) = step.as_mut().and_then(|step| step.fences.as_mut()) {
            fences.ended(task);
        }
    }

    /// The step's tasks have ended, and Slurm is about to tidy up.
    fn clear_fences(&self) {
        let mut step = self.step();
        if let Some(fences) = step.as_mut().and_then(|step| step.fences.as_mut()) {
            fences.clear();
        }
    }

    /// The step of the task plugin has ended. Slurm reports that twice, because the first report stops
    /// at another task plugin that fails.
    pub(crate) fn release(&self) {
        self.clear_fences();
        if self.is_released.swap(true, Ordering::Relaxed) {
            return;
        }
        let membership = unpoisoned(&self.pool).take();
        membership.into_iter().for_each(pool::Membership::release);
        let mut step = self.step();
        let ledger_entries = step
            .as_mut()
            .map(|step| std::mem::take(&mut step.ledger_entries));
        drop(step);
        for entry in ledger_entries.into_iter().flatten() {
            entry.release(standing::working());
        }
        // slurmd has counted those that the switch-off file left alone.
        let step = self.step();
        if let Some(step) = step.as_ref().filter(|step| step.outcome != Outcome::Off) {
            metrics::add_step(&step.node_name, &step.counts());
        }
    }
}

/// A hook that panicked under the lock left the step as it was; the others go on.
fn unpoisoned<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
