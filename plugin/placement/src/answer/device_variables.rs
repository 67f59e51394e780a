//! The variables by which the libraries of GPU vendors list a task's devices: all visible ones, the
//! task's own first, which keeps copies between devices working; with `:own` only its own.
//! In: a [`DeviceOrder`], the step's environment. Out: each task's variables, and notes. Pure.
//!
//! - A list that Slurm wrote for the step's GRES keeps its entries: its i-th entry is the step's i-th
//!   device, and only the order changes. (`gres_g_step_set_env` writes it before berth's first hook in
//!   slurmstepd; where Slurm binds GRES to tasks, `gres_g_task_set_env` writes each task's after
//!   berth's last one, and no [`DeviceOrder`] is made.)
//! - A list that the user wrote stays: it is an explicit wish.
//! - Otherwise the list has numbers in PCI order, and what makes the vendor's library count so is set
//!   too. Where the user has set that to something else, berth does not know the numbers.
//! - Intel's library shows devices in its own order, so its list is written only with `:own`.

use crate::answer::device_order::{DeviceNote, DeviceOrder, DeviceRun};
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;

/// The variables of a vendor.
struct Vendor {
    /// PCI number.
    id: u16,
    /// The list of devices.
    list: &'static str,
    /// The variables that make the numbers in that list those of PCI functions, in PCI order.
    numbers: &'static [(&'static str, &'static str)],
    /// Whether the library shows the devices in the order of the list.
    is_ordered: bool,
    /// Variables whose numbers count the entries of the list, so that a user's own value would get
    /// another meaning with another order. Slurm's own, for the step's GRES, name all entries.
    counts: &'static [&'static str],
}

/// CUDA counts the fastest device first otherwise. Level Zero may count tiles and in any order, and it
/// shows devices in its own order whatever the list's is, so only a list of a task's own has an effect.
/// Source: the programming guide of Level Zero, section on affinity masks.
const VENDORS: [Vendor; 3] = [
    Vendor {
        id: 0x10de,
        list: "CUDA_VISIBLE_DEVICES",
        numbers: &[("CUDA_DEVICE_ORDER", "PCI_BUS_ID")],
        is_ordered: true,
        counts: &[],
    },
    Vendor {
        id: 0x1002,
        list: "ROCR_VISIBLE_DEVICES",
        numbers: &[],
        is_ordered: true,
        counts: &[
            "HIP_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES",
            "GPU_DEVICE_ORDINAL",
        ],
    },
    Vendor {
        id: 0x8086,
        list: "ZE_AFFINITY_MASK",
        numbers: &[
            ("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"),
            ("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"),
        ],
        is_ordered: false,
        counts: &[],
    },
];

/// gres/gpu sets it with the list of a step that has GPUs, and removes it from all others.
/// Source: `gres_common_gpu_set_env`.
const STEP_GPUS: &str = "SLURM_STEP_GPUS";

/// Names and values.
pub type Entries = Vec<(&'static str, String)>;

/// Each task's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceVariables {
    /// Those of successive tasks with the same devices, and how many tasks these are. All have the
    /// same names.
    pub runs: Vec<(u32, Entries)>,
    /// The variables with every visible device in PCI order: no task's are longer.
    pub all: Entries,
    /// Notes to the user.
    pub notes: Vec<DeviceNote>,
}

/// Every variable that berth may write.
pub fn names() -> impl Iterator<Item = &'static str> {
    let of = |vendor: &'static Vendor| {
        let numbers = vendor.numbers.iter().map(|(name, _)| *name);
        [vendor.list].into_iter().chain(numbers)
    };
    VENDORS.iter().flat_map(of)
}

impl DeviceVariables {
    /// `given`: a variable's value in the step's environment, after Slurm has set its own; an empty
    /// text if it is too long to be read.
    #[must_use]
    pub fn of(order: &DeviceOrder, given: impl Fn(&str) -> Option<String>) -> Self {
        let (mut notes, mut lists) = (Vec::new(), Vec::new());
        let has_effect = |own: &&Vendor| own.is_ordered || order.only_own;
        let is_here = |own: &&Vendor| order.vendors.contains(&own.id);
        for vendor in VENDORS.iter().filter(is_here).filter(has_effect) {
            match vendor.entries(order, &given) {
                Ok(entries) => lists.push(List {
                    name: vendor.list,
                    entries,
                    numbers: vendor.missing(&given),
                }),
                Err(why) => notes.extend(Some(why).filter(|why| why.is_shown(order.only_own))),
            }
        }
        let unknown = |id: &&u16| VENDORS.iter().all(|vendor| vendor.id != **id);
        let unknown = order
            .vendors
            .iter()
            .find(unknown)
            .filter(|_| order.only_own);
        notes.extend(unknown.map(|id| DeviceNote::NoVariable(*id)));
        if lists.is_empty() {
            return Self {
                notes,
                ..Self::default()
            };
        }
        let entries = |own: &CpuSet, others: bool| -> Entries {
            let of = |list: &List| list.variables(own, others);
            lists.iter().flat_map(of).collect()
        };
        let run = |run: &DeviceRun| (run.tasks, entries(&run.own, !order.only_own));
        Self {
            runs: order.runs.iter().map(run).collect(),
            all: entries(&CpuSet::new(), true),
            notes,
        }
    }
}

/// A list of devices that is written.
struct List {
    name: &'static str,
    /// The entry of each visible device; `None` for those of other vendors.
    entries: Vec<Option<String>>,
    /// The variables that make its numbers those of PCI functions, if they are not set yet.
    numbers: Vec<(&'static str, &'static str)>,
}

