//! The request to launch a batch script, as slurmd's batch hook gets it.
//! Source: batch_job_launch_msg_t, src/common/slurm_protocol_defs.h.

use super::credential::Credential;
use super::environment::Environment;
use super::values::{StepId, StepKind};
use crate::error::Error;
use crate::layout::Layout;
use crate::record::Record;
use crate::symbols::Symbols;
use std::ffi::c_void;

/// A batch request.
pub struct BatchRequest<'a> {
    record: Record,
    layout: &'static Layout,
    symbols: &'a Symbols,
}

impl<'a> BatchRequest<'a> {
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
        unsafe { Record::new(request) }.map(|record| BatchRequest {
            record,
            layout,
            symbols,
        })
    }

    /// The job; releases from 25.11 on keep it in a step id.
    pub fn job_id(&self) -> u32 {
        let fields = &self.layout.batch;
        match (fields.job_id, fields.step_id) {
            (Some(job_id), _) => self.record.read(job_id),
            (None, Some(step_id)) => StepId::read(self.record.nested(step_id), self.layout).job_id,
            (None, None) => 0,
        }
    }

    /// The script's step; it is made from the job's number if the record has no more.
    pub fn step_id(&self) -> StepId {
        StepId {
            job_id: self.job_id(),
            step_id: self.layout.constants.SLURM_BATCH_SCRIPT,
            het_component: None,
            kind: StepKind::Batch,
        }
    }

    /// Tasks of the job on all its nodes, as slurmctld counts them.
    pub fn ntasks(&self) -> u32 {
        self.record.read(self.layout.batch.ntasks)
    }

    /// The `CPU_BIND_` bits.
    pub fn cpu_bind_type(&self) -> u16 {
        self.record.read(self.layout.batch.cpu_bind_type)
    }

    /// List of CPUs or masks.
    pub fn cpu_bind(&self) -> Option<String> {
        self.record.text(self.layout.batch.cpu_bind)
    }

    /// Replaces bits and list; they reach slurmstepd. On an error nothing is changed.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] or [`Error::OutOfMemory`], of Slurm's allocator;
    /// [`Error::NotAText`] for a text with a NUL byte.
    pub fn set_cpu_bind(&mut self, bits: u16, list: Option<&str>) -> Result<(), Error> {
        self.record
            .replace_text(self.layout.batch.cpu_bind, list, self.symbols)?;
        self.record.write(self.layout.batch.cpu_bind_type, bits);
        Ok(())
    }

    /// The script's environment.
    pub fn env(&self) -> Environment<'a> {
        Environment {
            record: self.record,
            field: self.layout.batch.environment,
            count: Some(self.layout.batch.envc),
            symbols: self.symbols,
        }
    }

    /// The job's credential, locked until the value is dropped.
    ///
    /// # Errors
    /// As [`Credential::lock`].
    pub fn cred(&self) -> Result<Credential<'_>, Error> {
        // SAFETY: the request holds it, and this view's contract keeps the request.
        unsafe {
            Credential::lock(
                self.record.read(self.layout.batch.cred),
                self.layout,
                self.symbols,
            )
        }
    }
}
