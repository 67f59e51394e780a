//! Order in which successive tasks take objects: `-m NODES:SOCKETS:CORES`.
//! In: the option's text, or the words Slurm's bits stand for. Out: the order inside the host.
//! Pure.

use std::fmt;
use std::str::FromStr;

use crate::sets::error::TextError;

/// First level: which tasks go to which host. slurmctld decides it; here it
/// only shapes the default inside the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcrossHosts {
    /// Fill a host, then the next.
    Block,
    /// One task a host in turn.
    Cyclic,
    /// As a list of hosts says.
    Arbitrary,
    /// So many tasks a turn; blocks inside the host.
    Plane,
    /// Not given.
    #[default]
    Unknown,
}

/// Order of the second level (sockets) and third level (cores).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Fill an object, then the next.
    Block,
    /// The next task on the next object; one task's CPUs stay together.
    Cyclic,
    /// The next CPU on the next object, also within a task.
    Fcyclic,
}

/// A whole `-m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// First level.
    pub hosts: AcrossHosts,
    /// Second level; `None` is the default (`*`).
    pub sockets: Option<Order>,
    /// Third level; `None` follows the second.
    pub cores: Option<Order>,
    /// Tasks of a plane, where the first level is one and its size is known.
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

impl FromStr for Distribution {
    type Err = TextError;

    /// srun's spelling: `block`, `cyclic:block`, `*:fcyclic`, `plane=4`,
    /// `arbitrary`, each with `,Pack` or `,NoPack`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = |part: &str| {
            TextError::new(
                part,
                "a distribution: block|cyclic|arbitrary|plane=N|*, then :block|cyclic|fcyclic|* \
                 for sockets and again for cores",
            )
        };
        let (levels, pack) = match text.split_once(',') {
            None => (text, None),
            Some((levels, word)) => (levels, Some(packing(word).ok_or_else(|| wrong(word))?)),
        };
        let mut parts = levels.split(':');
        let first = parts.next().unwrap_or_default();
        let (hosts, plane_size) = across_hosts(first).ok_or_else(|| wrong(levels))?;
        let mut level = || {
            parts
                .next()
                .map_or(Ok(None), |part| order(part).ok_or_else(|| wrong(part)))
        };
        let (sockets, cores) = (level()?, level()?);
        if parts.next().is_some() || (hosts == AcrossHosts::Plane && sockets.is_some()) {
            return Err(wrong(levels));
        }
        Ok(Self {
            hosts,
            sockets,
            cores,
            plane_size,
            pack,
        })
    }
}

/// The first level, and the size of its plane.
fn across_hosts(text: &str) -> Option<(AcrossHosts, Option<u32>)> {
    let text = text.to_ascii_lowercase();
    if let Some(size) = text.strip_prefix("plane=") {
        let size = crate::sets::cpuset_text::parse_number(size)?;
        return (size > 0).then_some((AcrossHosts::Plane, Some(size)));
    }
    let hosts = match text.as_str() {
        "block" => AcrossHosts::Block,
        "cyclic" => AcrossHosts::Cyclic,
        "arbitrary" => AcrossHosts::Arbitrary,
        "*" => AcrossHosts::Unknown,
        _ => return None,
    };
    Some((hosts, None))
}

fn packing(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "pack" => Some(true),
        "nopack" => Some(false),
        _ => None,
    }
}

/// `Some(None)` is the explicit default.
fn order(text: &str) -> Option<Option<Order>> {
    Some(match text.to_ascii_lowercase().as_str() {
        "block" => Some(Order::Block),
        "cyclic" => Some(Order::Cyclic),
        "fcyclic" => Some(Order::Fcyclic),
        "*" => None,
        _ => return None,
    })
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Block => "block",
            Self::Cyclic => "cyclic",
            Self::Fcyclic => "fcyclic",
        })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.hosts {
            AcrossHosts::Block => "block",
            AcrossHosts::Cyclic => "cyclic",
            AcrossHosts::Arbitrary => "arbitrary",
            AcrossHosts::Plane => "plane",
            AcrossHosts::Unknown => "*",
        })?;
        if let Some(size) = self.plane_size {
            write!(f, "={size}")?;
        }
        match (self.sockets, self.cores) {
            (None, None) => {}
            (Some(sockets), None) => write!(f, ":{sockets}")?,
            (None, Some(cores)) => write!(f, ":*:{cores}")?,
            (Some(sockets), Some(cores)) => write!(f, ":{sockets}:{cores}")?,
        }
        match self.pack {
            None => Ok(()),
            Some(true) => f.write_str(",Pack"),
            Some(false) => f.write_str(",NoPack"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_inside_the_host() {
        //    -m                block by default?  order
        for (text, by_default, order) in [
            ("block", false, Order::Cyclic),
            ("block", true, Order::Block),
            ("cyclic", true, Order::Block),
            ("*", true, Order::Block),
            ("arbitrary", false, Order::Cyclic),
            ("block:block", false, Order::Block),
            ("cyclic:block", false, Order::Block),
            ("block:cyclic", true, Order::Cyclic),
            ("block:fcyclic", true, Order::Fcyclic),
            ("cyclic:fcyclic:cyclic", false, Order::Fcyclic),
            ("plane=4", false, Order::Block),
            ("block:cyclic,NoPack", false, Order::Cyclic),
            ("arbitrary:block", false, Order::Cyclic),
        ] {
            let read: Distribution = text.parse().unwrap();
            assert_eq!(read.order(by_default), order, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "bloc",
            "plane",
            "plane=0",
            "plane=2:block",
            "block:",
            "block:x",
            "block:block:block:block",
            "block,Packed",
            "fcyclic",
        ] {
            assert!(text.parse::<Distribution>().is_err(), "{text:?} was taken");
        }
    }
}
