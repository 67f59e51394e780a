//! The GPUs that Slurm gives each task of a step, where gres.conf has the CPUs next to each GPU
//! (`Cores=`, `AutoDetect=`): the rules of [`GpuBind`] that go by the tasks' CPUs.
//! In: the rule, the step's GPUs, the CPUs next to each GPU of the node, each task's CPUs. Pure.
//! Source: `_get_closest_usable_gres`, `_get_gres_per_task`, `_get_single_usable_gres`,
//! src/interfaces/gres.c of 26.05.

use crate::request::gres_bind::{GpuBind, Indices, Reading};
use crate::request::near::Gres;
use crate::sets::cpuset::CpuSet;

/// A step's GPUs and its tasks, as Slurm binds them.
#[derive(Clone, Debug)]
pub struct GpuTasks<'a> {
    /// The rule.
    pub bind: &'a GpuBind,
    /// Whether an open choice means the closest GPUs, and not all.
    pub closest: bool,
    /// The step's GPUs.
    pub gres: &'a Gres,
    /// The CPUs next to each GPU of the node, by number.
    pub near: &'a [CpuSet],
    /// Each task's CPUs.
    pub tasks: &'a [&'a CpuSet],
}

impl GpuTasks<'_> {
    /// The GPUs that each task sees. `None` for a mask on a node with more GPUs than Slurm's own masks
    /// have bits.
    #[must_use]
    pub fn visible(&self) -> Option<Vec<Vec<u32>>> {
        let step = &self.gres.step;
        Some(match self.bind {
            GpuBind::Map(_) | GpuBind::Mask(_) => {
                let count = self.tasks.len() as u32;
                let how = (Reading::Named, Indices::OfStep);
                return self.bind.tasks(self.gres, count, how);
            }
            GpuBind::Open if self.closest => {
                let tasks = self.tasks.iter().copied();
                tasks.map(|cpus| self.closest_of(step, cpus)).collect()
            }
            GpuBind::Open => vec![step.clone(); self.tasks.len()],
            GpuBind::PerTask(each) => self.per_task(*each as usize),
            GpuBind::Single(share) => self.single(*share as usize),
        })
    }

    fn is_near(&self, gpu: u32, cpus: &CpuSet) -> bool {
        let near = self.near.get(gpu as usize);
        near.is_some_and(|near| near.intersects(cpus))
    }

    /// Those next to a task; without any the first of the step.
    fn closest_of(&self, step: &[u32], cpus: &CpuSet) -> Vec<u32> {
        let near = step.iter().copied().filter(|gpu| self.is_near(*gpu, cpus));
        let near: Vec<_> = near.collect();
        match near.is_empty() {
            true => step.iter().copied().take(1).collect(),
            false => near,
        }
    }

    /// Each task takes those next to it first, then any that no earlier task has.
    fn per_task(&self, each: usize) -> Vec<Vec<u32>> {
        let mut left = self.gres.step.clone();
        let own = |cpus: &&CpuSet| {
            let (near, far): (Vec<_>, Vec<_>) =
                left.iter().partition(|gpu| self.is_near(**gpu, cpus));
            let mut own: Vec<u32> = near.into_iter().chain(far).take(each).collect();
            left.retain(|gpu| !own.contains(gpu));
            if own.is_empty() {
                own.extend(self.gres.step.first());
            }
            own.sort_unstable();
            own
        };
        self.tasks.iter().map(own).collect()
    }

    /// Each task takes a place at one GPU: at one next to all its CPUs, else to some, else at any.
    fn single(&self, share: usize) -> Vec<Vec<u32>> {
        let step = &self.gres.step;
        let mut places: Vec<usize> = vec![share.max(1); step.len()];
        let own = |(id, cpus): (usize, &&CpuSet)| {
            let free = || (0..step.len()).filter(|at| places[*at] > 0);
            let near = |at: &usize| self.near.get(step[*at] as usize);
            let covers = |at: &usize| near(at).is_some_and(|near| cpus.difference(near).is_empty());
            let found = free()
                .find(covers)
                .or_else(|| free().find(|at| self.is_near(step[*at], cpus)))
                .or_else(|| free().next());
            let at = found.unwrap_or(id.checked_rem(step.len()).unwrap_or(0));
            if let Some(left) = places.get_mut(at) {
                *left = left.saturating_sub(1);
            }
            step.get(at).copied().into_iter().collect()
        };
        self.tasks.iter().enumerate().map(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn tasks_see_the_gpus_next_to_them() {
        // Two GPUs at each of two NUMA nodes, the higher numbers at the first.
        let near = ["4-7", "4-7", "0-3", "0-3"].map(set);
        let cpus = ["0-1", "2-3", "4-5", "6-7"].map(set);
        let cpus: Vec<_> = cpus.iter().collect();
        let gres = Gres {
            on_node: 4,
            step: vec![0, 1, 2, 3],
            tasks: Vec::new(),
        };
        let seen = |bind: GpuBind, closest| {
            let tasks = GpuTasks {
                bind: &bind,
                closest,
                gres: &gres,
                near: &near,
                tasks: &cpus,
            };
            tasks.visible().unwrap()
        };
        let each = [vec![2], vec![3], vec![0], vec![1]];
        assert_eq!(seen(GpuBind::PerTask(1), false), each);
        assert_eq!(seen(GpuBind::Single(1), false), each);
        assert_eq!(
            seen(GpuBind::Single(2), false),
            [vec![2], vec![2], vec![0], vec![0]]
        );
        let closest = seen(GpuBind::Open, true);
        assert_eq!(closest, [vec![2, 3], vec![2, 3], vec![0, 1], vec![0, 1]]);
        assert_eq!(seen(GpuBind::Open, false), vec![vec![0, 1, 2, 3]; 4]);
        let map = GpuBind::Map(vec![(3, 1), (0, 1)]);
        assert_eq!(seen(map, false), [vec![3], vec![0], vec![3], vec![0]]);
    }
}
