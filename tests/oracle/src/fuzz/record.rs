//! Messages as slurmd's memory has them when a hook is called, and what the hook leaves of them.

use std::ffi::c_char;
use std::ptr;

use crate::blocks::bytes;
use crate::message::Message;
use crate::object::{BatchHook, Hook};
use crate::record::Record;
use crate::slurmd::{Launch, Slurm};

/// What a hook left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Returned.
    pub rc: i32,
    /// Bytes of the text for the user.
    pub told: usize,
    /// What is wrong with the record now.
    pub wrong: Option<String>,
}

impl Launch {
    /// Calls the hook.
    ///
    /// # Safety
    /// The hook is one of an object of the running release.
    pub unsafe fn outcome(&mut self, hook: Hook) -> Outcome {
        let mut told: *mut c_char = ptr::null_mut();
        // SAFETY: the caller's promise.
        let (rc, _) = unsafe { self.call(hook, &mut told) };
        let fields = &self.slurm.layout.launch;
        let outcome = Outcome {
            rc,
            told: bytes(told).map_or(0, <[u8]>::len),
            wrong: self.request.wrong((fields.env, fields.envc)),
        };
        self.slurm.free(told.cast());
        outcome
    }
}

/// The records of a batch script; `launch` has the credential and slurmd's settings.
pub struct Script {
    launch: Launch,
    request: Record,
}

impl Script {
    /// Fills the records.
    #[must_use]
    pub fn new(message: &Message, slurm: Slurm) -> Self {
        let (mut launch, fields) = (Launch::new(message, slurm), &slurm.layout.batch);
        let mut request = Record::default();
        if let Some(field) = fields.job_id {
            request.put(field, message.step[0]);
        }
        if let Some(field) = fields.step_id {
            request.put_step_id(slurm, field.offset(), message.step);
        }
        request.put(fields.cpu_bind_type, message.case.cpu_bind_type);
        if let Some(text) = &message.cpu_bind {
            request.put(fields.cpu_bind, slurm.text(text));
        }
        request.put_env(slurm, (fields.environment, fields.envc), &message.env);
        request.put(fields.cred, launch.cred.base());
        Self { launch, request }
    }

    /// Calls the hook.
    ///
    /// # Safety
    /// The hook is one of an object of the running release.
    pub unsafe fn run(&mut self, hook: BatchHook) -> Outcome {
        self.launch.enter();
        // SAFETY: the caller's promise; the records are complete.
        let rc = unsafe { hook(self.request.base()) };
        let fields = &self.launch.slurm.layout.batch;
        Outcome {
            rc,
            told: 0,
            wrong: self.request.wrong((fields.environment, fields.envc)),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let (slurm, fields) = (self.launch.slurm, &self.launch.slurm.layout.batch);
        slurm.free_array(self.request.get(fields.environment));
        slurm.free(self.request.get(fields.cpu_bind).cast());
    }
}
