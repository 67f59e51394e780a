//! The attributes behind `CPUSET_OPTIONS=`. Pure data.

use std::fmt;

use strum::{Display, IntoStaticStr, VariantArray};

/// An attribute of a cpuset; they are written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE", prefix = "CPUSET_")]
pub enum Attribute {
    /// No other cpuset and no `--binding` gets these CPUs.
    CpuExclusive,
    /// Memory comes from the cpuset's own nodes first.
    MemoryLocal,
    /// Later cpusets and memory bindings avoid its nodes where they can.
    MemoryExclusive,
    /// The kernel's own memory should come from elsewhere. Linux has no such thing.
    MemoryKernelAvoid,
    /// Memory comes from the cpuset's nodes and from no others.
    MemoryMandatory,
    /// A full node pages to swap.
    PolicyPage,
    /// A full node does not page to swap.
    PolicyKill,
}

/// A set of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attributes(u8);

impl Attributes {
    /// Whether an attribute is a member.
    #[must_use]
    pub fn has(self, attribute: Attribute) -> bool {
        self.0 & 1 << attribute as u8 != 0
    }

    /// This set with one more attribute.
    #[must_use]
    pub fn with(self, attribute: Attribute) -> Self {
        Self(self.0 | 1 << attribute as u8)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in order.
    pub fn iter(self) -> impl Iterator<Item = Attribute> {
        let all = Attribute::VARIANTS.iter().copied();
        all.filter(move |attribute| self.has(*attribute))
    }
}

/// Joined by `|`.
impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attribute) in self.iter().enumerate() {
            f.write_str(if at > 0 { "|" } else { "" })?;
            attribute.fmt(f)?;
        }
        Ok(())
    }
}
