//! Which CPUs a cpuset has when its job goes on: the document's table, exact answers, and laws on random
//! machines.

use berth_placement::strategy::cpuset::{Resume, Resumed, moved};
use berth_placement::*;
use proptest::prelude::*;

use crate::common;
use crate::laws::small;
use crate::making::{dynamic, machine, node, set};

/// What the job gets, as a text.
fn resumed(node: &Node, requested: &str, (original, own): (&str, &str), free: &str) -> String {
    let resume = Resume {
        requested: &dynamic(requested),
        original: &set(original),
        own: &set(own),
        free: &set(free),
    };
    match resume.choose(node) {
        Resumed::Same => "same".into(),
        Resumed::Changed(cpus) => cpus.to_string(),
        Resumed::Shared => "shared".into(),
        Resumed::NoRoom => "no room".into(),
    }
}

/// LSF's page: a host with 2 nodes of 2 CPUs each.
fn host() -> Node {
    let two = machine(&["0 1", "2 3"], &[&[10, 20], &[20, 10]]);
    node(two, Rules::default())
}

const ORIG: &str = "RESUME_OPTION=ORIG_CPUS";
const ANY: &str = "CPUSET[]";

/// "If the job originally had a cpuset containing cpu 1": the eligible CPUs.
#[test]
fn the_document_s_table() {
    let nothing = CpuSet::new();
    for (requested, eligible) in [(ORIG, "0-1"), (ANY, "0-3")] {
        let resume = Resume {
            requested: &dynamic(requested),
            original: &set("1"),
            own: &set("0-3"),
            free: &nothing,
        };
        let here = host();
        let found = resume.eligible(&here, resume.farthest(&here));
        assert_eq!(found.to_string(), eligible, "{requested}");
    }
}

/// Every set of free CPUs on that host, for the job that had CPU 1.
#[test]
fn the_document_s_host_with_each_set_of_free_cpus() {
    for bits in 0_u64..16 {
        let free = CpuSet::from_words(vec![bits]).to_string();
        let has = |cpu: u64| bits >> cpu & 1 == 1;
        let near = match (has(1), has(0)) {
            (true, _) => Some("same"),
            (_, true) => Some("0"),
            _ => None,
        };
        let far = match (has(2), has(3)) {
            (true, _) => "2",
            (_, true) => "3",
            _ => "shared",
        };
        let whole = ("1", "0-3");
        let found = resumed(&host(), ORIG, whole, &free);
        assert_eq!(found, near.unwrap_or("no room"), "ORIG_CPUS, free {free}");
        let found = resumed(&host(), ANY, whole, &free);
        assert_eq!(found, near.unwrap_or(far), "free {free}");
    }
}

/// Four NUMA nodes of two cores with two threads, in a ring: neighbours 16, opposite 22.
fn ring() -> Node {
    let ring = machine(
        &["0,8 1,9", "2,10 3,11", "4,12 5,13", "6,14 7,15"],
        &[
            &[10, 16, 22, 16],
            &[16, 10, 16, 22],
            &[22, 16, 10, 16],
            &[16, 22, 16, 10],
        ],
    );
    node(ring, Rules::default())
}

#[test]
fn nearer_numa_nodes_come_first() {
    for (requested, original, own, free, expected) in [
        (ANY, "0,8", "0-15", "0-15", "same"),
        (ANY, "0,8", "0-15", "1-7,9-15", "1,9"),
        // A whole core is better than parts of two.
        (ANY, "0,8", "0-15", "1,8,2-7,10-15", "1,8"),
        (ANY, "0,8", "0-15", "4-7,12-15", "6,14"),
        (ANY, "0,8", "0-15", "4-5,12-13", "4,12"),
        (ANY, "0,8", "0-3,8-11", "4-7,12-15", "shared"),
        (ORIG, "0,8", "0-15", "2-7,10-15", "no room"),
        (ORIG, "0,8", "0-15", "1-7,9-15", "1,9"),
        // Two original NUMA nodes.
        (ORIG, "0-3", "0-15", "8-11", "8-11"),
        (ORIG, "0-1,8-9", "0-15", "2-15", "no room"),
        (ANY, "0-1,8-9", "0-15", "2-15", "2-3,10-11"),
        ("MAX_CPU_PER_NODE=1", "0,2", "0-15", "4-15", "8,10"),
        ("MAX_CPU_PER_NODE=1", "0,2", "0-15", "4-7,12-15", "4,6"),
        ("MAX_RADIUS=0", "0,8", "0-15", "3,5,7,9", "shared"),
        ("NODE_EX=Y", "0-1,8-9", "0-15", "1-15", "2-3,10-11"),
        ("CPU_LIST=0,8", "0,8", "0-15", "1-15", "1,9"),
    ] {
        let found = resumed(&ring(), requested, (original, own), free);
        assert_eq!(
            found, expected,
            "{requested} {original} of {own}, free {free}"
        );
    }
}

