//! A hook's answer, with which slurmd goes on.

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Returned.
    pub rc: i32,
    /// `req->cpu_bind_type`
    pub cpu_bind_type: u16,
    /// `req->cpu_bind`
    pub cpu_bind: Option<String>,
    /// `req->cpus_per_task`
    pub cpus_per_task: u16,
    /// `*err_msg`
    pub err_msg: Option<String>,
    /// The note in slurmd's handover, in `req->env`: what the user is told.
    pub note: Option<String>,
    /// How slurmstepd reads it: CPUs of each task by genuine task/affinity's own look-up
    /// (`get_cpuset`), where that is asked for; `None` for a task it does not bind.
    pub resolved: Vec<Option<Vec<usize>>>,
    /// Locks of the credential that were not given back.
    pub locked: i32,
}
