//! One message with all of it that a user's own client can choose.

use std::fmt;

use slurm_sys::layout::Constants;

use crate::case::Case;
use crate::options::SPANK;

/// Bytes of a text that are shown at each of its ends.
const SHOWN: usize = 60;

/// Bytes as a client sends them.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl Text {
    /// A usual text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// Both ends of a long one.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        let head = &text[..text.len().min(SHOWN)];
        write!(f, "\"{}\"", head.escape_ascii())?;
        if text.len() == head.len() {
            return Ok(());
        }
        let tail = text[text.len() - SHOWN..].escape_ascii();
        write!(f, " … \"{tail}\", {} bytes", text.len())
    }
}

/// The kind of launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `launch_tasks_request_msg_t`
    Tasks,
    /// `batch_job_launch_msg_t`
    Batch,
}

/// A SPANK option as the request's list of job options has it.
#[derive(Clone, Debug)]
pub struct JobOption {
    /// The kind of option; SPANK's own kind is one of all numbers.
    pub kind: i32,
    /// `name:plugin`
    pub option: Text,
    /// Its value.
    pub argument: Option<Text>,
}

impl JobOption {
    /// An option of berth's own.
    #[must_use]
    pub fn of_berth(name: &str, argument: &str) -> Self {
        Self {
            kind: SPANK,
            option: Text::of(&format!("{name}:berth")),
            argument: Some(Text::of(argument)),
        }
    }
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Which of the two hooks gets it.
    pub kind: Kind,
    /// The request from which it was made; its numbers are the message's where none stands here.
    pub case: Case,
    /// Job, step and component.
    pub step: [u32; 3],
    /// The node's number as slurmd finds it in the list of nodes that the client sent.
    pub node_id: u32,
    /// `ntasks`
    pub tasks: u32,
    /// `tasks_to_launch` and `global_task_ids`: a list for each node.
    pub ids: Vec<Vec<u32>>,
    /// `flags`
    pub flags: u32,
    /// `node_cpus`
    pub node_cpus: u16,
    /// `accel_bind_type`
    pub accel_bind_type: u16,
    /// `cpu_bind`
    pub cpu_bind: Option<Text>,
    /// `mem_bind_type`
    pub mem_bind_type: u16,
    /// `mem_bind`
    pub mem_bind: Option<Text>,
    /// `complete_nodelist`
    pub nodes: Option<Text>,
    /// `tres_bind`
    pub tres_bind: Option<Text>,
    /// `env`; no entry has a NUL.
    pub env: Vec<Text>,
    /// `options`
    pub options: Vec<JobOption>,
}

impl Message {
    /// A request as srun sends it.
    #[must_use]
    pub fn of(mut case: Case, c: &Constants) -> Self {
        let mut next = 0;
        let list = |tasks: &u16| {
            let first = next;
            next += u32::from(*tasks);
            (first..next).collect()
        };
        let ids: Vec<Vec<u32>> = case.tasks_to_launch.iter().map(list).collect();
        Self {
            kind: Kind::Tasks,
            step: [7, 0, c.NO_VAL],
            node_id: case.node_id,
            tasks: next,
            ids,
            flags: c.LAUNCH_OVERCOMMIT.filter(|_| case.overcommit).unwrap_or(0),
            node_cpus: case.node_cpus(),
            accel_bind_type: 0,
            cpu_bind: case.cpu_bind.take().as_deref().map(Text::of),
            mem_bind_type: 0,
            mem_bind: None,
            nodes: None,
            tres_bind: None,
            env: Vec::new(),
            options: Vec::new(),
            case,
        }
    }
}
