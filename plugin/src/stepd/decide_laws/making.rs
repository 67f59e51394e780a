//! Random machines and jobs for the laws of cpusets.

use berth_placement::Machine;
use proptest::prelude::*;

#[path = "../../../placement/tests/engine/harness/mod.rs"]
mod harness;

use harness::machines::{self, Sort};
use harness::random::Random;

/// A small machine, as the laws of the engine have them.
pub(super) fn machine() -> impl Strategy<Value = Machine> {
    any::<u64>().prop_map(|seed| machines::machine(&mut Random::new(seed), Sort::Small))
}

/// What a job asks for, and which CPUs of the machine it owns.
pub(super) fn job() -> impl Strategy<Value = (String, u32)> {
    let shape = prop_oneof![
        3 => Just(""),
        1 => Just(";NODE_EX=Y"),
        1 => Just(";MAX_RADIUS=0"),
        1 => Just(";CPU_LIST=0-11"),
        1 => Just(";RESUME_OPTION=ORIG_CPUS"),
    ];
    let exclusive = prop_oneof![3 => Just(";CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE"), 1 => Just("")];
    let text = (1_u32..=4, shape, exclusive);
    let text = text.prop_map(|(count, shape, more)| format!("NCPUS={count}{shape}{more}"));
    (text, any::<u32>().prop_map(|bits| bits | bits >> 7))
}
