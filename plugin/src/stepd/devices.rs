//! The variables that list each task's GPUs. slurmstepd makes them before the first fork, when Slurm
//! has already written the step's own list (`gres_g_step_set_env`).

use berth_placement::DeviceVariables;
use berth_placement::answer::device_mark::mark;
use slurm_sys::StepRecord;

use crate::message::device_mark::LIST_BYTES;
use crate::message::handover::Handover;
use crate::message::names;
use crate::planning::words::join_bounded;
use crate::stepd::task_env::Entries;

/// Each task's variables, by its local id.
#[derive(Default)]
pub(crate) struct Devices {
    /// Different tasks' variables, and the mark of each.
    different: Vec<Entries>,
    /// How many tasks have each of these, in order.
    counts: Vec<usize>,
    /// Lists of all devices: what a task has whose own cannot be written.
    pub(crate) all: Entries,
}

impl Devices {
    /// The variables of a step; notes on them are added to the step's.
    pub(crate) fn of(record: &StepRecord<'_>, heard: &mut Handover) -> Self {
        let of_all = u64::from(record.node_tasks());
        let order = heard.devices.as_ref();
        let Some(order) = order.filter(|order| order.task_count() == of_all) else {
            return Self::default();
        };
        // A value that is too long to be read is still one.
        let given = |name: &str| {
            let value = || record.env_get(name, LIST_BYTES);
            record.env_has(name).then(|| value().unwrap_or_default())
        };
        let found = DeviceVariables::of(order, given);
        let notes = found.notes.iter().map(ToString::to_string);
        let before = std::mem::take(&mut heard.note);
        heard.note = join_bounded(&[], [before].into_iter().chain(notes));
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
