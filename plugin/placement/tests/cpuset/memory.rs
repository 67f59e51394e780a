//! Memory nodes of cpusets beside those of others.

use berth_placement::*;

use crate::making::{choosing, node, ring};

/// Another cpuset wants the memory of node 1 for itself: `MEM_LIST` prefers the others that it names.
#[test]
fn memory_that_another_cpuset_wants_is_no_preference() {
    let node = node(ring(), Rules::default());
    let claims = Claims {
        memory: std::iter::once(NumaId(1)).collect(),
        ..Claims::default()
    };
    for (request, mems, says) in [
        (
            "NCPUS=2;CPU_LIST=0,8;MEM_LIST=1-2",
            "0,2",
            "they are left out",
        ),
        ("NCPUS=2;CPU_LIST=0,8;MEM_LIST=1", "0", "they are left out"),
        ("NCPUS=2;CPU_LIST=0,8;MEM_LIST=2", "0,2", ""),
        (
            "MEM_LIST=1;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY;CPU_LIST=0-1,8-9",
            "0-1",
            "has them all the same",
        ),
    ] {
        let given = plan(&choosing(request), &node, &claims).unwrap();
        let set = given.cpuset.as_ref().unwrap();
        assert_eq!(set.mems.to_string(), mems, "{request}");
        let notes: Vec<_> = given.notes.iter().map(ToString::to_string).collect();
        assert!(notes.join("; ").contains(says), "{request}: {notes:?}");
        assert_eq!(
            notes.iter().any(|note| note.contains("MEM_LIST names")),
            !says.is_empty()
        );
    }
}

/// `mems=` of a static cpuset without options is a preference, as `MEM_LIST` is.
#[test]
fn memory_of_a_static_cpuset_is_preferred() {
    let node = node(ring(), Rules::default());
    for (mems, memory) in [
        (Some(NumaId(1)), SetMemory::Preferred),
        (None, SetMemory::Open),
    ] {
        let mut request = choosing("NCPUS=2");
        request.cpuset = Some(StepCpuset::Given(request::cpuset::ExistingCpuset {
            requested: "CPUSET_NAME=MYSET".parse().unwrap(),
            cpus: CpuSet::from_list("0-1").unwrap(),
            mems: mems.map(|mems| std::iter::once(mems).collect()),
            attributes: Default::default(),
        }));
        let plan = plan(&request, &node, &Claims::default()).unwrap();
        let set = plan.cpuset.unwrap();
        let own = mems.unwrap_or(NumaId(0)).0.to_string();
        assert_eq!((set.memory, set.mems.to_string()), (memory, own));
    }
}
