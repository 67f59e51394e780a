//! task/cgroup on a node whose cgroups are of version 1, one hierarchy a controller, as many sites
//! have it. The whole machine changes over for this scene, and back.

use std::panic::{catch_unwind, resume_unwind};
use std::path::Path;

use berth_tests::confine::v1;
use berth_tests::facts::hold;

use crate::Outcome;

/// The facts that also hold with version 2.
const FACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/2x4x2/confined.txt");

pub fn confined() -> Outcome {
    match v1::enter() {
        // Such as Debian's for aarch64, from 6.12 on.
        Err(why) if why.contains("Unknown subsys name") => {
            return Err("this kernel has no cpusets of version 1".into());
        }
        entered => entered.expect("version 1"),
    }
    let seen = catch_unwind(|| hold(Path::new(FACTS)));
    v1::leave().expect("version 2 again");
    seen.unwrap_or_else(|why| resume_unwind(why))
        .map_or(Ok(()), Err)
}
