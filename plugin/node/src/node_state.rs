//! The node at this moment, and where the cgroups of its steps are.

use berth_host::cgroup::{Place, jobs, members, scopes};
use berth_host::ledger::{Entry, TaskCgroup};
use berth_placement::{CpuSet, Machine, Node};
use libc::pid_t;

/// The facts of a node.
#[derive(Clone, Copy)]
pub(crate) struct NodeState<'a> {
    pub node: &'a Node,
    pub cgroups: &'a Cgroups,
    pub online: &'a CpuSet,
}

impl NodeState<'_> {
    /// The CPUs that are online and whose cores are known.
    pub(crate) fn usable(&self) -> CpuSet {
        let known = self.node.machine().map(Machine::cpus);
        known.map_or_else(CpuSet::new, |known| self.online.intersection(known))
    }
}

/// Where the cgroups of a node's steps are.
#[derive(Clone, Debug)]
pub(crate) struct Cgroups {
    /// The tops of the unified hierarchy's mounts, or of a folder that looks like one.
    pub tops: Vec<Place>,
    /// NodeName.
    pub node: String,
}

impl Cgroups {
    /// The cgroup of a step.
    pub(crate) fn step(&self, entry: &Entry) -> Option<Place> {
        let path = entry.cgroup.as_deref()?;
        self.tops.iter().find_map(|top| top.at(path))
    }

    /// Where a step's tasks are: what Slurm freezes.
    pub(crate) fn tasks(&self, entry: &Entry) -> Option<Place> {
        self.step(entry).map(|step| step.below("user"))
    }

    /// CPUs in the cgroups of other jobs that run. Where Slurm confines no jobs there are none.
    pub(crate) fn of_other_jobs(&self, entry: &Entry) -> CpuSet {
        let mut cpus = CpuSet::new();
        let Some(step) = self.step(entry) else {
            return cpus;
        };
        let scope = scopes::scope_of(&step, &self.node);
        let job = step.above(1);
        let others = scope.and_then(|scope| jobs::running(&scope, job.name()?).ok());
        for job in others.into_iter().flatten() {
            cpus.insert_all(&job.cpus);
        }
        cpus
    }

    /// Those of a step's tasks.
    pub(crate) fn leaves<'a>(
        &self,
        entry: &'a Entry,
    ) -> impl Iterator<Item = (Place, &'a TaskCgroup)> {
        let tasks = self.tasks(entry).into_iter();
        tasks.flat_map(|tasks| {
            let cgroup = move |cgroup: &'a TaskCgroup| (tasks.below(&cgroup.name), cgroup);
            entry.leaves.iter().map(cgroup)
        })
    }

    /// The processes of a step's tasks.
    pub(crate) fn processes(&self, entry: &Entry) -> impl Iterator<Item = pid_t> {
        let folders = self
            .leaves(entry)
            .filter_map(|(place, _)| place.open().ok());
        folders.flat_map(|folder| members::processes(&folder))
    }
}
