//! The variables that list each task's GPUs. slurmstepd makes them before the first fork, when Slurm
//! has already written the step's own list (`gres_g_step_set_env`).

use berth_placement::answer::device_variables::mark;
use berth_placement::{DeviceOrder, DeviceVariables};
use slurm_sys::StepRecord;

use crate::step::handover::Handover;
use crate::step::names::{self, LIST_BYTES};
use crate::step::words::join_bounded;
use crate::stepd::task_env::Entries;

/// Each task's variables, by its local id.
#[derive(Default)]
pub(crate) struct Devices {
    /// Different tasks' variables, and the mark of each.
    different: Vec<Entries>,
    /// The number of tasks that have each entry of `different`, in order.
    counts: Vec<usize>,
    /// Lists of all devices: what a task has whose own cannot be written.
    pub(crate) all: Entries,
}

impl Devices {
    /// The variables of a step; notes on them are added to the step's.
    pub(crate) fn of(record: &StepRecord<'_>, handover: &mut Handover) -> Self {
        // A value that is too long to be read is still one.
        let given = |name: &str| {
            let value = || record.env().get(name, LIST_BYTES);
            record.env().has(name).then(|| value().unwrap_or_default())
        };
        let tasks = record.node_tasks();
        let order = handover.devices.as_ref();
        let Some(found) = order.and_then(|order| variables(order, tasks, given)) else {
            return Self::default();
        };
        let notes = found.notes.iter().map(ToString::to_string);
        let before = std::mem::take(&mut handover.note);
        handover.note = join_bounded(&[], [before].into_iter().chain(notes));
        Self::from_variables(found)
    }

    fn from_variables(found: DeviceVariables) -> Self {
        let counts = found.runs.iter().map(|(tasks, _)| *tasks as usize);
        Self {
            counts: counts.collect(),
            different: found.runs.into_iter().map(|(_, own)| marked(own)).collect(),
            all: found.all,
        }
    }

    /// The place of each task's variables among the different ones, by local id.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let each = self.counts.iter().enumerate();
        each.flat_map(|(at, count)| std::iter::repeat_n(at, *count))
    }

    /// The variables at a place.
    pub(crate) fn at(&self, place: Option<usize>) -> &[(&'static str, String)] {
        let own = place.and_then(|place| self.different.get(place));
        own.map_or(&[], Vec::as_slice)
    }
}

/// A task's variables and their mark.
fn marked(mut entries: Entries) -> Entries {
    entries.push((names::DEVICES, mark(&entries)));
    entries
}

/// The variables of so many tasks; none if the order is for another number.
fn variables(
    order: &DeviceOrder,
    tasks: u32,
    given: impl Fn(&str) -> Option<String>,
) -> Option<DeviceVariables> {
    (order.task_count() == u64::from(tasks)).then(|| DeviceVariables::of(order, given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepd::task_env::Prepared;
    use berth_placement::{CpuSet, DeviceRun};
    use std::sync::Arc;

    /// Three GPUs of one vendor, and those of successive tasks.
    fn order(only_own: bool, granted: bool, runs: &[(&str, u32)]) -> DeviceOrder {
        let run = |(own, tasks): &(&str, u32)| DeviceRun {
            own: CpuSet::from_list(own).unwrap(),
            tasks: *tasks,
        };
        DeviceOrder {
            vendors: vec![0x10de; 3],
            only_own,
            granted,
            runs: runs.iter().map(run).collect(),
        }
    }

    /// A list is as long as the one that the parent has written, so each task writes its own there.
    #[test]
    fn each_tasks_list_fits_where_the_parents_stands_without_the_allocator() {
        let apart = &[("1", 1), ("0", 1), ("2", 1)];
        let names = Some("GPU-a,GPU-bc,7");
        let of_names = ["GPU-bc,GPU-a,7", "GPU-a,GPU-bc,7", "7,GPU-a,GPU-bc"];
        let two = &[("0", 2), ("2", 1)][..];
        for (own, runs, slurms, expected) in [
            (false, two, None, ["0,1,2", "0,1,2", "2,0,1"]),
            (true, &[("0-1", 1), ("2", 2)], None, ["0,1", "2", "2"]),
            (false, apart, names, of_names),
        ] {
            let given = |name: &str| match name {
                "CUDA_VISIBLE_DEVICES" => slurms.map(String::from),
                _ => slurms
                    .filter(|_| name == "SLURM_STEP_GPUS")
                    .map(String::from),
            };
            let order = order(own, slurms.is_some(), runs);
            assert!(variables(&order, 2, given).is_none(), "{runs:?}");
            let devices = Devices::from_variables(variables(&order, 3, given).unwrap());
            let (_, all) = devices.all.first().unwrap();
            let tasks = devices
                .places()
                .map(|at| Arc::new(devices.at(Some(at)).to_vec()));
            let prepared = Prepared::new(tasks.collect());
            let mut written = [0; 3].map(|_| all.clone().into_bytes());
            let calls = crate::site::count_allocations::during(|| {
                for (id, place) in written.iter_mut().enumerate() {
                    prepared.fill(id, |name, value| {
                        if name == "CUDA_VISIBLE_DEVICES" && value.len() <= place.len() {
                            place.truncate(value.len());
                            place.copy_from_slice(value.as_bytes());
                        }
                        true
                    });
                }
            });
            let written = written.map(|list| String::from_utf8(list).unwrap());
            assert_eq!(
                (calls, written),
                (0, expected.map(String::from)),
                "{runs:?}"
            );
            let mark = devices.at(Some(0)).last().unwrap();
            let list = expected.first().unwrap();
            let text = format!("CUDA_VISIBLE_DEVICES={list} CUDA_DEVICE_ORDER=PCI_BUS_ID");
            assert_eq!(*mark, (names::DEVICES, text));
        }
    }
}
