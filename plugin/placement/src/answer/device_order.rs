//! The order in which each task of a `--near=gpu` is to see the step's GPUs: its own first.
//! In: the request, each task's devices. Out: a [`DeviceOrder`], and a text that travels from slurmd
//! to slurmstepd. Pure.

use std::fmt;
use std::str::FromStr;

use derive_more::Display;

use crate::answer::near::Nearby;
use crate::request::near::{Near, What};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::parse_number;
use crate::sets::ids::CpuId;
use crate::sets::limits::{MAX_ENTRIES, MAX_LISTED_DEVICES};
use crate::sets::text::{TextError, counted};

const OWN: &str = "own";
const GRANTED: &str = "granted";

/// The GPUs of a step, and those of each task. Positions are those among the step's GPUs, in PCI
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceOrder {
    /// Each GPU's PCI vendor; 0 if it is on no PCI bus.
    pub(crate) vendors: Vec<u16>,
    /// Whether a task sees only its own (`:own`).
    pub(crate) only_own: bool,
    /// Whether Slurm gave the step generic resources (GRES).
    pub(crate) granted: bool,
    /// Tasks in local-id order; neighbours with the same GPUs are one entry.
    pub(crate) runs: Vec<Run>,
}

/// Successive tasks with the same GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Run {
    /// Their GPUs; not empty.
    pub(crate) own: CpuSet,
    /// The number of these tasks.
    pub(crate) tasks: u32,
}

impl DeviceOrder {
    /// `None` where no variable lists the devices: they are no GPUs, no task has one, or there are
    /// more than [`MAX_LISTED_DEVICES`]. `granted`: Slurm gave the step generic resources.
    #[must_use]
    pub fn of(near: &Near, nearby: &Nearby, granted: bool) -> Option<Self> {
        let mut runs: Vec<Run> = Vec::new();
        let mut before = None;
        for task in &nearby.tasks {
            match runs.last_mut().filter(|_| before == Some(task.part)) {
                Some(run) => run.tasks += 1,
                None => {
                    let own = nearby.parts.get(task.part as usize)?;
                    let own = own.iter().copied().map(CpuId).collect();
                    runs.push(Run { own, tasks: 1 });
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
        let is_own = |run: &Run| {
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

/// `10de*4;own;granted;0-1*2;2-3*1`: the vendors of successive GPUs, what holds, the GPUs of
/// successive tasks.
impl fmt::Display for DeviceOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = self.vendors.chunk_by(|one, next| one == next);
        for (at, vendors) in same.enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let vendor = vendors.first().copied().unwrap_or_default();
            write!(f, "{comma}{vendor:04x}*{}", vendors.len())?;
        }
        for (word, holds) in [(OWN, self.only_own), (GRANTED, self.granted)] {
            if holds {
                write!(f, ";{word}")?;
            }
        }
        for Run { own, tasks } in &self.runs {
            write!(f, ";{own}*{tasks}")?;
        }
        Ok(())
    }
}

impl FromStr for DeviceOrder {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        read(text).ok_or_else(|| TextError::new(text, "each task's GPUs"))
    }
}

fn read(text: &str) -> Option<DeviceOrder> {
    let mut words = text.split(';').peekable();
    let mut vendors = Vec::new();
    for same in words.next()?.split(',') {
        let (vendor, count) = same.split_once('*')?;
        let is_hex = vendor.len() == 4 && vendor.bytes().all(|digit| digit.is_ascii_hexdigit());
        let vendor = u16::from_str_radix(vendor, 16).ok().filter(|_| is_hex)?;
        let count = parse_number(count).filter(|count| *count > 0)? as usize;
        if vendors.len() + count > MAX_LISTED_DEVICES {
            return None;
        }
        vendors.extend(std::iter::repeat_n(vendor, count));
    }
    let only_own = words.next_if_eq(&OWN).is_some();
    let granted = words.next_if_eq(&GRANTED).is_some();
    let run = |word: &str| {
        let (own, tasks) = word.split_once('*')?;
        Some(Run {
            own: CpuSet::from_list(own).ok()?,
            tasks: parse_number(tasks)?,
        })
    };
    let runs = words.take(MAX_LISTED_DEVICES + 1).map(run);
    let order = DeviceOrder {
        vendors,
        only_own,
        granted,
        runs: runs.collect::<Option<_>>()?,
    };
    order.is_sound().then_some(order)
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
        DeviceOrder::of(&near, nearby, false).map(|order| order.to_string())
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

    #[test]
    fn it_reads_as_it_was_written() {
        for text in [
            "10de*4;0-1*2;2-3*1",
            "10de*4,1002*2,0000*1;own;granted;0,6*65535",
            "8086*1;granted;0*1",
        ] {
            let order: DeviceOrder = text.parse().unwrap();
            assert_eq!(order.to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_not_read() {
        for text in [
            "",
            "10de",
            "10de*4",
            "10de*0;0*1",
            "10de*4;0*0",
            "10de*4;4*1",
            "10de*4;*1",
            "10de*4;granted;own;0*1",
            "10de*4;0*1;",
            "10de*129;0*1",
            "10de*4294967295,10de*4294967295;0*1",
            "+0de*4;0*1",
            "10de*4;0-4294967295*1",
            "10de*4;0*65536;1*65536",
            &format!("10de*4{}", ";0*1".repeat(MAX_LISTED_DEVICES + 1)),
        ] {
            assert!(text.parse::<DeviceOrder>().is_err(), "{text}");
        }
    }
}
