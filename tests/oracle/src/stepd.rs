//! A step's record as slurmstepd hands it to the hooks for its tasks, made from the launch request
//! that slurmd's hook has answered, as slurmstepd makes its own. All tasks are one process.

use std::ffi::{c_char, c_int, c_void};
use std::time::{Duration, Instant};

use crate::arena::Arena;
use crate::blocks::{bytes, entries};
use crate::case::Case;
use crate::object::Hooks;
use crate::record::Record;
use crate::slurmd::{Launch, Slurm};

/// The user of every step here; the credential's record has the same.
const UID: u32 = 0;

/// A step of a launch; what its record points to is arena beside it.
pub struct Step {
    slurm: Slurm,
    record: Record,
    _tasks: Vec<Record>,
    _arena: Arena,
}

impl Step {
    /// The step that a launch request starts on this node. A hook of slurmd's has answered it.
    #[must_use]
    pub fn new(launch: &mut Launch, case: &Case, pid: i32) -> Self {
        let slurm = launch.slurm;
        let (fields, task) = (&slurm.layout.step, &slurm.layout.task);
        let count = u32::from(case.tasks());
        let mut tasks: Vec<Record> = Vec::new();
        for number in 0..count {
            let mut record = Record::default();
            record.put(task.id, number as i32);
            record.put(task.gtid, number);
            record.put(task.pid, pid);
            tasks.push(record);
        }
        let mut arena = Arena::default();
        let mut record = Record::default();
        let pointers = tasks.iter_mut().map(Record::base).collect();
        record.put(fields.task, arena.list::<*mut c_void>(pointers));
        record.put(fields.node_tasks, count);
        record.put(fields.ntasks, count);
        record.put(fields.nodeid, launch.node_id);
        record.put(fields.uid, UID);
        record.put(fields.node_name, arena.text(&case.node_name()));
        record.put(fields.cpus, case.node_cpus());
        let cores: Vec<_> = case.cred.cores().iter().map(u32::to_string).collect();
        record.put(fields.step_alloc_cores, arena.text(&cores.join(",")));
        copy_request(launch, &mut record);
        Self {
            slurm,
            record,
            _tasks: tasks,
            _arena: arena,
        }
    }

    /// How long an object's hooks take for so many of the tasks together. `slurmd` fills `conf`.
    ///
    /// # Safety
    /// The hooks are those of an object of the running release.
    pub unsafe fn time(
        &mut self,
        hooks: Hooks,
        tasks: u32,
        slurmd: &mut Launch,
    ) -> (c_int, Duration) {
        slurmd.enter();
        let record = self.record.base();
        let start = Instant::now();
        // SAFETY: the caller's promise; the record has all that the hooks read.
        let mut rc = unsafe { (hooks.before)(record) };
        for local_id in 0..tasks {
            // SAFETY: as above.
            rc |= unsafe { (hooks.task)(record, local_id) };
        }
        (rc, start.elapsed())
    }
}

/// slurmstepd copies this out of the request: the binding, the environment, and which step it is.
fn copy_request(launch: &mut Launch, record: &mut Record) {
    let slurm = launch.slurm;
    let (to, from) = (&slurm.layout.step, &slurm.layout.launch);
    let request = &mut launch.request;
    record.put(to.cpu_bind_type, request.get(from.cpu_bind_type).into());
    record.put(to.mem_bind_type, request.get(from.mem_bind_type).into());
    for (to, from) in [(to.cpu_bind, from.cpu_bind), (to.mem_bind, from.mem_bind)] {
        if let Some(text) = bytes(request.get(from)) {
            record.put(to, slurm.text(text));
        }
    }
    let env: Vec<_> = entries(request.get(from.env)).filter_map(bytes).collect();
    record.put(to.env, slurm.array(env.into_iter()));
    let ids = &slurm.layout.step_id;
    for part in [ids.job_id, ids.step_id, ids.step_het_comp] {
        let value: u32 = request.get_at(from.step_id.offset() + part.offset());
        record.put_at(to.step_id.offset() + part.offset(), value);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        let fields = &self.slurm.layout.step;
        let env: *mut *mut c_char = self.record.get(fields.env);
        self.slurm.free_array(env);
        for text in [fields.cpu_bind, fields.mem_bind] {
            self.slurm.free(self.record.get(text).cast());
        }
    }
}
