//! slurmstepd's intent for its tasks, from the masks in slurmd's message.

use berth_placement::sets::limits::MAX_CPUS;
use berth_placement::{CpuSet, List, Mode};
use berth_srun::inherited;
use slurm_sys::StepRecord;

use crate::site::standing::Abi;
use crate::step::convert;
use crate::step::handover::{Handover, Outcome};
use crate::step::words::name;
use crate::stepd::running_step::Intent;

/// The message's masks, limited to the step's own CPUs and to what a level gives beyond them, and a text on the CPUs that were
/// left out. The handover gets the mark of their list.
pub(crate) fn intent(
    slurm: Abi,
    record: &StepRecord<'_>,
    handover: &mut Handover,
    text: &str,
) -> (Intent, Option<String>) {
    let read = convert::mode(record.cpu_bind_type(), Some(text), (slurm.layout, MAX_CPUS));
    let mode = read.as_ref().ok().and_then(Option::as_ref);
    handover.list = mode.and_then(inherited::mark).unwrap_or_default();
    let list = match read {
        Ok(Some(Mode::MaskCpu(list))) => list,
        Ok(Some(Mode::MapCpu(list))) => list.map(|cpu| std::iter::once(*cpu).collect()),
        // A step that is bound to nothing is held too.
        Ok(Some(Mode::Free)) if handover.is_held() => {
            handover.outcome = Outcome::Bound;
            let tasks = record.node_tasks() as usize;
            return (Intent::Bind(vec![handover.own.clone(); tasks]), None);
        }
        Ok(Some(Mode::Free)) => return (Intent::Leave, None),
        Ok(Some(Mode::Rank)) => {
            return (
                Intent::Bind(ranks(&handover.own, record.node_tasks())),
                None,
            );
        }
        Ok(_) => return (Intent::Own(handover.own.clone()), None),
        Err(why) => {
            log::error!("{}: {why}", name(record.step_id()));
            return (Intent::Own(handover.own.clone()), None);
        }
    };
    let mut within = handover.own.clone();
    within.insert_all(&handover.beyond);
    let (sets, cut) = clip(&list, &within, record.node_tasks());
    let said = (!cut.is_empty()).then(|| {
        format!(
            "CPUs {cut} do not belong to this step, which owns CPUs {}; they are left out",
            handover.own
        )
    });
    (Intent::Bind(sets), said)
}

/// One CPU for each task, where slurmd left `rank` as it came: it has found all of these CPUs among the step's own.
fn ranks(own: &CpuSet, tasks: u32) -> Vec<CpuSet> {
    let each: Vec<CpuSet> = own
        .iter()
        .map(|cpu| std::iter::once(cpu).collect())
        .collect();
    each.into_iter().cycle().take(tasks as usize).collect()
}

/// Each task's mask without CPUs beyond `own`, or `own` itself if nothing would be left; and the
/// CPUs that were left out. Entries that no task takes are ignored.
fn clip(list: &List<CpuSet>, own: &CpuSet, tasks: u32) -> (Vec<CpuSet>, CpuSet) {
    let mut cut = CpuSet::new();
    let mut inside = |mask: &CpuSet| {
        if mask.is_subset(own) {
            return mask.clone();
        }
        cut.insert_all(&mask.difference(own));
        match mask.intersection(own) {
            none if none.is_empty() => own.clone(),
            some => some,
        }
    };
    let mut start = 0;
    let mut taken = Vec::new();
    for (mask, count) in list.parts() {
        if start >= tasks {
            break;
        }
        taken.push((inside(mask), count as usize));
        start = start.saturating_add(count);
    }
    // A list that is too short begins again.
    let entries = taken
        .iter()
        .flat_map(|(set, count)| std::iter::repeat_n(set, *count));
    let sets = entries.cycle().take(tasks as usize).cloned().collect();
    (sets, cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_kept_to_the_steps_own_cpus() {
        let set = |list: &str| CpuSet::from_list(list).unwrap_or_default();
        //   masks, of two tasks, left out
        for (masks, sets, cut) in [
            ("0x1,0x2", ["0", "1"], ""),
            ("0x1", ["0", "0"], ""),
            ("0x5,0x2", ["0", "1"], "2"),
            ("0x4,0x8", ["0-1", "0-1"], "2-3"),
            ("0x4*2,0x8", ["0-1", "0-1"], "2"),
            // No task takes entries beyond the tasks.
            ("0x1,0x2,0x4", ["0", "1"], ""),
            ("0x1*5,0x4", ["0", "0"], ""),
        ] {
            let Some(Ok(Mode::MaskCpu(list))) = Mode::read("mask_cpu", masks) else {
                assert_eq!(masks, "a list");
                continue;
            };
            let expected = (sets.map(set).to_vec(), set(cut));
            assert_eq!(clip(&list, &set("0-1"), 2), expected, "{masks}");
        }
    }
}
