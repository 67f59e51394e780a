//! Notes on a `--near` for the user of a step that runs.

use derive_more::Display;

use crate::sets::count::{counted, either};

/// Something the user should know about a `--near`.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum NearNote {
    /// Some tasks have cores that are not next to their devices.
    #[display(
        "--near={near}: {} cores that are not next to {} device ({of}), because this step has too few there; \
         use fewer tasks, or let it have the whole node (--exclusive for the job, and no -c)",
        getting(*task, *count),
        either(count, "its", "their")
    )]
    NotNear {
        /// The `--near` value.
        near: String,
        /// The first of them, by its number on this node.
        task: u32,
        /// The number of tasks with such cores.
        count: u32,
        /// The first one's devices.
        of: String,
    },
    /// hwloc knows no place for these devices.
    #[display(
        "hwloc does not know which cores are next to {_0}; tasks with these devices share all cores; ask the \
         administrator to look at `berth topo`"
    )]
    NoPlaceKnown(String),
    /// An `:own` for devices that no variable lists.
    #[display(
        "--near={_0}: only GPUs that --near=gpu names are listed in variables, so :own changes nothing here; \
         leave it out"
    )]
    OwnOfOthers(String),
    /// Slurm counts other devices than hwloc.
    #[display(
        "--near={near}: Slurm counts {} on this node, and this machine has {found}; devices are matched in PCI \
         order; ask the administrator to compare gres.conf with `berth topo`",
        counted(*slurms, "such device")
    )]
    DevicesDiffer {
        /// The `--near` value.
        near: String,
        /// Slurm's count.
        slurms: u32,
        /// hwloc's.
        found: u32,
    },
    /// The tasks request more devices than the step has, so some have the same.
    #[display(
        "--near={near}: the {tasks} tasks on this node request {} devices, and this step has {found}, so some \
         tasks share devices; use a smaller number, or leave it out to divide them evenly",
        u64::from(*tasks) * u64::from(*each)
    )]
    DevicesShared {
        /// The `--near` value.
        near: String,
        /// Tasks on this node.
        tasks: u32,
        /// Devices that each requests.
        each: u32,
        /// Devices of the step.
        found: u32,
    },
    /// Slurm binds fewer devices to some tasks than requested for each.
    #[display(
        "--near={near}: Slurm binds {} to task {task} on this node, which is fewer; the tasks are placed next \
         to those that Slurm binds to them; change --gpus-per-task or --tres-bind, or leave the number out",
        counted(*bound, "such device")
    )]
    FewerBound {
        /// The `--near` value.
        near: String,
        /// The first of them, by its number on this node.
        task: u32,
        /// That task's devices.
        bound: u32,
    },
}

fn getting(task: u32, count: u32) -> String {
    match count {
        1 => format!("task {task} on this node gets"),
        _ => format!("{count} tasks on this node, the first of them task {task}, get"),
    }
}
