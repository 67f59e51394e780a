//! Why there is no cpuset, and what is noted where there is one: each text names what was found, and advises what
//! helps.

use berth_placement::*;

use crate::making::{choosing, chosen, node, on_ring, ring, set};

#[test]
fn refusals_name_cpus_and_what_to_do() {
    for (request, taken, said) in [
        (
            "NCPUS=5;MAX_RADIUS=0",
            "",
            "the smallest radius that this job's CPUs allow here is 1",
        ),
        (
            "NCPUS=4;MAX_RADIUS=0",
            "0,2,4,6",
            "CPUs 0,2,4,6 of the job are held by others now",
        ),
        (
            "NCPUS=4",
            "0-12",
            "the cpuset needs 4 CPUs on this node; the job has 3 CPUs free for it (CPUs 13-15)",
        ),
        ("NCPUS=1", "0-15", "the job has no free CPU"),
        (
            "NCPUS=2;CPU_LIST=0,40",
            "",
            "the job owns 1 CPU of CPU_LIST that nobody else holds (CPUs 0)",
        ),
        (
            "NCPUS=5;MAX_CPU_PER_NODE=1",
            "",
            "MAX_CPU_PER_NODE=1 allows 4 CPUs",
        ),
        (
            "NCPUS=4;NODE_EX=Y",
            "0,2,4,6",
            "the NUMA nodes that the job owns whole have 0 CPUs",
        ),
    ] {
        let found = on_ring(request, taken);
        assert!(found.contains(said), "{request}: {found}");
    }
}

/// Advice is given only where it would help.
#[test]
fn advice_is_for_what_can_be_had() {
    let with = |text: &str, own: &str| {
        let request = Request {
            allocation: Allocation::Cpus(set(own)),
            ..choosing(text)
        };
        chosen(
            &request,
            &node(ring(), Rules::default()),
            &Claims::default(),
        )
    };
    for (request, own, helps) in [
        ("NCPUS=2;CPU_LIST=0,40", "0-15", false),
        ("NCPUS=2;CPU_LIST=0,40", "0-3,8-11", false),
        ("NCPUS=2;CPU_LIST=0,4", "0-3,8-11", true),
        ("NCPUS=4;MAX_RADIUS=0", "0,2,4,6", true),
        ("NCPUS=5;MAX_RADIUS=0", "0-4,8-12", false),
        ("NCPUS=8;MAX_CPU_PER_NODE=1", "0-3,8-11", false),
        ("NCPUS=4;NODE_EX=Y", "0,2,4,6", true),
    ] {
        let found = with(request, own);
        assert!(found.starts_with("--cpuset: "), "{request}: {found}");
        assert_eq!(found.contains("--exclusive"), helps, "{request}: {found}");
        assert!(!found.contains("NCPUS"), "{request}: {found}");
    }
    let step = |text: &str| {
        let request = Request {
            tasks: 4,
            cpu_bind: CpuBind::default(),
            ..choosing(text)
        };
        chosen(
            &request,
            &node(ring(), Rules::default()),
            &Claims::default(),
        )
    };
    assert!(step("NCPUS=2").contains("submit the job with NCPUS=4"));
    let listed = step("NCPUS=2;CPU_LIST=0-2");
    assert!(listed.contains("can have no more here"), "{listed}");
}

#[test]
fn a_number_that_is_cut_is_said() {
    let node = node(ring(), Rules::default());
    let notes = |text: &str| {
        let plan = plan(&choosing(text), &node, &Claims::default()).unwrap();
        plan.notes
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let said = "NCPUS=64 is more than the 16 CPUs that the job has on this node, and the cpuset has no others; \
                request more for the job (-n, -c, --exclusive), or write a smaller NCPUS";
    assert_eq!(notes("NCPUS=64"), [said]);
    assert_eq!(notes("NCPUS=16"), [""; 0]);
}

/// Who holds CPUs may leave them; what can never fit is refused at once.
#[test]
fn waiting_helps_only_where_others_hold_cpus() {
    let node = node(ring(), Rules::default());
    for (request, taken, helps) in [
        ("NCPUS=4", "0-12", true),
        ("NCPUS=2;CPU_LIST=0,40", "1", false),
        ("NCPUS=5;MAX_RADIUS=0", "0", false),
        ("NCPUS=4;MAX_RADIUS=0", "0,2,4,6", true),
    ] {
        let claims = Claims {
            taken: set(taken),
            ..Claims::default()
        };
        match plan(&choosing(request), &node, &claims) {
            Err(Refusal::Cpuset(why)) => assert_eq!(why.held().is_some(), helps, "{request}"),
            other => panic!("{request}: {other:?}"),
        }
    }
}
