//! Cpusets on a node with reserved CPUs: no set has them while its job has others, and a NUMA node without
//! them counts as a whole one.

use berth_placement::*;
use proptest::prelude::*;

use crate::common;
use crate::laws::{request_text, small};
use crate::making::{choosing, chosen, node, ring, set};

/// What a job gets that owns some of the ring's CPUs, or why not.
fn on_ring(request: &str, own: &str, reserved: &str) -> String {
    let request = Request {
        reserved: set(reserved),
        allocation: Allocation::Cpus(set(own)),
        ..choosing(request)
    };
    chosen(
        &request,
        &node(ring(), Rules::default()),
        &Claims::default(),
    )
}

#[test]
fn a_set_is_chosen_from_the_others() {
    for (request, own, reserved, expected) in [
        ("NCPUS=2", "0-15", "0,8", "1,9 r0"),
        ("NCPUS=4", "0-15", "0", "2-3,10-11 r0"),
        ("NCPUS=3", "0-15", "0", "1,8-9 r0"),
        // There are no more.
        ("NCPUS=16", "0-15", "0,8", "1-7,9-15 r2"),
        ("CPUSET[]", "0-3,8-11", "0,8", "1-3,9-11 r1"),
        ("NCPUS=2;CPU_LIST=0,1,8,9", "0-15", "0,8", "1,9 r0"),
        // A job that has nothing else runs there.
        ("NCPUS=1", "0,8", "0,8", "0 r0"),
    ] {
        let found = on_ring(request, own, reserved);
        assert_eq!(found, expected, "{request} of {own}, reserved {reserved}");
    }
    let found = on_ring("NCPUS=2;CPU_LIST=0,8", "0-15", "0,8");
    assert!(found.contains("the job owns no CPU of CPU_LIST"), "{found}");
}

/// "All CPUs of it that any job may have, without reserved ones."
#[test]
fn a_whole_node_is_one_without_its_reserved_cpus() {
    let mandatory = "CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY";
    for (request, own, reserved, expected) in [
        ("NCPUS=2;NODE_EX=Y", "0-15", "0,8", "1,9 r0"),
        ("NCPUS=3;NODE_EX=Y", "0-15", "0,8", "2-3,10-11 r0"),
        ("NCPUS=6;NODE_EX=Y", "0-15", "0,8", "1-3,9-11 r1"),
        // Slurm keeps its specialised CPUs out of every allocation.
        ("NCPUS=2;NODE_EX=Y", "1,9,4-5,12-13", "0,8", "1,9 r0"),
        ("NCPUS=2;NODE_EX=Y", "1,9,4-5,12-13", "", "4-5,12-13 r0"),
        ("NODE_EX=Y", "0-1,8-9", "0", "1,8-9 r0"),
        // One of whose CPUs all are reserved is none.
        ("NODE_EX=Y", "0-3,8-11", "0-1,8-9", "2-3,10-11 r0"),
        (mandatory, "0-1,8-9", "0,8", "1,9 r0"),
    ] {
        let found = on_ring(request, own, reserved);
        assert_eq!(found, expected, "{request} of {own}, reserved {reserved}");
    }
}

proptest! {
    #![proptest_config(common::config(600))]

    /// Whatever is asked and taken, a set has no reserved CPU as long as the job owns another one.
    #[test]
    fn no_set_has_reserved_cpus(
        small in small(), text in request_text(), (own, reserved, taken) in any::<(u32, u32, u32)>(),
    ) {
        let node = node(small.machine(), Rules::default());
        let all = node.machine().unwrap().cpus().clone();
        let some = |bits: u32| CpuSet::from_words([u64::from(bits)]).intersection(&all);
        let (own, reserved) = (some(own | own >> 5), some(reserved & reserved >> 2));
        prop_assume!(!own.is_empty());
        let claims = Claims { taken: some(taken & taken >> 3), ..Claims::default() };
        let request = Request {
            reserved: reserved.clone(),
            allocation: Allocation::Cpus(own.clone()),
            ..choosing(&text)
        };
        let Ok(plan) = plan(&request, &node, &claims) else { return Ok(()) };
        let found = plan.cpuset.unwrap().cpus;
        let has_others = !own.difference(&reserved).is_empty();
        prop_assert!(found.is_subset(&own) && !found.intersects(&claims.taken), "{found}");
        prop_assert!(!has_others || !found.intersects(&reserved), "{found} with {reserved} reserved");
        if text.contains("NODE_EX") && has_others {
            let distances = node.distances();
            for home in (0..distances.len()).map(|at| distances.node(at).unwrap().1) {
                let whole = home.difference(&reserved);
                prop_assert!(!found.intersects(home) || whole.is_subset(&found), "{found} in {home}");
            }
        }
    }
}