#[test]
fn whole_cores_go_to_whole_cores() {
    let ring = ring();
    for (from, to, cpus, expected) in [
        ("0-1,8-9", "0-1,8-9", "8", "8"),
        ("0-1,8-9", "4-5,12-13", "0,8", "4,12"),
        ("0-1,8-9", "4-5,12-13", "9", "13"),
        ("0-1,8-9", "4-5,12-13", "0-1,8-9", "4-5,12-13"),
        // Core 1 stays, core 0 goes to core 2.
        ("0-1,8-9", "1-2,9-10", "0", "2"),
        ("0-1,8-9", "1-2,9-10", "1,9", "1,9"),
        ("0-1,8", "1,4,12", "0", "4"),
        ("0,8", "0-1,8-9", "0", "0"),
        ("0,8", "2-3,10-11", "8", "10"),
    ] {
        let found = moved(&ring, (&set(from), &set(to)), &set(cpus));
        assert_eq!(found.to_string(), expected, "{cpus} of {from} in {to}");
    }
}

/// Sets of CPUs of a machine, by the bits of a number.
fn some(all: &CpuSet, bits: u64) -> CpuSet {
    let chosen = all.iter().enumerate();
    let chosen = chosen.filter(|(at, _)| bits >> (at % 64) & 1 == 1);
    chosen.map(|(_, cpu)| cpu).collect()
}

proptest! {
    #![proptest_config(common::config(600))]

    #[test]
    fn a_job_never_leaves_what_it_may_use(
        small in small(),
        (own, original, free) in any::<(u64, u64, u64)>(),
        orig_cpus in any::<bool>(),
    ) {
        let here = node(small.machine(), Rules::default());
        let all = here.machine().unwrap().cpus().clone();
        let own = some(&all, own);
        let (original, free) = (some(&own, original), some(&all, free));
        prop_assume!(!original.is_empty());
        let resume = Resume {
            requested: &dynamic(if orig_cpus { ORIG } else { ANY }),
            original: &original,
            own: &own,
            free: &free,
        };
        let found = resume.choose(&here);
        let homes: Vec<_> = (0..here.distances().len())
            .filter_map(|at| Some(here.distances().node(at)?.1.clone()))
            .filter(|cpus| cpus.intersects(&original))
            .collect();
        let in_homes: CpuSet = all.iter().filter(|cpu| homes.iter().any(|home| home.contains(*cpu))).collect();
        match &found {
            Resumed::Same => prop_assert!(original.is_subset(&free)),
            Resumed::Changed(cpus) => {
                prop_assert!(!original.is_subset(&free));
                prop_assert_eq!(cpus.count(), original.count());
                prop_assert!(cpus.is_subset(&own) && cpus.is_subset(&free), "{cpus}");
                prop_assert!(!orig_cpus || cpus.is_subset(&in_homes), "{cpus} outside {in_homes}");
                // The original NUMA nodes come first.
                let near = in_homes.intersection(&own).intersection(&free).count() >= original.count();
                prop_assert!(!near || cpus.is_subset(&in_homes), "{cpus} outside {in_homes}");
                for cpu in original.iter() {
                    let one: CpuSet = [cpu].into_iter().collect();
                    let place = moved(&here, (&original, cpus), &one);
                    prop_assert!(place.count() == 1 && place.is_subset(cpus), "{one} to {place}");
                }
            }
            Resumed::NoRoom | Resumed::Shared => {
                prop_assert_eq!(found == Resumed::NoRoom, orig_cpus);
                let eligible = if orig_cpus { in_homes.intersection(&own) } else { own.clone() };
                prop_assert!(eligible.intersection(&free).count() < original.count());
            }
        }
    }
}
