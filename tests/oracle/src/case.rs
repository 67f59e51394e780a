//! One request with all that a launch hook sees of it. Numbers are as Slurm writes them, with
//! 0xfffe and 0xffff for "not given".

use slurm_sys::layout::Constants;

use crate::allocation::Credential;
use crate::machine::{Class, Machine};

/// A number that was not given.
pub(crate) const NOT_GIVEN: u16 = 0xfffe;
/// A limit that was not given.
pub(crate) const INFINITE: u16 = 0xffff;

/// A launch.
#[derive(Clone, Debug)]
pub struct Case {
    /// From which it was made.
    pub seed: u64,
    /// Requests of one class share a process.
    pub class: Class,
    /// `conf`
    pub machine: Machine,
    /// `req->cred`
    pub cred: Credential,
    /// `req->tasks_to_launch`, one entry a node of the step.
    pub tasks_to_launch: Vec<u16>,
    /// This node among those of the step.
    pub node_id: u32,
    /// `req->cpus_per_task`
    pub cpus_per_task: u16,
    /// `req->threads_per_core`
    pub threads_per_core: u16,
    /// `req->ntasks_per_core`
    pub ntasks_per_core: u16,
    /// `req->ntasks_per_socket`
    pub ntasks_per_socket: u16,
    /// `req->task_dist`
    pub task_dist: u32,
    /// LAUNCH_OVERCOMMIT in `req->flags`.
    pub overcommit: bool,
    /// `req->job_core_spec`
    pub job_core_spec: u16,
    /// `req->cpu_bind_type`
    pub cpu_bind_type: u16,
    /// `req->cpu_bind`
    pub cpu_bind: Option<String>,
    /// `slurm_conf.task_plugin_param`
    pub task_plugin_param: u32,
    /// `slurm_conf.select_type_param`
    pub select_type_param: u16,
}

impl Case {
    /// A launch that asks for nothing, on a machine that it has alone.
    #[must_use]
    pub fn plain(machine: Machine, tasks: u16, c: &Constants) -> Self {
        Self {
            seed: 0,
            class: Class::Threads,
            cred: Credential::whole(&machine),
            tasks_to_launch: vec![tasks],
            node_id: 0,
            cpus_per_task: 1,
            threads_per_core: NOT_GIVEN,
            ntasks_per_core: INFINITE,
            ntasks_per_socket: INFINITE,
            task_dist: c.SLURM_DIST_BLOCK_CYCLIC,
            overcommit: false,
            job_core_spec: NOT_GIVEN,
            cpu_bind_type: 0,
            cpu_bind: None,
            task_plugin_param: 0,
            select_type_param: 0,
            machine,
        }
    }

    /// Tasks of this node.
    #[must_use]
    pub fn tasks(&self) -> u16 {
        self.tasks_to_launch[self.node_id as usize]
    }

    /// `conf->node_name`
    #[must_use]
    pub fn node_name(&self) -> String {
        format!("n{}", self.cred.index)
    }

    /// `req->node_cpus`, as slurmd counts the step's CPUs (`_check_job_credential`).
    #[must_use]
    pub fn node_cpus(&self) -> u16 {
        let each = u32::from(self.machine.cpus) / self.machine.core_count().max(1);
        (self.cred.cores().len() as u32 * each.max(1)) as u16
    }
}

/// A count, where it is one.
#[must_use]
pub fn given(raw: u16) -> Option<u16> {
    (raw != 0 && raw < 0xfffe).then_some(raw)
}
