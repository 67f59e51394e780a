//! The step as slurmstepd has it, with the tasks of this node, and the CPU set in a task's record in the two forms that
//! Slurm gave it. Source: stepd_step_rec_t and stepd_step_task_info_t, src/slurmd/slurmstepd/slurmstepd_job.h;
//! xcpuset_t of src/common/xsched.h (from 26.05 on).

use std::ffi::{c_char, c_void};
use std::ptr;

use super::environment::Environment;
use super::gres::{self, Owner, TypedGres};
use super::values::{StepId, StepKind};
use crate::error::Error;
use crate::layout::{Field, Layout};
use crate::record::{Record, allocate};
use crate::symbols::Symbols;

/// A step record.
pub struct StepRecord<'a> {
    record: Record,
    layout: &'static Layout,
    symbols: &'a Symbols,
}

/// One task of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its number on this node.
    pub id: i32,
    /// Its number in the step.
    pub gtid: u32,
    /// Its process, 0 before it is forked.
    pub pid: i32,
}

impl TaskInfo {
    /// A task whose record Slurm passed to a hook; `None` for a null pointer.
    ///
    /// # Safety
    /// `task` is null or the task's record that Slurm passed to the running hook. `layout` is the
    /// running release's.
    pub unsafe fn from_raw(task: *mut c_void, layout: &Layout) -> Option<Self> {
        // SAFETY: the caller's promise.
        let record = unsafe { Record::new(task) }?;
        let fields = &layout.task;
        Some(Self {
            id: record.read(fields.id),
            gtid: record.read(fields.gtid),
            pid: record.read(fields.pid),
        })
    }
}

/// The identity of the forked child, known in `pre_launch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildIds {
    /// Number in the step.
    pub procid: i32,
    /// Number on this node.
    pub localid: i32,
    /// Its process.
    pub task_pid: i32,
}

/// Makes one accessor per field that is handed out as it is.
macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])* pub fn $name(&self) -> $kind {
            self.record.read(self.layout.step.$name)
        })+
    };
}

/// Makes one accessor per text.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub fn $name(&self) -> Option<String> {
            self.text(self.layout.step.$name)
        })+
    };
}

