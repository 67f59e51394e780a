//! `--cpu-bind`: the level or the explicit list that a step requests, and the kinds of objects that a machine's CPUs
//! lie in. In: the lists of a launch message. Out: `CpuBind`. `berth-srun` knows how srun spells the option. Pure;
//! lists are read only here.

use std::fmt;

use strum::IntoStaticStr;

use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::parse_number;
use crate::sets::ids::CpuId;
use crate::sets::limits::MAX_CPUS;
use crate::sets::list::List;
use crate::sets::text::TextError;

/// A kind of object that tasks can be placed on or bound to. The order is by name, from wide to
/// narrow, however a machine nests them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ObjectKind {
    /// Processor chips.
    Package,
    /// Dies of a package.
    Die,
    /// Memory domains: the distinct local CPU sets of NUMA nodes. They may contain each other.
    Numa,
    /// L3 caches.
    L3,
    /// L2 caches.
    L2,
    /// L1 data caches.
    L1,
    /// Cores.
    Core,
    /// Hardware threads.
    Pu,
}

impl ObjectKind {
    /// Every kind, from wide to narrow.
    pub const ALL: [Self; 8] = [
        Self::Package,
        Self::Die,
        Self::Numa,
        Self::L3,
        Self::L2,
        Self::L1,
        Self::Core,
        Self::Pu,
    ];
}

/// Kind of object a task is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, IntoStaticStr)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[strum(serialize_all = "lowercase")]
pub enum Level {
    /// Hardware threads.
    Threads,
    /// Cores.
    Cores,
    /// The objects that Slurm calls sockets.
    Sockets,
    /// Memory locality domains (NUMA nodes).
    Ldoms,
}

/// A binding spelled out instead of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mode {
    /// `none`.
    Free,
    /// `rank`: one CPU per task in local-id order (22.05 to 24.05).
    Rank,
    /// `map_cpu`: one CPU per task; the list wraps.
    MapCpu(List<CpuId>),
    /// `mask_cpu`: one mask per task; the list wraps.
    MaskCpu(List<CpuSet>),
    /// `rank_ldom`: one domain per task in local-id order.
    RankLdom,
    /// `map_ldom`: one domain per task; the list wraps.
    MapLdom(List<u32>),
    /// `mask_ldom`: one set of domains per task; the list wraps.
    MaskLdom(List<CpuSet>),
}

/// The whole option. A mode wins over a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuBind {
    /// `threads`, `cores`, `sockets`, `ldoms`.
    pub level: Option<Level>,
    /// An explicit binding.
    pub mode: Option<Mode>,
    /// `one_thread`, which `--hint=nomultithread` sets too.
    pub one_thread: bool,
    /// `verbose`.
    pub verbose: bool,
}

impl CpuBind {
    /// Whether it leaves open what tasks are bound to. Only then a site's default `--binding` counts:
    /// a level or list in the request does, whoever put it there.
    #[must_use]
    pub fn asks_nothing(&self) -> bool {
        self.mode.is_none() && self.level.is_none()
    }

    /// Writes it as [`fmt::Display`] does.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match (&self.mode, self.level) {
            (Some(mode), _) => mode.write(out)?,
            (None, level) => out.write_str(level.map_or("auto", Level::word))?,
        }
        out.write_str(if self.one_thread { ",one_thread" } else { "" })
    }
}

impl Mode {
    /// A mode with a list; `None` for a name that takes none.
    ///
    /// # Errors
    /// [`TextError`] inside for a list that is empty or wrong.
    #[must_use]
    pub fn read(name: &str, list: &str) -> Option<Result<Self, TextError>> {
        Self::read_within(name, list, MAX_CPUS)
    }

    /// A mode with a list for a node with CPUs below `width`; `None` for a name that takes none. A mask with a CPU from
    /// `width` on is refused before memory is allocated for it. Numbers need no such bound.
    ///
    /// # Errors
    /// [`TextError`] inside for a list that is empty or wrong.
    #[must_use]
    pub fn read_within(name: &str, list: &str, width: u32) -> Option<Result<Self, TextError>> {
        let number = |text: &str| parse_id(text).filter(|id| *id < MAX_CPUS);
        let mask = |text: &str| CpuSet::from_hex_within(text, width).ok();
        let masks = |what: &str| {
            let what = match width {
                MAX_CPUS => what.into(),
                _ => format!("{what}, with CPUs below {width} on this node"),
            };
            List::read(list, &what, mask)
        };
        Some(match name {
            "map_cpu" | "mapcpu" => List::read(list, "CPU numbers such as 0,2 or 1*4", number)
                .map(|ids| Self::MapCpu(ids.map(|id| CpuId(*id)))),
            "mask_cpu" | "maskcpu" => {
                masks("CPU masks such as 0x1,0xc or 0x3*4").map(Self::MaskCpu)
            }
            "map_ldom" | "mapldom" => {
                List::read(list, "NUMA node numbers such as 0,2 or 1*4", number).map(Self::MapLdom)
            }
            "mask_ldom" | "maskldom" => {
                masks("NUMA node masks such as 0x1,0x6 or 0x3*4").map(Self::MaskLdom)
            }
            _ => return None,
        })
    }

    /// The list as task/affinity writes it (`task_cpuset_to_str`): masks have no `0x`, no
    /// leading zeros, and small digits.
    pub(crate) fn list_text(&self) -> String {
        let mut text = String::new();
        // A String takes everything.
        let _ = self.write_list(&mut text, "");
        text
    }

    /// The list as srun sends it: each repeat by itself, and before what are no masks their kind.
    #[must_use]
    pub fn as_sent(&self) -> String {
        match self {
            Self::MaskCpu(list) => Self::MaskCpu(list.iter().cloned().collect()).list_text(),
            Self::MapCpu(list) => Self::MapCpu(list.iter().copied().collect()).to_string(),
            other => other.to_string(),
        }
    }

    fn write_list(&self, out: &mut impl fmt::Write, before_mask: &str) -> fmt::Result {
        match self {
            Self::Free | Self::Rank | Self::RankLdom => Ok(()),
            Self::MapCpu(ids) => ids.write(out, |id, out| write!(out, "{id}")),
            Self::MapLdom(ids) => ids.write(out, |id, out| write!(out, "{id}")),
            Self::MaskCpu(masks) | Self::MaskLdom(masks) => masks.write(out, |mask, mut out| {
                out.write_str(before_mask)?;
                mask.write_short(&mut out)
            }),
        }
    }

    fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str(self.word())?;
        if matches!(self, Self::Free | Self::Rank | Self::RankLdom) {
            return Ok(());
        }
        out.write_str(":")?;
        self.write_list(out, "0x")
    }

    /// The word that users know.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Free => "none",
            Self::Rank => "rank",
            Self::MapCpu(_) => "map_cpu",
            Self::MaskCpu(_) => "mask_cpu",
            Self::RankLdom => "rank_ldom",
            Self::MapLdom(_) => "map_ldom",
            Self::MaskLdom(_) => "mask_ldom",
        }
    }
}

/// Decimal, or hexadecimal with `0x` as slurmstepd takes it (`get_cpuset`).
pub(crate) fn parse_id(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None => parse_number(text),
    }
}

impl Level {
    /// The word that users know.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Display for CpuBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}
