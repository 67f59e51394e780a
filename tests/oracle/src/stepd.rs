//! A step's record as slurmstepd hands it to the hooks for its tasks, all of which are one process.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use crate::object::StepHooks;
use crate::record::Record;
use crate::slurmd::{Launch, Slurm};

/// A step with as many tasks as its list has masks; what its record points to is kept beside it.
pub struct Step {
    record: Record,
    tasks: Vec<Record>,
    _kept: (CString, Vec<*mut c_void>, Vec<*mut c_char>),
}

impl Step {
    /// A step whose tasks are to be bound by a list of masks.
    #[must_use]
    pub fn new(masks: &str, pid: i32, slurm: Slurm) -> Self {
        let (step, task) = (&slurm.layout.step, &slurm.layout.task);
        let count = masks.split(',').count() as u32;
        let mut tasks: Vec<Record> = Vec::new();
        for number in 0..count {
            let mut record = Record::default();
            record.put(task.id, number as i32);
            record.put(task.gtid, number);
            record.put(task.pid, pid);
            tasks.push(record);
        }
        let text = CString::new(masks).unwrap_or_default();
        let mut pointers: Vec<_> = tasks.iter_mut().map(Record::base).collect();
        let mut env = vec![ptr::null_mut(); 1];
        let mut record = Record::default();
        record.put(step.task, pointers.as_mut_ptr());
        record.put(step.node_tasks, count);
        record.put(step.ntasks, count);
        record.put(step.cpu_bind_type, slurm.layout.constants.CPU_BIND_MASK);
        record.put(step.cpu_bind, text.as_ptr().cast_mut());
        record.put(step.env, env.as_mut_ptr());
        Self {
            record,
            tasks,
            _kept: (text, pointers, env),
        }
    }

    /// How long an object's hooks take for all tasks together. `slurmd` fills `conf`.
    ///
    /// # Safety
    /// The hooks are those of an object of the running release.
    pub unsafe fn time(&mut self, hooks: StepHooks, slurmd: &mut Launch) -> (c_int, Duration) {
        slurmd.enter();
        let record = self.record.base();
        let start = Instant::now();
        // SAFETY: the caller's promise; the record has all that the hooks read.
        let mut rc = unsafe { (hooks.before)(record) };
        for local_id in 0..self.tasks.len() as u32 {
            // SAFETY: as above.
            rc |= unsafe { (hooks.task)(record, local_id) };
        }
        (rc, start.elapsed())
    }
}