impl List {
    /// The variables of tasks that have some of the devices: these first, then the others if the
    /// tasks see them.
    fn variables(&self, own: &CpuSet, others: bool) -> Entries {
        let all = || (0..).map(CpuId).zip(&self.entries);
        let first = all().filter(|(at, _)| own.contains(*at));
        let then = all().filter(|(at, _)| others && !own.contains(*at));
        let order = first.chain(then).filter_map(|(_, entry)| entry.as_deref());
        let list = order.collect::<Vec<_>>().join(",");
        let numbers = self.numbers.iter();
        let numbers = numbers.map(|(name, value)| (*name, (*value).to_owned()));
        [(self.name, list)].into_iter().chain(numbers).collect()
    }
}

impl Vendor {
    /// The entry of each visible device in the list; `None` for those of other vendors.
    ///
    /// # Errors
    /// Why the variable stays as it is.
    fn entries(
        &self,
        order: &DeviceOrder,
        given: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Option<String>>, DeviceNote> {
        let list = self.list;
        let is_slurms = order.granted && given(STEP_GPUS).is_some();
        let entries = match given(list) {
            None if order.granted => return Err(DeviceNote::NotListed(list)),
            None => self.numbered(order),
            Some(_) if !is_slurms => return Err(DeviceNote::Users(list)),
            Some(text) => slurms(&text, order.vendors.len()).ok_or(DeviceNote::Differs {
                list,
                devices: order.vendors.len() as u32,
            })?,
        };
        let differs = |(name, value): &&(&str, &str)| given(name).is_some_and(|is| is != *value);
        if let Some((name, value)) = self.numbers.iter().find(differs) {
            return Err(DeviceNote::OtherNumbers { list, name, value });
        }
        let mut counts = self.counts.iter().filter(|_| !is_slurms);
        match counts.find(|name| given(name).is_some()) {
            Some(name) => Err(DeviceNote::CountsEntries { list, name }),
            None => Ok(entries),
        }
    }

    /// The variables that make its numbers those of PCI functions and are not set yet.
    fn missing(&self, given: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, &'static str)> {
        let numbers = self.numbers.iter().copied();
        numbers.filter(|(name, _)| given(name).is_none()).collect()
    }

    /// This vendor's devices, counted in PCI order.
    fn numbered(&self, order: &DeviceOrder) -> Vec<Option<String>> {
        let mut next = 0..;
        let number = |id: &u16| match *id == self.id {
            true => next.next().map(|number: u32| number.to_string()),
            false => None,
        };
        order.vendors.iter().map(number).collect()
    }
}

/// The entries of a list that Slurm wrote, if it has this number of them and none twice. They may be
/// numbers, or names such as `GPU-8932f937` and `MIG-GPU-8932f937/1/0`.
fn slurms(text: &str, count: usize) -> Option<Vec<Option<String>>> {
    let is_plain = |entry: &&str| {
        let mut letters = entry.bytes();
        !entry.is_empty()
            && letters.all(|byte| byte.is_ascii_alphanumeric() || b"-_/.:".contains(&byte))
    };
    let entries: Vec<_> = text.split(',').take(count + 1).collect();
    let mut different = entries.clone();
    different.sort_unstable();
    different.dedup();
    let fits = entries.len() == count && different.len() == count && entries.iter().all(is_plain);
    fits.then(|| {
        entries
            .into_iter()
            .map(|entry| Some(entry.to_owned()))
            .collect()
    })
}

/// The mark of a task's lists: `CUDA_VISIBLE_DEVICES=1,0 CUDA_DEVICE_ORDER=PCI_BUS_ID`.
#[must_use]
pub fn mark(entries: &[(&'static str, String)]) -> String {
    let entries = entries
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    entries.collect::<Vec<_>>().join(" ")
}

/// The variables that still have the value that berth gave them in an outer step.
pub fn inherited(
    mark: &str,
    get: impl Fn(&str) -> Option<String>,
) -> impl Iterator<Item = &'static str> {
    let written = |name: &str| {
        let mut entries = mark.split(' ').filter_map(|entry| entry.split_once('='));
        let found = entries.find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_owned())
    };
    names().filter(move |name| written(name).is_some_and(|value| get(name) == Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(mark: &str, environment: &[(&str, &str)]) -> Vec<&'static str> {
        let get = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        inherited(mark, get).collect()
    }

    #[test]
    fn what_berth_wrote_goes_and_what_the_user_wrote_stays() {
        let mark = mark(&[
            ("CUDA_VISIBLE_DEVICES", "1,0".into()),
            ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".into()),
        ]);
        let marked = |list, order| {
            let environment = [
                ("CUDA_VISIBLE_DEVICES", list),
                ("CUDA_DEVICE_ORDER", order),
                ("ROCR_VISIBLE_DEVICES", "1,0"),
            ];
            gone(&mark, &environment)
        };
        let both = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];
        assert_eq!(marked("1,0", "PCI_BUS_ID"), both);
        assert_eq!(marked("0", "PCI_BUS_ID"), both[1..]);
        assert_eq!(marked("0", "FASTEST_FIRST"), [""; 0]);
        assert_eq!(gone("", &[("CUDA_VISIBLE_DEVICES", "1,0")]), [""; 0]);
    }

    #[test]
    fn a_forged_mark_takes_no_other_variable() {
        let environment = [("PATH", "/bin"), ("HOME", "/"), ("", "")];
        for mark in ["PATH=/bin HOME=/", "=", " ", "CUDA_VISIBLE_DEVICES", "\n"] {
            assert_eq!(gone(mark, &environment), [""; 0], "{mark}");
        }
        let empty = [("ZE_AFFINITY_MASK", "")];
        assert_eq!(gone("ZE_AFFINITY_MASK=", &empty), ["ZE_AFFINITY_MASK"]);
    }
}
