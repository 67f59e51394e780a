//! A message as slurmd's memory has it when the launch hook is called.

use std::ffi::c_char;
use std::ptr;

use crate::blocks::{bytes, entries};
use crate::case::Case;
use crate::fuzz::message::{JobOption, Message};
use crate::host;
use crate::object::{BeforeHook, Hook};
use crate::slurmd::{Launch, Slurm};
use crate::stepd::Step;

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

/// The records of a message.
pub struct Tasks {
    launch: Launch,
}

impl Tasks {
    /// Fills the records.
    #[must_use]
    pub fn new(message: &Message, slurm: Slurm) -> Self {
        let mut tasks = Self {
            launch: Launch::new(&message.case, slurm),
        };
        tasks.fill_numbers(message);
        tasks.fill_nodes(message);
        tasks.fill_texts(message);
        tasks.fill_options(&message.options);
        tasks
    }

    fn fill_numbers(&mut self, message: &Message) {
        let fields = &self.launch.slurm.layout.launch;
        let record = &mut self.launch.request;
        record.put(fields.flags, message.flags);
        record.put(fields.node_cpus, message.node_cpus);
        record.put(fields.accel_bind_type, message.accel_bind_type);
        record.put(fields.mem_bind_type, message.mem_bind_type);
        let (step, ids) = (fields.step_id.offset(), &self.launch.slurm.layout.step_id);
        let places = [ids.job_id, ids.step_id, ids.step_het_comp];
        for (field, value) in places.into_iter().zip(message.step) {
            record.put_at(step + field.offset(), value);
        }
        self.launch.node_id = message.node_id;
    }

    /// An empty list is a null pointer, as slurmd unpacks it.
    fn fill_nodes(&mut self, message: &Message) {
        let fields = &self.launch.slurm.layout.launch;
        let kept = &mut self.launch.kept;
        let count = |list: &Vec<u32>| list.len() as u16;
        let counts = kept.halves(message.ids.iter().map(count).collect());
        let list = |list: &Vec<u32>| match list.len() {
            0 => ptr::null_mut(),
            _ => kept.words(list.clone()),
        };
        let lists = message.ids.iter().map(list).collect();
        let lists = kept.pointers(lists);
        let record = &mut self.launch.request;
        record.put(fields.nnodes, message.ids.len() as u32);
        record.put(fields.ntasks, message.tasks);
        record.put(fields.tasks_to_launch, counts);
        record.put(fields.global_task_ids, lists);
    }

    fn fill_texts(&mut self, message: &Message) {
        let slurm = self.launch.slurm;
        let fields = &slurm.layout.launch;
        let record = &mut self.launch.request;
        for (field, text) in [
            (fields.cpu_bind, &message.cpu_bind),
            (fields.mem_bind, &message.mem_bind),
            (fields.complete_nodelist, &message.nodes),
            (fields.tres_bind, &message.tres_bind),
        ] {
            if let Some(text) = text {
                record.put(field, slurm.text(text));
            }
        }
        if !message.env.is_empty() {
            let env = message.env.iter().map(Vec::as_slice);
            record.put(fields.env, slurm.array(env));
            record.put(fields.envc, message.env.len() as u32);
        }
    }

    fn fill_options(&mut self, options: &[JobOption]) {
        let option = |option: &JobOption| {
            let JobOption {
                kind,
                option,
                argument,
            } = option;
            (*kind, option.clone(), argument.clone())
        };
        self.launch.set_options(options.iter().map(option));
    }

    /// Calls the hook.
    ///
    /// # Safety
    /// The hook is one of an object of the running release.
    pub unsafe fn run(&mut self, hook: Hook) -> Outcome {
        let node_id = self.launch.node_id;
        let mut told: *mut c_char = ptr::null_mut();
        self.launch.enter();
        // SAFETY: the caller's promise; the records are complete.
        let rc = unsafe { hook(self.launch.request.base(), node_id, &mut told) };
        let outcome = Outcome {
            rc,
            told: bytes(told).map_or(0, <[u8]>::len),
            wrong: self.wrong(),
        };
        self.launch.slurm.free(told.cast());
        outcome
    }

    /// Has slurmstepd read the answer, as it does before it starts the tasks.
    ///
    /// # Safety
    /// The hook is one of an object of the running release, whose launch hook has run.
    pub unsafe fn confirm(&mut self, case: &Case, before: BeforeHook) {
        let mut step = Step::new(&mut self.launch, case, std::process::id() as i32);
        // SAFETY: the caller's promise.
        unsafe { step.begin(before, &mut self.launch) };
    }

    fn wrong(&mut self) -> Option<String> {
        let fields = &self.launch.slurm.layout.launch;
        let record = &mut self.launch.request;
        let (said, found) = (
            record.get(fields.envc),
            entries(record.get(fields.env)).count(),
        );
        if said as usize != found {
            return Some(format!(
                "envc is {said}, and the environment has {found} entries"
            ));
        }
        let locked = host::LOCKED.swap(0, std::sync::atomic::Ordering::Relaxed);
        (locked != 0).then(|| format!("the credential was locked {locked} times too often"))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        let fields = &self.launch.slurm.layout.launch;
        for text in [fields.mem_bind, fields.complete_nodelist, fields.tres_bind] {
            let text = self.launch.request.get(text);
            self.launch.slurm.free(text.cast());
        }
    }
}