impl<'a> StepRecord<'a> {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `step` is null or the record that Slurm passed to the running hook: Slurm owns it and
    /// keeps it until the hook returns, and the view does not outlive that. `layout` is the
    /// running release's.
    pub unsafe fn from_raw(
        step: *mut c_void,
        layout: &'static Layout,
        symbols: &'a Symbols,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Record::new(step) }.map(|record| StepRecord {
            record,
            layout,
            symbols,
        })
    }

    plain! {
        /// Tasks of this node.
        node_tasks: u32,
        /// This node's number in the step.
        nodeid: u32,
        /// The `CPU_BIND_` bits.
        cpu_bind_type: u32,
        /// The `MEM_BIND_` bits.
        mem_bind_type: u32,
        /// The user.
        uid: u32,
        /// The job's memory on this node in MiB; 0 if Slurm counts none.
        job_mem: u64,
    }

    texts! {
        /// This node's name in slurm.conf.
        node_name,
        /// The job's cores here, as a range list of abstract core numbers.
        job_alloc_cores,
        /// The step's cores here, as a range list of abstract core numbers.
        step_alloc_cores,
    }

    fn text(&self, field: Field<*mut c_char>) -> Option<String> {
        self.record.text(field)
    }

    /// The masks, one for each local task, as the launch hook left them.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `limit` bytes, none of which are then copied.
    pub fn cpu_bind(&self, limit: usize) -> Result<Option<String>, Error> {
        let field = self.layout.step.cpu_bind;
        self.record.text_within(field, "list of masks", limit)
    }

    /// Replaces bits and list, for what the tasks find in their environment.
    ///
    /// # Errors
    /// Where Slurm's allocator is missing or gives nothing; then nothing is changed.
    pub fn set_cpu_bind(&mut self, bits: u32, list: Option<&str>) -> Result<(), Error> {
        self.record
            .replace_text(self.layout.step.cpu_bind, list, self.symbols)?;
        self.set_cpu_bind_type(bits);
        Ok(())
    }

    /// Replaces the list of the memory binding.
    ///
    /// # Errors
    /// Where Slurm's allocator is missing or gives nothing; then nothing is changed.
    pub fn set_mem_bind(&mut self, list: Option<&str>) -> Result<(), Error> {
        self.record
            .replace_text(self.layout.step.mem_bind, list, self.symbols)
    }

    /// List of memory nodes or masks.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `limit` bytes, none of which are then copied.
    pub fn mem_bind(&self, limit: usize) -> Result<Option<String>, Error> {
        let field = self.layout.step.mem_bind;
        self.record.text_within(field, "list of node masks", limit)
    }

    /// Job, step, component, kind.
    pub fn step_id(&self) -> StepId {
        StepId::read(self.record.nested(self.layout.step.step_id), self.layout)
    }

    /// The generic resources (GRES) that Slurm gave the job on this node.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] where this process cannot walk Slurm's lists; [`Error::Nonsense`]
    /// if the list is no list of such records.
    pub fn job_gres(&self) -> Result<Vec<TypedGres>, Error> {
        let list = self.record.read(self.layout.step.job_gres_list);
        // slurmstepd cuts its list to this node.
        gres::read_typed(list, (Owner::Job, 0), self.layout, self.symbols)
    }

    /// The batch script's step.
    pub fn is_batch(&self) -> bool {
        self.step_id().kind == StepKind::Batch
    }

    /// Changes the bits, as for the report of the task's own environment.
    pub fn set_cpu_bind_type(&mut self, bits: u32) {
        self.record.write(self.layout.step.cpu_bind_type, bits);
    }

    fn task_record(&self, index: u32) -> Option<Record> {
        let task = self.record.item(
            self.layout.step.task,
            index as usize,
            self.node_tasks() as usize,
        )?;
        // SAFETY: slurmstepd makes node_tasks entries, which live as long as the step's record.
        unsafe { Record::new(task) }
    }

    /// One task of this node, by its local number.
    pub fn task(&self, index: u32) -> Option<TaskInfo> {
        let record = self.task_record(index)?;
        // SAFETY: `task_record` gave the task's own record.
        unsafe { TaskInfo::from_raw(record.base(), self.layout) }
    }

    /// Lets Slurm keep a task in a cgroup of its own, which Slurm then signals, counts and removes.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] also where the function has another prototype than the one that was
    /// read in the source; [`Error::Failed`].
    ///
    /// # Safety
    /// Slurm's plugin for cgroups must have made the step's cgroup in this slurmstepd: Slurm's
    /// function looks at no other state.
    pub unsafe fn add_to_cgroup(&self, task: TaskInfo) -> Result<(), Error> {
        const NAME: &str = "cgroup_g_task_addto";
        let c = &self.layout.constants;
        let add = self.symbols.cgroup_g_task_addto;
        let add = add.filter(|_| c.CGROUP_G_TASK_ADDTO == 1);
        let add = add.ok_or(Error::MissingSymbol(NAME))?;
        // SAFETY: the table says that the running release has this prototype; the record is
        // slurmstepd's own, and the caller promises the rest.
        match unsafe { add(c.CG_CPUS, self.record.base(), task.pid, task.gtid) } {
            0 => Ok(()),
            code => Err(Error::Failed(NAME, code)),
        }
    }

    /// Our identity in the forked child; this allocates nothing.
    pub fn child_ids(&self) -> Option<ChildIds> {
        // SAFETY: slurmstepd keeps the env_t as long as the step's record.
        let record = unsafe { Record::new(self.record.read(self.layout.step.envtp)) }?;
        let fields = &self.layout.child_env;
        Some(ChildIds {
            procid: record.read(fields.procid),
            localid: record.read(fields.localid),
            task_pid: record.read(fields.task_pid),
        })
    }

    /// Gives Slurm a task's CPUs, from which it chooses the task's GPUs. It does nothing in 22.05,
    /// which has no such field. Each word has 64 CPUs, lowest bit first.
    ///
    /// # Errors
    /// [`Error::Absent`] if the step has no such task; [`Error::MissingSymbol`] or
    /// [`Error::OutOfMemory`], of Slurm's allocator.
    pub fn set_task_cpu_set(&mut self, index: u32, words: &[u64]) -> Result<(), Error> {
        let Some(field) = self.layout.task.cpu_set else {
            return Ok(());
        };
        let record = self.task_record(index).ok_or(Error::Absent {
            record: "step record",
            what: "such a task",
        })?;
        let set = build_cpu_set(words, self.layout, self.symbols)?;
        record.replace_block(field, set, self.symbols)
    }

    /// The tasks' environment.
    pub fn env(&self) -> Environment<'a> {
        Environment {
            record: self.record,
            field: self.layout.step.env,
            count: None,
            symbols: self.symbols,
        }
    }
}

/// The bytes that Slurm reads of a `cpu_set_t`: glibc's fixed 1024 CPUs.
const CPU_SET_BYTES: usize = 128;

/// Allocates a block by Slurm's allocator, and writes `words` into it in the form that this release line expects.
fn build_cpu_set(words: &[u64], layout: &Layout, symbols: &Symbols) -> Result<*mut c_void, Error> {
    let mask = size_of_val(words);
    let (head, mask) = match &layout.xcpuset {
        Some(fields) => (fields.extent, mask),
        None => (0, mask.max(CPU_SET_BYTES)),
    };
    let block = allocate(head + mask, symbols)?.as_ptr();
    // SAFETY: the block is ours until it is stored, and long enough for these fields.
    if let (Some(fields), Some(record)) = (&layout.xcpuset, unsafe { Record::new(block) }) {
        record.write(fields.max_cpus, mask as u64 * 8);
        record.write(fields.size, mask as u64);
    }
    let target = block.cast::<u8>().wrapping_add(head);
    // SAFETY: the block has `head + mask` bytes and `mask` is no less than that of `words`.
    unsafe { ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), target, size_of_val(words)) };
    Ok(block)
}
