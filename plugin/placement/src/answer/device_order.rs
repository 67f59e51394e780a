//! The order in which each task of a `--near=gpu` is to see the step's GPUs: its own first.
//! In: the request, each task's devices. Out: a [`DeviceOrder`], which travels from slurmd to slurmstepd. Pure.

use derive_more::Display;

use crate::answer::near::Nearby;
use crate::request::near::{Near, What};
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;
use crate::sets::limits::{MAX_ENTRIES, MAX_LISTED_DEVICES};
use crate::sets::text::counted;

/// The GPUs of a step, and those of each task. Positions are those among the step's GPUs, in PCI
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceOrder {
    /// Each GPU's PCI vendor; 0 if it is on no PCI bus.
    pub vendors: Vec<u16>,
    /// Whether a task sees only its own (`:own`).
    pub only_own: bool,
    /// Whether Slurm gave the step generic resources (GRES).
    pub granted: bool,
    /// Tasks in local-id order; neighbours with the same GPUs are one entry.
    pub runs: Vec<DeviceRun>,
}

/// Successive tasks with the same GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceRun {
    /// Their GPUs; not empty.
    pub own: CpuSet,
    /// The number of these tasks.
    pub tasks: u32,
}

impl DeviceOrder {
    /// `None` where no variable lists the devices: they are no GPUs, no task has one, or there are
    /// more than [`MAX_LISTED_DEVICES`]. `granted`: Slurm gave the step generic resources.
    #[must_use]
    pub fn of(near: &Near, nearby: &Nearby, granted: bool) -> Option<Self> {
        let mut runs: Vec<DeviceRun> = Vec::new();
        let mut before = None;
        for task in &nearby.tasks {
            match runs.last_mut().filter(|_| before == Some(task.part)) {
                Some(run) => run.tasks += 1,
                None => {
                    let own = nearby.parts.get(task.part as usize)?;
                    let own = own.iter().copied().map(CpuId).collect();
                    runs.push(DeviceRun { own, tasks: 1 });
                }
            }
            before = Some(task.part);
        }
        let order = Self {
            vendors: nearby.vendors.clone(),
            only_own: near.own,
            granted,
            runs,
        };
        (near.what == What::Gpu && order.is_sound()).then_some(order)
    }

    /// Whether every task has GPUs of the step, and there are not too many of anything.
    fn is_sound(&self) -> bool {
        let count = self.vendors.len();
        let is_own = |run: &DeviceRun| {
            let highest = run.own.highest();
            run.tasks > 0 && highest.is_some_and(|highest| highest.index() < count)
        };
        count <= MAX_LISTED_DEVICES
            && self.runs.len() <= MAX_LISTED_DEVICES
            && !self.runs.is_empty()
            && self.runs.iter().all(is_own)
            && self.task_count() <= u64::from(MAX_ENTRIES)
    }

    /// The number of tasks that it is for.
    #[must_use]
    pub fn task_count(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.tasks)).sum()
    }
}

/// Why a variable that lists devices stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum DeviceNote {
    /// The user has set this variable.
    #[display(
        "--near: {_0} is set already, and berth keeps its value, so :own has no effect on it; unset {_0} before \
         srun"
    )]
    Users(&'static str),
    /// Slurm gave the step generic resources and did not set this variable.
    #[display(
        "--near: Slurm gave this step generic resources (GRES) and did not set {_0}, so berth does not know \
         their numbers and :own has no effect; ask the administrator about Flags= in gres.conf"
    )]
    NotListed(&'static str),
    /// Slurm's list does not have one entry for each device.
    #[display(
        "--near: {list} as Slurm set it does not name {}, which is what berth counts for this step, so the list \
         stays as it is; ask the administrator to compare gres.conf with `berth topo`",
        counted(*devices, "different device")
    )]
    Differs {
        /// The variable.
        list: &'static str,
        /// The step's devices.
        devices: u32,
    },
    /// The user has chosen how the vendor's library numbers devices.
    #[display(
        "--near: {name} is set, and not to {value}, so berth does not know how devices are numbered and leaves \
         {list} as it is; unset {name} or set it to {value}"
    )]
    OtherNumbers {
        /// The variable that stays.
        list: &'static str,
        /// The user's variable.
        name: &'static str,
        /// The value that makes the numbers those of PCI functions in PCI order.
        value: &'static str,
    },
    /// The user has set a variable whose numbers count the entries of the list.
    #[display(
        "--near: {name} is set, and its numbers count the entries of {list}, so berth leaves {list} as it is; \
         unset {name} before srun"
    )]
    CountsEntries {
        /// The variable that stays.
        list: &'static str,
        /// The user's variable.
        name: &'static str,
    },
    /// No variable is known for devices of this PCI vendor.
    #[display(
        "--near: berth knows no variable that lists GPUs of PCI vendor {_0:04x}, so :own has no effect on them"
    )]
    NoVariable(u16),
}

