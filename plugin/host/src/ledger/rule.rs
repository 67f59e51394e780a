//! What is taken for a step, of all that other steps are bound to.
//! In: live entries, the step. Out: `Occupied` for the planner. Source: design, "Accounting".

use berth_placement::Occupied;

use super::record::{Entry, Kind, Step};

/// Taken are the cores of steps of other jobs, and those of regular steps of the own job that
/// were started without `--overlap`. The job's own script and `--overlap` steps take nothing,
/// nor do suspended jobs, whose cores belong to whoever preempted them: they only decide
/// between equal choices. An older entry of the same step is of an earlier launch.
pub fn occupied<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    step: Step,
    mut is_suspended: impl FnMut(&Entry) -> bool,
) -> Occupied {
    let mut found = Occupied::default();
    for entry in entries {
        if entry.step == step {
            continue;
        }
        let takes = if entry.step.job == step.job {
            entry.kind == Kind::Regular
        } else {
            !is_suspended(entry)
        };
        let set = if takes {
            &mut found.taken
        } else {
            &mut found.shared
        };
        set.insert_all(&entry.cpus);
    }
    found
}

#[cfg(test)]
mod tests {
    use berth_placement::CpuSet;

    use super::*;

    #[test]
    fn who_takes_what() {
        let entry = |job, step, kind, cpus: &str| Entry {
            step: Step {
                job,
                step,
                component: 0,
            },
            kind,
            cpus: CpuSet::from_list(cpus).unwrap(),
            ..Entry::default()
        };
        let entries = [
            entry(1, 0, Kind::Regular, "0"),
            entry(1, 1, Kind::Overlap, "1"),
            entry(1, u32::MAX, Kind::Batch, "0-3"),
            entry(2, 0, Kind::Regular, "4"),
            entry(2, 1, Kind::Overlap, "5"),
            entry(3, u32::MAX, Kind::Batch, "6"),
            entry(4, 0, Kind::Regular, "7"),
            entry(1, 9, Kind::Regular, "8"),
        ];
        let own = Step {
            job: 1,
            step: 9,
            component: 0,
        };
        let found = occupied(&entries, own, |entry| entry.step.job == 4);
        assert_eq!(found.taken.to_string(), "0,4-6");
        assert_eq!(found.shared.to_string(), "0-3,7");
    }
}
