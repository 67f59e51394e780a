//! What the administrator should know of reserved CPUs: Slurm gives them to jobs, as long as
//! slurm.conf does not name them in `CpuSpecList=`.

use berth_placement::owned::Reserved;
use berth_placement::{CpuSet, Node, Plan};

use crate::site::standing::Abi;
use crate::slurmd::{complaints, worker};

/// Looks at a plan; from a hook. A step that has nothing else runs on reserved CPUs: an error, also for
/// `berth doctor` until slurmd starts again.
pub(crate) fn look(slurm: Abi, plan: &Plan, who: impl Fn() -> String) {
    let decision = &plan.decision;
    if decision.reserved == Reserved::Nothing {
        return;
    }
    let has_no_others = decision.reserved == Reserved::All;
    worker::reserved(slurm, has_no_others);
    let is_new = match has_no_others {
        true => {
            log::error!("{}, CPUs {}: {ONLY}", who(), decision.own);
            complaints::add(ONLY.into())
        }
        false => complaints::doubt(SOME.into()),
    };
    if is_new {
        worker::announce_again();
    }
}

/// Reserved CPUs that the machine does not have may be meant for others; when slurmd gets ready.
pub(crate) fn compare(reserved: &CpuSet, node: &Node) {
    let Some(machine) = node.machine() else {
        return;
    };
    let missing = reserved.difference(machine.cpus());
    if !missing.is_empty() {
        let why = format!(
            "reserved= in plugstack.conf names CPUs {missing}, which are not online on this node \
             (CPUs {}); correct the list, or bring them online",
            machine.cpus()
        );
        log::warn!("{why}");
        complaints::doubt(why);
    }
}

const ONLY: &str = "Slurm gave a step only CPUs that are reserved (reserved= in plugstack.conf), and it \
                    runs there; name them in CpuSpecList= of slurm.conf";
const SOME: &str = "Slurm gives steps CPUs that are reserved (reserved= in plugstack.conf), and they \
                    run on their others; name them in CpuSpecList= of slurm.conf";
