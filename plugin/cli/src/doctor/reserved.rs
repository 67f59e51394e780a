//! The check of reserved CPUs against slurm.conf: slurmctld gives away what `CpuSpecList=` does not name.

use berth_placement::controller::select::Specialised;
use berth_placement::{CpuSet, Machine, SocketKind};
use berth_site::Announcement;

use super::Checks;
use super::Verdict::{Note, Ok as Well};
use crate::world::cluster;

const WHAT: &str = "reserved";

/// Compares what the site and other software keep free here with what slurm.conf says of this node. Without a
/// slurm.conf that this user may read, or without the machine, there is nothing to compare.
pub(super) fn check(checks: &mut Checks, words: &Announcement, machine: Option<&Machine>) {
    let Some(machine) = machine else {
        return;
    };
    let rules = words.site_rules().unwrap_or_default();
    let mut kept = rules.reserved();
    kept.insert_all(machine.held());
    let kept = kept.intersection(machine.cpus());
    let Some(conf) = cluster::of_this_node().filter(|_| !kept.is_empty()) else {
        return;
    };
    let Some(node) = conf.node(&checks.node) else {
        return;
    };
    let special = &node.specialised;
    match advice(&kept, special, machine, rules.socket()) {
        None => {
            let text = format!("CPUs {kept}, which CpuSpecList= of slurm.conf names too");
            checks.add(Well, WHAT, text, "slurm.conf");
        }
        Some(why) => checks.add(Note, WHAT, why, "slurm.conf"),
    }
}

/// What slurmctld may give away of the CPUs that are kept free, and what to do.
fn advice(
    kept: &CpuSet,
    special: &Specialised,
    machine: &Machine,
    kind: SocketKind,
) -> Option<String> {
    let named = match special {
        Specialised::None => CpuSet::new(),
        Specialised::Count(cores) => {
            return Some(format!(
                "CPUs {kept} are kept free here, and CoreSpecCount={cores} of slurm.conf lets Slurm choose \
                 others; write CpuSpecList= with these CPUs, by Slurm's numbers"
            ));
        }
        Specialised::Cores(cores) => {
            let all = machine.sockets(kind).into_iter().flatten();
            let named = (0..).zip(all).filter(|(at, _)| cores.contains(*at));
            let pus = named.flat_map(|(_, core)| machine.pus_of(core).iter().copied());
            pus.collect()
        }
    };
    let given = kept.difference(&named);
    (!given.is_empty()).then(|| {
        format!(
            "CPUs {given} are kept free here, and slurmctld may give them to jobs, which then run on fewer \
             CPUs than Slurm counts; name them in CpuSpecList= of slurm.conf, by Slurm's numbers"
        )
    })
}

#[cfg(test)]
mod tests {
    use berth_placement::Numbering;
    use berth_placement::controller::select::CoreSet;

    use super::*;

    #[test]
    fn what_slurmctld_may_give_away_is_told() {
        // Cores 0 and 1 have CPUs 0,4 and 1,5.
        let machine = Machine::regular(1, 4, 2, Numbering::ThreadsLast).unwrap();
        let told = |kept: &str, special| {
            let kept = CpuSet::from_list(kept).unwrap();
            advice(&kept, &special, &machine, SocketKind::Package)
        };
        let cores = |count| Specialised::Cores(CoreSet::first(count));
        assert_eq!(told("0,4", cores(1)), None);
        assert_eq!(told("0", cores(1)), None);
        let some = told("0-1,4-5", cores(1)).unwrap();
        assert!(some.starts_with("CPUs 1,5 are kept free"), "{some}");
        let all = told("0", Specialised::None).unwrap();
        assert!(all.starts_with("CPUs 0 are kept free"), "{all}");
        let counted = told("0", Specialised::Count(1)).unwrap();
        assert!(counted.contains("CoreSpecCount=1"), "{counted}");
    }
}
