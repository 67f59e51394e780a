//! Warnings to the administrator about reserved CPUs: Slurm gives them to jobs, as long as
//! slurm.conf does not name them in `CpuSpecList=`.

use berth_placement::owned::Reserved;
use berth_placement::{CpuSet, Node, Plan};

use crate::site::metrics;
use crate::slurmd::complaints::{self, About};

/// Looks at a plan; from a hook. A step that has nothing else runs on reserved CPUs: an error, also for
/// `berth doctor` until slurmd reads its settings again.
pub(crate) fn look(plan: &Plan, who: impl Fn() -> String) {
    let decision = &plan.decision;
    if decision.reserved == Reserved::Nothing {
        return;
    }
    let has_no_others = decision.reserved == Reserved::All;
    metrics::reserved(has_no_others);
    match has_no_others {
        true => {
            log::error!("{}, CPUs {}: {ONLY}", who(), decision.own);
            complaints::set(About::OnlyReserved, Some(ONLY.into()), None);
        }
        false => {
            complaints::set(About::SomeReserved, None, Some(SOME.into()));
        }
    }
}

/// Reserved CPUs that the machine does not have may be meant for others; when slurmd gets ready. What earlier steps had
/// no longer counts, because slurm.conf may name the CPUs now.
pub(crate) fn compare(reserved: &CpuSet, node: &Node) {
    let missing = node.machine().and_then(|machine| {
        let missing = reserved.difference(machine.cpus());
        (!missing.is_empty()).then(|| {
            format!(
                "reserved= in plugstack.conf names CPUs {missing}, which are not online on this node \
                 (CPUs {}); correct the list, or bring them online",
                machine.cpus()
            )
        })
    });
    if let Some(why) = &missing {
        log::warn!("{why}");
    }
    complaints::set(About::Reserved, None, missing);
    for about in [About::OnlyReserved, About::SomeReserved] {
        complaints::set(about, None, None);
    }
}

const ONLY: &str = "Slurm gave a step only CPUs that are reserved (reserved= in plugstack.conf), and it \
                    runs there; name them in CpuSpecList= of slurm.conf";
const SOME: &str = "Slurm gives steps CPUs that are reserved (reserved= in plugstack.conf), and they \
                    run on their others; name them in CpuSpecList= of slurm.conf";
