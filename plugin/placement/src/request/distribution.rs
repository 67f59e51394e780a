//! Order in which successive tasks take objects: `-m NODES:SOCKETS:CORES`.
//! In: the meaning of srun's option or of Slurm's bits. Out: the order inside the host. `berth-srun`
//! knows how srun spells it.
//! Pure.

use std::fmt;

use strum::IntoStaticStr;

use crate::sets::text::write_number;

/// First level: which tasks go to which host. slurmctld decides it; here it
/// only shapes the default inside the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[strum(serialize_all = "lowercase")]
pub enum AcrossHosts {
    /// Fill a host, then the next.
    Block,
    /// Each host gets one task in turn.
    Cyclic,
    /// A list of hosts names the host of each task.
    Arbitrary,
    /// Each host gets a number of tasks in turn; inside the host they are laid out in blocks.
    Plane,
    /// The request does not give it.
    #[default]
    #[strum(serialize = "*")]
    Unknown,
}

/// Order of the second level (sockets) and third level (cores).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, IntoStaticStr)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[strum(serialize_all = "lowercase")]
pub enum Order {
    /// One object is filled, then the next.
    Block,
    /// The next task goes to the next object; one task's CPUs stay together.
    Cyclic,
    /// The next CPU comes from the next object, also within a task.
    Fcyclic,
}

/// A whole `-m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Distribution {
    /// First level.
    pub hosts: AcrossHosts,
    /// Second level; `None` is the default (`*`).
    pub sockets: Option<Order>,
    /// Third level; `None` orders no threads within cores.
    pub cores: Option<Order>,
    /// Tasks of a plane, if the first level is a plane and its size is known.
    pub plane_size: Option<u32>,
    /// `,Pack` or `,NoPack`: whether nodes are filled one after the other.
    pub pack: Option<bool>,
}

impl Distribution {
    /// The order of tasks over the sockets of this host.
    ///
    /// Source: `lllp_distribution`. A plane is laid out in blocks; a plain first
    /// level means cyclic unless the site chose `CR_CORE_DEFAULT_DIST_BLOCK`;
    /// any second level beside arbitrary means cyclic.
    #[must_use]
    pub fn order(&self, block_by_default: bool) -> Order {
        use AcrossHosts::{Arbitrary, Block, Cyclic, Plane, Unknown};
        match (self.hosts, self.sockets) {
            (Plane, None) | (Block | Cyclic, Some(Order::Block)) => Order::Block,
            (Block | Cyclic, Some(Order::Fcyclic)) => Order::Fcyclic,
            (Block | Cyclic | Arbitrary | Unknown, None) if block_by_default => Order::Block,
            _ => Order::Cyclic,
        }
    }
}

impl Order {
    /// The word that users know.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Distribution {
    /// Writes it as [`fmt::Display`] does.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let pack = self.pack.map(|pack| if pack { "Pack" } else { "NoPack" });
        // srun spells it so if nothing else is requested.
        if let (AcrossHosts::Unknown, None, Some(pack)) = (self.hosts, self.sockets, pack) {
            return out.write_str(pack);
        }
        out.write_str(self.hosts.into())?;
        if let Some(size) = self.plane_size {
            out.write_str("=")?;
            write_number(out, size)?;
        }
        let levels = match (self.sockets, self.cores) {
            (None, None) => [None, None],
            (sockets, None) => [sockets.map(Order::word), None],
            (sockets, Some(cores)) => [Some(sockets.map_or("*", Order::word)), Some(cores.word())],
        };
        for level in levels.into_iter().flatten() {
            out.write_str(":")?;
            out.write_str(level)?;
        }
        pack.map_or(Ok(()), |pack| {
            out.write_str(",")?;
            out.write_str(pack)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_inside_the_host() {
        use AcrossHosts::{Arbitrary, Block as Blocks, Cyclic as Turns, Plane, Unknown};
        use Order::{Block, Cyclic, Fcyclic};
        //    -m                      block by default?  order
        for (hosts, sockets, by_default, order) in [
            (Blocks, None, false, Cyclic),
            (Blocks, None, true, Block),
            (Turns, None, true, Block),
            (Unknown, None, true, Block),
            (Arbitrary, None, false, Cyclic),
            (Blocks, Some(Block), false, Block),
            (Turns, Some(Block), false, Block),
            (Blocks, Some(Cyclic), true, Cyclic),
            (Blocks, Some(Fcyclic), true, Fcyclic),
            (Turns, Some(Fcyclic), false, Fcyclic),
            (Plane, None, false, Block),
            (Arbitrary, Some(Block), false, Cyclic),
        ] {
            let requested = Distribution {
                hosts,
                sockets,
                ..Distribution::default()
            };
            assert_eq!(requested.order(by_default), order, "{requested}");
        }
    }
}
