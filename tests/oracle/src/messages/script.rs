//! The records of a batch script as slurmd's memory has them when its hook is called.

use crate::message::Message;
use crate::object::Hooks;
use crate::record::Record;
use crate::slurmd::{Launch, Slurm};

/// The records; `launch` has the credential and slurmd's settings.
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
            request.put(fields.cpu_bind, slurm.text(&text.0));
        }
        request.put_env(slurm, (fields.environment, fields.envc), &message.env);
        request.put(fields.cred, launch.cred.base());
        Self { launch, request }
    }

    /// Calls the hook.
    ///
    /// # Safety
    /// The hook is one of an object of the running release.
    pub unsafe fn call(&mut self, hooks: Hooks) -> i32 {
        self.launch.enter();
        // SAFETY: the caller's promise; the records are complete.
        unsafe { (hooks.batch)(self.request.base()) }
    }

    /// Why the request is wrong after that.
    pub fn wrong(&mut self) -> Option<String> {
        let fields = &self.launch.slurm.layout.batch;
        self.request.wrong((fields.environment, fields.envc))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let (slurm, fields) = (self.launch.slurm, &self.launch.slurm.layout.batch);
        slurm.free_array(self.request.get(fields.environment));
        slurm.free(self.request.get(fields.cpu_bind).cast());
    }
}
