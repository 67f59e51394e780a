//! Open MPI's mapping language: `--map-by`, `--rank-by` and `--bind-to`, as far as it concerns one
//! node. In: the three texts. Out: [`Mapping`], or an error that marks the wrong part. Pure.
//!
//! The reference is the mapper of PRRTE 5.0: what it does, and not what its documentation says.

mod read;
mod words;

use std::fmt;
use std::ops::RangeInclusive;

use derive_more::Display;

use crate::request::cpu_bind::ObjectKind;
use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{MAX_CPUS, MAX_ENTRIES};
use crate::sets::text::write_ranges;

pub use read::MappingTexts;
pub use words::{MappingError, level_word};

/// The request of `--map-by`, `--rank-by` and `--bind-to` together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mapping {
    /// `--map-by`; `None` if it is not given.
    pub map: Option<MapBy>,
    /// `--rank-by`.
    pub rank: Option<RankBy>,
    /// `--bind-to`.
    pub bind: Option<BindTo>,
}

/// `--map-by`: what each task is placed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MapBy {
    /// The objects on which tasks are placed; `None` if only qualifiers are given.
    pub target: Option<Target>,
    /// `pe=N`: CPUs of each task.
    pub each: Option<u32>,
    /// `hwtcpus`: a CPU is a hardware thread, and not a core.
    pub threads: bool,
    /// `span`.
    pub span: bool,
}

/// The objects on which tasks are placed.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Target {
    /// The whole share, one task after the other.
    #[display("slot")]
    Slot,
    /// The share on one node, one task after the other. On each node this is [`Self::Slot`].
    #[display("node")]
    Node,
    /// The objects of a kind, round and round.
    #[display("{}", level_word(*_0))]
    Level(ObjectKind),
    /// `ppr:N:LEVEL`: N tasks on each object of a kind; without a kind on the node.
    #[display("ppr:{count}:{}", of.map_or("node", level_word))]
    PerObject {
        /// N.
        count: u32,
        /// The kind; `None` is `node`.
        of: Option<ObjectKind>,
    },
    /// `pe-list=LIST`: CPUs by logical number.
    #[display("pe-list={list}{}", if *ordered { ":ordered" } else { "" })]
    List {
        /// The numbers.
        list: PeList,
        /// `ordered`: one entry for each task.
        ordered: bool,
    },
}

/// `--rank-by`: which task gets which place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RankBy {
    /// In the order of mapping.
    #[display("slot")]
    Slot,
    /// In the order of mapping within one node. On each node this is [`Self::Slot`].
    #[display("node")]
    Node,
    /// All places of the first object, then those of the second.
    #[display("fill")]
    Fill,
    /// The first place of each object, then the second of each.
    #[display("span")]
    Span,
}

/// `--bind-to`: what each task is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BindTo {
    /// The kind of object; `None` if only qualifiers are given.
    pub level: Option<BindLevel>,
    /// `limit=N`: tasks on one object.
    pub limit: Option<u32>,
    /// `if-supported`.
    pub if_supported: bool,
    /// `overload-allowed`.
    pub overload: bool,
}

/// The objects to which tasks are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BindLevel {
    /// Nothing.
    Nothing,
    /// Objects of a kind.
    Object(ObjectKind),
}

impl Mapping {
    /// Whether tasks are placed on CPUs, wherever these are, and not on larger objects.
    #[must_use]
    pub fn is_by_cpu(&self) -> bool {
        matches!(
            self.target(),
            Target::Slot | Target::Level(ObjectKind::Core)
        )
    }

    /// The objects on which tasks are placed, also where `--map-by` does not say it: those to which they are bound, the
    /// whole share beside `pe=`, and cores otherwise.
    #[must_use]
    pub fn target(&self) -> Target {
        let map = self.map.as_ref();
        if let Some(target) = map.and_then(|map| map.target.clone()) {
            return target;
        }
        if self.each().is_some() {
            return Target::Slot;
        }
        match self.bind.as_ref().and_then(|bind| bind.level) {
            Some(BindLevel::Nothing) => Target::Slot,
            Some(BindLevel::Object(kind)) => Target::Level(kind),
            None => Target::Level(ObjectKind::Core),
        }
    }

