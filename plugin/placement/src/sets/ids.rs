//! The numbers of this domain; each has its own type.
//! Logical indexes count in topology order; OS numbers are the kernel's.
//! Mixing them puts a task on the wrong CPU without any error.

use std::fmt;

/// A number of one kind, as a member of a set.
pub trait Number: Copy {
    /// The plain number.
    fn number(self) -> u32;
    /// The one with this number.
    fn of(number: u32) -> Self;
}

impl Number for u32 {
    fn number(self) -> u32 {
        self
    }

    fn of(number: u32) -> Self {
        number
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub u32);

        impl $name {
            /// The number as a position in a table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Number for $name {
            fn number(self) -> u32 {
                self.0
            }

            fn of(number: u32) -> Self {
                Self(number)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// The kernel's number of a hardware thread (hwloc `P#`, Slurm "machine CPU").
    CpuId
);
number!(
    /// The kernel's number of a NUMA node.
    NumaId
);
number!(
    /// Place of a hardware thread in topology order (Slurm "abstract CPU").
    PuIdx
);
number!(
    /// Place of a core in topology order: the bit a credential uses for it.
    CoreIdx
);
number!(
    /// A task's number on this host, from 0 (Slurm `node_tid`).
    LocalId
);
