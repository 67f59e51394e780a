//! task/cgroup on a node whose cgroups are of version 1, one hierarchy a controller, as many sites
//! have it. The whole machine changes over for this scene, and back.

use berth_tests::confine::v1;

use crate::{Outcome, jobs};

pub fn confined() -> Outcome {
    match v1::enter() {
        // Such as Debian's for aarch64, from 6.12 on.
        Err(why) if why.contains("Unknown subsys name") => {
            return Err("this kernel has no cpusets of version 1".into());
        }
        entered => entered.expect("version 1"),
    }
    let seen = std::panic::catch_unwind(jobs::confined);
    v1::leave().expect("version 2 again");
    seen.unwrap_or_else(|why| std::panic::resume_unwind(why))
}
