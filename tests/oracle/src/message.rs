//! One message with all of it that a user's own client can choose.

use std::fmt;

use slurm_sys::layout::Constants;

use crate::case::Case;
use crate::options::SPANK;

/// What slurmd is asked for.
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
    pub option: Vec<u8>,
    /// What it was given.
    pub argument: Option<Vec<u8>>,
}

impl JobOption {
    /// An option of berth's own.
    #[must_use]
    pub fn of_berth(name: &str, argument: &str) -> Self {
        Self {
            kind: SPANK,
            option: format!("{name}:berth").into_bytes(),
            argument: Some(argument.as_bytes().to_vec()),
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
    pub cpu_bind: Option<Vec<u8>>,
    /// `mem_bind_type`
    pub mem_bind_type: u16,
    /// `mem_bind`
    pub mem_bind: Option<Vec<u8>>,
    /// `complete_nodelist`
    pub nodes: Option<Vec<u8>>,
    /// `tres_bind`
    pub tres_bind: Option<Vec<u8>>,
    /// `env`; no entry has a NUL.
    pub env: Vec<Vec<u8>>,
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
            cpu_bind: case.cpu_bind.take().map(String::into_bytes),
            mem_bind_type: 0,
            mem_bind: None,
            nodes: None,
            tres_bind: None,
            env: Vec::new(),
            options: Vec::new(),
            case,
        }
    }

    /// About how many bytes it has on the wire, without the credential.
    #[must_use]
    pub fn size(&self) -> usize {
        let text = |text: &Option<Vec<u8>>| text.as_ref().map_or(0, Vec::len);
        let texts = [&self.cpu_bind, &self.mem_bind, &self.nodes, &self.tres_bind];
        let options = self.options.iter();
        texts.into_iter().map(text).sum::<usize>()
            + self
                .ids
                .iter()
                .map(|list| 6 + 4 * list.len())
                .sum::<usize>()
            + self.env.iter().map(|entry| 5 + entry.len()).sum::<usize>()
            + options
                .map(|option| 12 + option.option.len() + text(&option.argument))
                .sum::<usize>()
    }
}

/// Bytes of a text that are shown at each of its ends.
const SHOWN: usize = 60;
/// Entries of a list that are shown.
const ENTRIES: usize = 12;

struct Text<'a>(&'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        if text.len() <= 2 * SHOWN {
            return write!(f, "\"{}\"", text.escape_ascii());
        }
        let (head, tail) = (&text[..SHOWN], &text[text.len() - SHOWN..]);
        let (head, tail) = (head.escape_ascii(), tail.escape_ascii());
        write!(f, "\"{head}…{tail}\" ({} bytes)", text.len())
    }
}

fn optional(text: Option<&Vec<u8>>) -> String {
    text.map_or("none".into(), |text| Text(text).to_string())
}

fn list<T>(all: &[T], show: impl Fn(&T) -> String) -> String {
    let shown: Vec<_> = all.iter().take(ENTRIES).map(show).collect();
    let more = match all.len().saturating_sub(ENTRIES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("[{}{more}]", shown.join(", "))
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hook = match self.kind {
            Kind::Tasks => "task_p_slurmd_launch_request",
            Kind::Batch => "task_p_slurmd_batch_request",
        };
        writeln!(f, "{hook}, about {} bytes", self.size())?;
        writeln!(f, "  made from {}", self.case)?;
        let [job, step, component] = self.step;
        writeln!(
            f,
            "  message: step={job}.{step}+{component} node_id={} nodes={} ntasks={} tasks of the \
             nodes={} flags={:#x} node_cpus={} accel_bind_type={:#x}",
            self.node_id,
            self.ids.len(),
            self.tasks,
            list(&self.ids, |list| list.len().to_string()),
            self.flags,
            self.node_cpus,
            self.accel_bind_type,
        )?;
        writeln!(f, "  cpu_bind={}", optional(self.cpu_bind.as_ref()))?;
        writeln!(
            f,
            "  mem_bind_type={:#x} mem_bind={}",
            self.mem_bind_type,
            optional(self.mem_bind.as_ref())
        )?;
        writeln!(
            f,
            "  complete_nodelist={} tres_bind={}",
            optional(self.nodes.as_ref()),
            optional(self.tres_bind.as_ref())
        )?;
        let option = |option: &JobOption| {
            let name = Text(&option.option);
            format!(
                "{:#x} {name}={}",
                option.kind,
                optional(option.argument.as_ref())
            )
        };
        writeln!(f, "  options={}", list(&self.options, option))?;
        write!(
            f,
            "  env={}",
            list(&self.env, |entry| Text(entry).to_string())
        )
    }
}