impl DeviceNote {
    /// Whether the user is to see it: a value of the user's own, and what Slurm leaves unset, matter
    /// only to one who asked for `:own`.
    pub(crate) fn is_shown(&self, only_own: bool) -> bool {
        only_own || !matches!(self, Self::Users(_) | Self::NotListed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::near::{Distance, NearTask};

    fn nearby(vendors: &[u16], parts: &[&[u32]], tasks: &[u32]) -> Nearby {
        Nearby {
            visible: (0..vendors.len() as u32).collect(),
            vendors: vendors.to_vec(),
            parts: parts.iter().map(|part| part.to_vec()).collect(),
            tasks: tasks
                .iter()
                .map(|part| NearTask {
                    part: *part,
                    distance: Distance::Apart,
                })
                .collect(),
        }
    }

    fn text(near: &str, nearby: &Nearby) -> Option<String> {
        let near = near.parse().unwrap();
        DeviceOrder::of(&near, nearby, false).map(|order| written(&order))
    }

    /// The vendors of successive GPUs, what holds, the GPUs of successive tasks.
    fn written(order: &DeviceOrder) -> String {
        let same = order.vendors.chunk_by(|one, next| one == next);
        let vendors = same.map(|same| format!("{:04x}*{}", same[0], same.len()));
        let vendors = vendors.collect::<Vec<_>>().join(",");
        let own = if order.only_own { ";own" } else { "" };
        let runs = order.runs.iter();
        let runs: String = runs
            .map(|DeviceRun { own, tasks }| format!(";{own}*{tasks}"))
            .collect();
        format!("{vendors}{own}{runs}")
    }

    #[test]
    fn tasks_with_the_same_devices_are_one_word() {
        let found = nearby(&[0x10de; 4], &[&[0, 1], &[2, 3]], &[0, 0, 1]);
        let written = |near| text(near, &found);
        assert_eq!(written("gpu").as_deref(), Some("10de*4;0-1*2;2-3*1"));
        assert_eq!(
            written("gpu:own").as_deref(),
            Some("10de*4;own;0-1*2;2-3*1")
        );
        assert_eq!(written("network:own"), None);
        let mixed = nearby(&[0x10de, 0x1002, 0x1002], &[&[0], &[1]], &[1, 0, 1]);
        assert_eq!(
            text("gpu", &mixed).as_deref(),
            Some("10de*1,1002*2;1*1;0*1;1*1")
        );
    }

    #[test]
    fn a_step_without_devices_or_with_too_many_has_no_order() {
        assert_eq!(text("gpu", &nearby(&[0x10de], &[&[0]], &[])), None);
        assert_eq!(text("gpu", &nearby(&[0x10de], &[&[]], &[0])), None);
        assert_eq!(text("gpu", &nearby(&[0x10de], &[&[1]], &[0])), None);
        let many = vec![0x10de; MAX_LISTED_DEVICES + 1];
        assert_eq!(text("gpu", &nearby(&many, &[&[0]], &[0])), None);
        let all = vec![0x10de; MAX_LISTED_DEVICES];
        assert!(text("gpu", &nearby(&all, &[&[0]], &[0])).is_some());
    }
}
