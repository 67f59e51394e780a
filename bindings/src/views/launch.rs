//! The request to launch a step's tasks on this node, as slurmd's launch hook gets it.
//! Source: launch_tasks_request_msg_t, src/common/slurm_protocol_defs.h.

use super::credential::Credential;
use super::environment::Environment;
use super::options::{self, SpankOption};
use super::values::{CoreSpec, StepId, user_count};
use crate::error::Error;
use crate::layout::{Constants, Layout};
use crate::record::{Record, written};
use crate::symbols::Symbols;
use std::ffi::c_void;

/// A launch request.
pub struct LaunchRequest<'a> {
    pub(crate) record: Record,
    pub(crate) layout: &'static Layout,
    pub(crate) symbols: &'a Symbols,
}

/// `LAUNCH_PARALLEL_DEBUG` of slurm.h, the same in every release.
const PARALLEL_DEBUG: u32 = 1;

impl<'a> LaunchRequest<'a> {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `request` is null or the request that Slurm passed to the running hook: Slurm owns it and
    /// keeps it until the hook returns, and the view does not outlive that. `layout` is the
    /// running release's.
    pub unsafe fn from_raw(
        request: *mut c_void,
        layout: &'static Layout,
        symbols: &'a Symbols,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Record::new(request) }.map(|record| LaunchRequest {
            record,
            layout,
            symbols,
        })
    }

    /// Job, step, component.
    pub fn step_id(&self) -> StepId {
        StepId::read(self.record.nested(self.layout.launch.step_id), self.layout)
    }

    /// Nodes of the step.
    pub fn nnodes(&self) -> u32 {
        self.record.read(self.layout.launch.nnodes)
    }

    /// Tasks of the step on all its nodes.
    pub fn ntasks(&self) -> u32 {
        self.record.read(self.layout.launch.ntasks)
    }

    fn node_place(&self, node_id: u32) -> (usize, usize) {
        (node_id as usize, self.nnodes() as usize)
    }

    /// Tasks to launch on the step's node number `node_id`.
    pub fn tasks_here(&self, node_id: u32) -> Option<u16> {
        let (node, nodes) = self.node_place(node_id);
        self.record
            .item(self.layout.launch.tasks_to_launch, node, nodes)
    }

    /// The tasks' numbers in the step, by local number.
    pub(crate) fn each_global_task_id(
        &self,
        node_id: u32,
    ) -> Option<impl ExactSizeIterator<Item = u32>> {
        let (node, nodes) = self.node_place(node_id);
        let ids = self
            .record
            .item(self.layout.launch.global_task_ids, node, nodes)?;
        let count = usize::from(self.tasks_here(node_id)?);
        // SAFETY: slurmctld writes one list per node, as long as the node's task count.
        let id = move |at| unsafe { ids.wrapping_add(at).read_unaligned() };
        (!ids.is_null()).then(|| (0..count).map(id))
    }

    /// CPUs that each task requests; from 24.11 on slurmd has put this node's value here.
    pub fn cpus_per_task(&self) -> u16 {
        self.record.read(self.layout.launch.cpus_per_task)
    }

    /// Changes the CPUs per task; it reaches slurmstepd.
    pub fn set_cpus_per_task(&mut self, count: u16) {
        self.record.write(self.layout.launch.cpus_per_task, count);
    }

    /// `--threads-per-core`, also from `--hint` and `-B`.
    pub fn threads_per_core(&self) -> Option<u16> {
        user_count(
            self.record.read(self.layout.launch.threads_per_core),
            self.layout,
        )
    }

    /// `--ntasks-per-core`.
    pub fn ntasks_per_core(&self) -> Option<u16> {
        user_count(
            self.record.read(self.layout.launch.ntasks_per_core),
            self.layout,
        )
    }

    /// `--ntasks-per-socket`.
    pub fn ntasks_per_socket(&self) -> Option<u16> {
        user_count(
            self.record.read(self.layout.launch.ntasks_per_socket),
            self.layout,
        )
    }

    /// `-m`, as the bits of slurm.h's task_dist_states.
    pub fn task_dist(&self) -> u32 {
        self.record.read(self.layout.launch.task_dist)
    }

    /// The `LAUNCH_` bits.
    pub fn flags(&self) -> u32 {
        self.record.read(self.layout.launch.flags)
    }

    fn has(&self, flag: Option<u32>) -> bool {
        flag.is_some_and(|flag| self.flags() & flag != 0)
    }

    /// `-O`; never in releases that do not send it (before 22.05.6).
    pub fn overcommit(&self) -> bool {
        self.has(self.layout.constants.LAUNCH_OVERCOMMIT)
    }

    /// A debugger starts the step: slurmstepd waits until each task stops at its program's first instruction.
    pub fn is_debugged(&self) -> bool {
        self.flags() & PARALLEL_DEBUG != 0
    }

    /// `srun --external-launcher`, which mpirun starts its daemons with.
    pub fn external_launcher(&self) -> bool {
        self.has(self.layout.constants.LAUNCH_EXT_LAUNCHER)
    }

    /// `--core-spec` or `--thread-spec`.
    pub fn job_core_spec(&self) -> Option<CoreSpec> {
        CoreSpec::from_raw(
            self.record.read(self.layout.launch.job_core_spec),
            self.layout,
        )
    }

    /// The `CPU_BIND_` bits.
    pub fn cpu_bind_type(&self) -> u16 {
        self.record.read(self.layout.launch.cpu_bind_type)
    }

    /// List of CPUs or masks; for a unit the keyword's text.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `limit` bytes, none of which are then copied.
    pub fn cpu_bind(&self, limit: usize) -> Result<Option<String>, Error> {
        let field = self.layout.launch.cpu_bind;
        self.record.text_within(field, "--cpu-bind list", limit)
    }

    /// The bits of the bind type that no `CPU_BIND_` constant of this release has. srun sends
    /// none of them, so another client has made them up.
    pub fn unknown_binding_bits(&self) -> u16 {
        self.cpu_bind_type() & !(known_binding_bits(&self.layout.constants) as u16)
    }

    /// Replaces the bits; the list stays.
    pub fn set_cpu_bind_type(&mut self, bits: u16) {
        self.record.write(self.layout.launch.cpu_bind_type, bits);
    }

    /// Replaces bits and list; they reach slurmstepd. On an error nothing is changed.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] or [`Error::OutOfMemory`], of Slurm's allocator;
    /// [`Error::NotAText`] for a text with a NUL byte.
    pub fn set_cpu_bind(&mut self, bits: u16, list: Option<&str>) -> Result<(), Error> {
        self.record
            .replace_text(self.layout.launch.cpu_bind, list, self.symbols)?;
        self.set_cpu_bind_type(bits);
        Ok(())
    }

    /// Replaces bits and list. The list has `length` bytes; `write` makes it of so many zeros (the
    /// character), directly in Slurm's buffer, and leaves no NUL. On an error nothing is changed.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] or [`Error::OutOfMemory`], of Slurm's allocator.
    pub fn write_cpu_bind(
        &mut self,
        bits: u16,
        length: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        let text = written(length, self.symbols, write)?;
        self.record
            .replace_block(self.layout.launch.cpu_bind, text, self.symbols)?;
        self.set_cpu_bind_type(bits);
        Ok(())
    }

    /// The `MEM_BIND_` bits.
    pub fn mem_bind_type(&self) -> u16 {
        self.record.read(self.layout.launch.mem_bind_type)
    }

    /// List of memory nodes or masks.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `limit` bytes, none of which are then copied.
    pub fn mem_bind(&self, limit: usize) -> Result<Option<String>, Error> {
        let field = self.layout.launch.mem_bind;
        self.record.text_within(field, "--mem-bind list", limit)
    }

    /// Replaces bits and list of the memory binding. On an error nothing is changed.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] or [`Error::OutOfMemory`], of Slurm's allocator;
    /// [`Error::NotAText`] for a text with a NUL byte.
    pub fn set_mem_bind(&mut self, bits: u16, list: Option<&str>) -> Result<(), Error> {
        self.record
            .replace_text(self.layout.launch.mem_bind, list, self.symbols)?;
        self.record.write(self.layout.launch.mem_bind_type, bits);
        Ok(())
    }

    /// CPUs of this node that the job has.
    pub fn node_cpus(&self) -> u16 {
        self.record.read(self.layout.launch.node_cpus)
    }

    /// `--tres-bind`, also from `--gpu-bind` and `--gpus-per-task`.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `limit` bytes, none of which are then copied.
    pub fn tres_bind(&self, limit: usize) -> Result<Option<String>, Error> {
        let field = self.layout.launch.tres_bind;
        self.record.text_within(field, "--tres-bind list", limit)
    }

    /// `--gres-flags=allow-task-sharing`.
    pub fn shares_gres(&self) -> bool {
        self.has(self.layout.constants.LAUNCH_GRES_ALLOW_TASK_SHARING)
    }

    /// `--accel-bind`, as bits.
    pub fn accel_bind_type(&self) -> u16 {
        self.record.read(self.layout.launch.accel_bind_type)
    }

    /// The tasks' environment.
    pub fn env(&self) -> Environment<'a> {
        Environment {
            record: self.record,
            field: self.layout.launch.env,
            count: Some(self.layout.launch.envc),
            symbols: self.symbols,
        }
    }

    /// The step's options of one SPANK plugin. If an argument is longer than `most_bytes`, one
    /// byte more is copied, which shows that to its reader.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] where this process cannot walk Slurm's lists; [`Error::TooMany`] for
    /// more options than any srun sends.
    pub fn options(&self, plugin: &str, most_bytes: usize) -> Result<Vec<SpankOption>, Error> {
        options::read(
            self.record.read(self.layout.launch.options),
            (plugin, most_bytes),
            self.layout,
            self.symbols,
        )
    }

    /// The job's credential, locked until the value is dropped.
    ///
    /// # Errors
    /// As [`Credential::lock`].
    pub fn cred(&self) -> Result<Credential<'_>, Error> {
        // SAFETY: the request holds it, and this view's contract keeps the request.
        unsafe {
            Credential::lock(
                self.record.read(self.layout.launch.cred),
                self.layout,
                self.symbols,
            )
        }
    }
}

/// Every bit that some `CPU_BIND_` constant has; the request's field holds 16 of them.
fn known_binding_bits(constants: &Constants) -> u32 {
    [
        constants.CPU_BIND_VERBOSE,
        constants.CPU_BIND_TO_THREADS,
        constants.CPU_BIND_TO_CORES,
        constants.CPU_BIND_TO_SOCKETS,
        constants.CPU_BIND_TO_LDOMS,
        constants.CPU_BIND_NONE,
        constants.CPU_BIND_RANK.unwrap_or(0),
        constants.CPU_BIND_MAP,
        constants.CPU_BIND_MASK,
        constants.CPU_BIND_LDRANK,
        constants.CPU_BIND_LDMAP,
        constants.CPU_BIND_LDMASK,
        constants.CPU_BIND_ONE_THREAD_PER_CORE,
        constants.CPU_AUTO_BIND_TO_THREADS,
    ]
    .into_iter()
    .fold(0, |all, bit| all | bit)
}
