//! A message as slurmd's memory has it when the batch hook is called.

use std::ffi::c_char;
use std::sync::atomic::Ordering;

use crate::blocks::entries;
use crate::fuzz::message::Message;
use crate::fuzz::record::Outcome;
use crate::host;
use crate::object::BatchHook;
use crate::record::Record;
use crate::slurmd::{Launch, Slurm};

/// The records of a message; `launch` has the credential and slurmd's settings.
pub struct Script {
    launch: Launch,
    request: Record,
}

impl Script {
    /// Fills the records.
    #[must_use]
    pub fn new(message: &Message, slurm: Slurm) -> Self {
        let mut launch = Launch::new(&message.case, slurm);
        let (fields, ids) = (&slurm.layout.batch, &slurm.layout.step_id);
        let mut request = Record::default();
        let [job, step, component] = message.step;
        if let Some(field) = fields.job_id {
            request.put(field, job);
        }
        if let Some(field) = fields.step_id {
            let parts = [
                (ids.job_id, job),
                (ids.step_id, step),
                (ids.step_het_comp, component),
            ];
            for (part, value) in parts {
                request.put_at(field.offset() + part.offset(), value);
            }
        }
        request.put(fields.cpu_bind_type, message.case.cpu_bind_type);
        if let Some(text) = &message.cpu_bind {
            request.put(fields.cpu_bind, slurm.text(text));
        }
        if !message.env.is_empty() {
            let env = message.env.iter().map(Vec::as_slice);
            request.put(fields.environment, slurm.array(env));
            request.put(fields.envc, message.env.len() as u32);
        }
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
        Outcome {
            rc,
            told: 0,
            wrong: self.wrong(),
        }
    }

    fn wrong(&mut self) -> Option<String> {
        let fields = &self.launch.slurm.layout.batch;
        let env: *mut *mut c_char = self.request.get(fields.environment);
        let (said, found) = (self.request.get(fields.envc), entries(env).count());
        if said as usize != found {
            return Some(format!(
                "envc is {said}, and the environment has {found} entries"
            ));
        }
        let locked = host::LOCKED.swap(0, Ordering::Relaxed);
        (locked != 0).then(|| format!("the credential was locked {locked} times too often"))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let (slurm, fields) = (self.launch.slurm, &self.launch.slurm.layout.batch);
        slurm.free_array(self.request.get(fields.environment));
        slurm.free(self.request.get(fields.cpu_bind).cast());
    }
}
