//! Notes on the variables that list a task's devices, for the user of a `--near=gpu`.

use derive_more::Display;

use crate::sets::count::counted;

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