    /// `pe=N`.
    #[must_use]
    pub fn each(&self) -> Option<u32> {
        self.map.as_ref().and_then(|map| map.each)
    }

    /// Whether `pe=N` counts hardware threads: beside several CPUs `--bind-to` says which.
    #[must_use]
    pub fn takes_threads(&self) -> bool {
        let several = self.each().is_some_and(|each| each > 1)
            || matches!(self.target(), Target::List { ordered: true, .. });
        match self.bind.as_ref().and_then(|bind| bind.level) {
            Some(BindLevel::Object(ObjectKind::Pu)) if several => true,
            Some(BindLevel::Object(ObjectKind::Core)) if several => false,
            _ => self.counts_threads(),
        }
    }

    /// Whether a CPU is a hardware thread where tasks are placed.
    #[must_use]
    pub fn counts_threads(&self) -> bool {
        let is_written = self.map.as_ref().is_some_and(|map| map.threads);
        is_written || self.target().kind() == Some(ObjectKind::Pu)
    }
}

impl Target {
    /// The kind of object that tasks are placed on, if it is one.
    #[must_use]
    pub fn kind(&self) -> Option<ObjectKind> {
        match self {
            Self::Level(kind) => Some(*kind),
            Self::PerObject { of, .. } => *of,
            Self::Slot | Self::Node | Self::List { .. } => None,
        }
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut blank = "";
        if let Some(map) = &self.map {
            write!(f, "--map-by={map}")?;
            blank = " ";
        }
        if let Some(rank) = &self.rank {
            write!(f, "{blank}--rank-by={rank}")?;
            blank = " ";
        }
        match &self.bind {
            Some(bind) => write!(f, "{blank}--bind-to={bind}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for MapBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(target) = &self.target {
            target.fmt(f)?;
        }
        if let Some(each) = self.each {
            write!(f, ":pe={each}")?;
        }
        f.write_str(if self.threads { ":hwtcpus" } else { "" })?;
        f.write_str(if self.span { ":span" } else { "" })
    }
}

impl fmt::Display for BindTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(BindLevel::Nothing) => f.write_str("none")?,
            Some(BindLevel::Object(kind)) => f.write_str(level_word(kind))?,
            // An empty text is none.
            None if *self == Self::default() => f.write_str(":no-overload")?,
            None => {}
        }
        if let Some(limit) = self.limit {
            write!(f, ":limit={limit}")?;
        }
        f.write_str(if self.if_supported {
            ":if-supported"
        } else {
            ""
        })?;
        f.write_str(if self.overload {
            ":overload-allowed"
        } else {
            ""
        })
    }
}

/// Logical CPU numbers in the order in which they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PeList(Vec<RangeInclusive<u32>>);

impl PeList {
    /// Reads numbers and ranges. The error is the wrong part, and what is expected there.
    fn read(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut ranges = Vec::new();
        let mut at = 0;
        let mut entries = 0_u64;
        for part in text.split(',') {
            let range = range(part).map_err(|what| (at, what))?;
            entries += u64::from(range.end() - range.start()) + 1;
            if entries > u64::from(MAX_ENTRIES) {
                return Err((at, "at most 65536 numbers"));
            }
            ranges.push(range);
            at += part.len() + 1;
        }
        Ok(Self(ranges))
    }

    /// The numbers, one after the other.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// The number of entries, with each number of a range counted.
    #[must_use]
    pub fn len(&self) -> usize {
        let length = |range: &RangeInclusive<u32>| (range.end() - range.start()) as usize + 1;
        self.0.iter().map(length).sum()
    }

    /// Whether it has no number; what was read always has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A number or a range; the error is what is expected instead.
fn range(text: &str) -> Result<RangeInclusive<u32>, &'static str> {
    let number = |text| {
        let number = parse_number(text).filter(|number| *number < MAX_CPUS);
        number.ok_or("a CPU number or a range such as 0-3")
    };
    let Some((first, last)) = text.split_once('-') else {
        return number(text).map(|number| number..=number);
    };
    let (first, last) = (number(first)?, number(last)?);
    match first <= last {
        true => Ok(first..=last),
        false => Err("a range whose first number is not above its last, such as 1-3,"),
    }
}

impl fmt::Display for PeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.0.iter();
        write_ranges(f, ranges.map(|range| (*range.start(), *range.end())))
    }
}
