//! The GPUs that a job requests, compared with each other and with its tasks and nodes, as its command does before
//! slurmctld does (`_test_gres_cnt` in gres.c, which `slurm_opt_create_job_desc` runs): what they imply, and what is
//! refused. Only numbers without a type are compared.

use berth_placement::controller::select::{LineOptions, NodeRange};
use berth_placement::sets::text::counted;

use crate::line::LineOption;
use crate::reading::Refused;
use crate::release::Release;

/// The numbers of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuCounts {
    of_job: Option<u32>,
    of_node: Option<u32>,
    of_socket: Option<u32>,
    of_task: Option<u32>,
    tasks_of_gpu: Option<u32>,
    has_cpus: bool,
}

/// A number alone, or behind the name as in `gpu:4` and `gres/gpu:4`.
fn number(value: &str) -> Option<u32> {
    let text = value.trim_start_matches("gres/");
    let text = text.trim_start_matches("gres:");
    let text = text.strip_prefix("gpu").unwrap_or(text);
    let text = text.trim_start_matches([':', '=']);
    text.parse().ok().filter(|count| *count > 0)
}

impl GpuCounts {
    /// Reads them.
    #[must_use]
    pub fn of(options: &[LineOption]) -> Self {
        let value = |name: &str| {
            let last = options.iter().rfind(|one| one.name == name);
            last?.value.as_deref()
        };
        let count = |name: &str| value(name).and_then(number);
        let in_list = |name: &str| {
            let list = value(name)?;
            let mut gpus = list.split(',').filter(|part| part.contains("gpu"));
            gpus.next()
                .and_then(number)
                .filter(|_| gpus.next().is_none())
        };
        Self {
            of_job: count("gpus"),
            of_node: count("gpus-per-node").or_else(|| in_list("gres")),
            of_socket: count("gpus-per-socket"),
            of_task: count("gpus-per-task").or_else(|| in_list("tres-per-task")),
            tasks_of_gpu: count("ntasks-per-gpu"),
            has_cpus: value("cpus-per-gpu").is_some(),
        }
    }

    /// The tasks that they imply without a number of nodes.
    #[must_use]
    pub fn tasks(self) -> Option<u32> {
        Some(self.of_job? / self.of_task?)
    }

    /// Fills in the tasks and nodes that they imply.
    ///
    /// # Errors
    /// Numbers that contradict each other.
    pub(super) fn take(self, options: &mut LineOptions, release: Release) -> Result<(), Refused> {
        if self.of_socket.is_some() && options.sockets_per_node.is_none() {
            return Err(Refused::together(
                "--gpus-per-socket requires --sockets-per-node; add it, or use --gpus-per-node",
            ));
        }
        if self.has_cpus && options.cpus_per_task.is_some() && release < Release::V23_11 {
            return Err(Refused::together(
                "--cpus-per-gpu excludes --cpus-per-task; leave out one of the two",
            ));
        }
        options.tasks = options.tasks.or_else(|| self.tasks_of_nodes(options));
        if let (Some(all), Some(each)) = (self.of_job, self.of_node) {
            self.take_nodes(options, all, each)?;
        }
        match self.of_task {
            Some(each) => self.take_tasks(options, each),
            None => Ok(()),
        }
    }

    /// The tasks that a fixed number of nodes gives before GPUs are compared (`gres_job_state_validate`), and those that
    /// each GPU has.
    fn tasks_of_nodes(self, options: &LineOptions) -> Option<u32> {
        let nodes = options.nodes;
        let fixed = nodes.filter(|nodes| nodes.most == Some(nodes.least));
        if let Some(each) = self.tasks_of_gpu {
            let least = nodes.map_or(1, |nodes| nodes.least.max(1));
            let of_nodes = || self.of_node?.checked_mul(least);
            let gpus = self.of_job.or_else(of_nodes);
            let gpus = gpus.or(fixed.map(|nodes| nodes.least))?;
            return gpus.checked_mul(each);
        }
        let fixed = fixed.filter(|_| self.of_task.is_some())?;
        match options.tasks_per_node {
            Some(each) => fixed.least.checked_mul(each),
            None => options.cpus_per_task.is_none().then_some(fixed.least),
        }
    }

    fn take_tasks(self, options: &mut LineOptions, each: u32) -> Result<(), Refused> {
        let Some(all) = self.of_job else {
            let is_open = options.tasks.is_none() && !implies_tasks(options);
            return match is_open {
                true => Err(Refused::together(
                    "--gpus-per-task or --tres-per-task without a number of tasks; add -n, or --gpus",
                )),
                false => Ok(()),
            };
        };
        if !all.is_multiple_of(each) {
            return Err(Refused::together(format!(
                "--gpus={all} is no multiple of the {each} GPUs for each task; request {}, or leave --gpus out",
                u64::from(all).next_multiple_of(each.into())
            )));
        }
        match options.tasks {
            Some(tasks) if all / each != tasks => Err(Refused::together(format!(
                "--gpus={all} and {each} for each task are {}, but the line is for {tasks}; leave --gpus out, or \
                 request {}",
                counted(all / each, "task"),
                u64::from(tasks) * u64::from(each)
            ))),
            None if !implies_tasks(options) => {
                options.tasks = Some(all / each);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_nodes(self, options: &mut LineOptions, all: u32, each: u32) -> Result<(), Refused> {
        if !all.is_multiple_of(each) {
            return Err(Refused::together(format!(
                "--gpus={all} is no multiple of the {each} GPUs for each node; request {}, or leave --gpus out",
                u64::from(all).next_multiple_of(each.into())
            )));
        }
        let count = all / each;
        if let Some(nodes) = options.nodes
            && (count < nodes.least || nodes.most.is_some_and(|most| count > most))
        {
            return Err(Refused::together(format!(
                "--gpus={all} with {each} for each node means -N{count}, and -N gives another number; leave --gpus or \
                 -N out"
            )));
        }
        options.nodes = Some(NodeRange {
            least: count,
            most: Some(count),
        });
        Ok(())
    }
}

/// Whether the command counts tasks by other options than `-n`.
fn implies_tasks(options: &LineOptions) -> bool {
    options.tasks_per_node.is_some()
        || options.sockets_per_node.is_some()
        || !options.node_names.is_empty()
}
