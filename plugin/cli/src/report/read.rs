//! The CPUs and memory that one task has in the kernel, and its plan.

use std::env::var;

use berth_answer::text::cut;
use berth_host::affinity::affinity_from_status;
use berth_host::kernel_text;
use berth_host::memory::{self, Kind};
use berth_placement::{CpuSet, NodeSet};
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::threads::{self, Role};
use crate::Failure;

/// Letters of the threads' CPUs. srun passes a line of up to 1024 on as one; of longer ones the
/// parts of several nodes would mix.
const IN_JSON: usize = 400;
const HELPERS_IN_JSON: usize = 100;
const IN_A_TABLE: usize = 60;

/// One task's part of a report. Sets are lists: `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub task: u32,
    pub local: u32,
    pub pid: u32,
    /// With a program those of all its threads, but of those that a library started for itself.
    pub cpus: String,
    /// `bind 0`, `prefer 1`, or empty for the kernel's own way.
    pub memory: String,
    /// NUMA nodes that its cpuset permits.
    pub memory_allowed: String,
    /// The number of threads of the program and of the processes that it started; 0 without a
    /// program.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub threads: u32,
    /// The number of threads that work. [`Self::idle_threads`] have slept while those computed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub working_threads: u32,
    /// See [`Self::working_threads`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_threads: u32,
    /// Those that a library started for itself, by name, with their CPUs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub helper_threads: String,
    /// The CPUs of each that works, by thread number; empty where all are the task's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread_cpus: String,
    /// berth's plan; absent if it planned nothing for this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_cpus: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_memory: Option<String>,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Task {
    /// How it differs from its plan.
    pub(crate) fn deviations(&self) -> Vec<String> {
        let has = self.memory.split(' ').nth(1).unwrap_or_default();
        let cpus = self
            .planned_cpus
            .iter()
            .filter(|_| !self.has_planned_cpus());
        let memory = self.planned_memory.iter().filter(|nodes| *nodes != has);
        let cpus = cpus.map(|planned| format!("planned CPUs {planned}"));
        let memory = memory.map(|planned| format!("planned memory {planned}"));
        cpus.chain(memory).collect()
    }

    /// A program may bind its threads more narrowly; outside of the plan none may be.
    fn has_planned_cpus(&self) -> bool {
        let Some(planned) = self.planned_cpus.as_ref() else {
            return true;
        };
        let set = |list: &str| CpuSet::from_list(list).unwrap_or_default();
        match self.threads == 0 {
            true => *planned == self.cpus,
            false => set(&self.cpus).is_subset(&set(planned)),
        }
    }

    /// Whether its program keeps to a part of the plan.
    pub(crate) fn is_inside_plan(&self) -> bool {
        self.has_planned_cpus()
            && self
                .planned_cpus
                .as_ref()
                .is_some_and(|planned| *planned != self.cpus)
    }

    /// The program's threads in one cell: how many work and where, how many are idle, and those that
    /// a library started for itself.
    pub(crate) fn threads_text(&self) -> String {
        if self.threads == 0 {
            return String::new();
        }
        // A report of an older release has the threads' number alone.
        let working = match self.working_threads {
            0 if self.idle_threads == 0 && self.helper_threads.is_empty() => self.threads,
            count => count,
        };
        let mut parts = vec![match self.thread_cpus.as_str() {
            "" => working.to_string(),
            cpus => format!("{working}: {}", cut(cpus, IN_A_TABLE)),
        }];
        parts.extend((self.idle_threads > 0).then(|| format!("{} idle", self.idle_threads)));
        let helpers = &self.helper_threads;
        parts
            .extend((!helpers.is_empty()).then(|| format!("helpers {}", cut(helpers, IN_A_TABLE))));
        parts.join("; ")
    }
}

/// Asks the kernel about this process, or about the program it has started.
///
/// # Errors
/// A /proc that cannot be read.
pub(crate) fn task(me: &Identity, program: Option<u32>) -> Result<Task, Failure> {
    let pid = program.unwrap_or_else(std::process::id);
    let has_ended = |_| format!("process {pid} ended before berth could look at it; see --after");
    let mut cpus = affinity_from_status(pid as i32).map_err(has_ended)?;
    let threads = program.map(threads::of).unwrap_or_default();
    let own = threads.iter().filter(|one| one.role != Role::Helper);
    own.for_each(|one| cpus.insert_all(&one.cpus));
    let working = threads.iter().filter(|one| one.role == Role::Working);
    let working: Vec<_> = working.map(|one| one.cpus.clone()).collect();
    let planned = me.is_slurms && var("BERTH_BOUND").is_ok_and(|bound| bound == "1");
    let filled = |name| var(name).ok().filter(|value| planned && !value.is_empty());
    Ok(Task {
        task: me.task,
        local: me.local,
        pid,
        cpus: cpus.to_string(),
        memory: memory(),
        memory_allowed: allowed_memory(pid),
        threads: threads.len() as u32,
        working_threads: working.len() as u32,
        idle_threads: threads::count(&threads, Role::Idle),
        helper_threads: cut(&threads::helpers(&threads), HELPERS_IN_JSON),
        thread_cpus: match working.iter().all(|own| *own == cpus) {
            true => String::new(),
            false => cut(&one_by_one(&working), IN_JSON),
        },
        planned_cpus: filled("BERTH_CPUS"),
        planned_memory: filled("BERTH_MEM").and_then(|list| planned_memory(&list, me.local)),
        rule: filled("BERTH_RULE"),
    })
}

fn one_by_one(threads: &[CpuSet]) -> String {
    let lists: Vec<_> = threads.iter().map(ToString::to_string).collect();
    lists.join(" ")
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// This process's policy, which its program inherits.
fn memory() -> String {
    let Ok((Some(kind), words)) = memory::policy() else {
        return String::new();
    };
    let word = match kind {
        Kind::Bind => "bind",
        Kind::Prefer | Kind::PreferMany => "prefer",
    };
    // Sets of nodes are written as those of CPUs.
    format!("{word} {}", CpuSet::from_words(words))
}

fn allowed_memory(pid: u32) -> String {
    let status = kernel_text::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    line.unwrap_or_default().trim().to_string()
}

/// One mask of a list of them, by local id, as a list of NUMA nodes.
fn planned_memory(masks: &str, local: u32) -> Option<String> {
    let mask = masks.split(',').nth(local as usize)?;
    NodeSet::from_hex(mask).ok().map(|nodes| nodes.to_string())
}
