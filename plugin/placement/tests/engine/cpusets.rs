//! Which CPUs a cpuset has when its job goes on: the document's table and exact answers. And cpusets of large machines.

use berth_placement::request::cpuset::Attribute;
use berth_placement::strategy::cpuset::{Resume, Resumed, most_of_radius, moved};
use berth_placement::{CpuId, CpuSet, Node};

use crate::harness::ask::{Ask, dynamic};
use crate::harness::machine_text::{host, list};
use crate::texts::planned;

/// LSF's page: a host with 2 nodes of 2 CPUs each.
const HOST: &str = "0 1 | 2 3; distances 10,20 20,10";

/// Four NUMA nodes of two cores with two threads, in a ring: neighbours 16, opposite 22.
const RING: &str = "0,8 1,9 | 2,10 3,11 | 4,12 5,13 | 6,14 7,15; distances 10,16,22,16 16,10,16,22 22,16,10,16 16,22,16,10";

const ORIG: &str = "RESUME_OPTION=ORIG_CPUS";
const ANY: &str = "CPUSET[]";

fn node(line: &str) -> Node {
    let host = host(line);
    Ask::default().node(&host.machine, host.kind, None)
}

fn some(text: &str) -> CpuSet {
    if text.is_empty() {
        CpuSet::new()
    } else {
        list(text)
    }
}

/// What the job gets, as a text.
fn resumed(node: &Node, requested: &str, (original, own): (&str, &str), free: &str) -> String {
    let resume = Resume {
        requested: &dynamic(requested),
        original: &list(original),
        own: &list(own),
        free: &some(free),
    };
    match resume.choose(node) {
        Resumed::Same => "same".into(),
        Resumed::Changed(cpus) => cpus.to_string(),
        Resumed::Shared => "shared".into(),
        Resumed::NoRoom => "no room".into(),
    }
}

/// "If the job originally had a cpuset containing cpu 1": the eligible CPUs.
#[test]
fn the_document_s_table() {
    for (requested, eligible) in [(ORIG, "0-1"), (ANY, "0-3")] {
        let resume = Resume {
            requested: &dynamic(requested),
            original: &list("1"),
            own: &list("0-3"),
            free: &CpuSet::new(),
        };
        let node = node(HOST);
        let found = resume.eligible(&node, resume.farthest(&node));
        assert_eq!(found, list(eligible), "{requested}");
    }
}

/// Every set of free CPUs on that host, for the job that had CPU 1.
#[test]
fn the_document_s_host_with_each_set_of_free_cpus() {
    let node = node(HOST);
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
        let found = resumed(&node, ORIG, ("1", "0-3"), &free);
        assert_eq!(found, near.unwrap_or("no room"), "ORIG_CPUS, free {free}");
        let found = resumed(&node, ANY, ("1", "0-3"), &free);
        assert_eq!(found, near.unwrap_or(far), "free {free}");
    }
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
        let found = resumed(&node(RING), requested, (original, own), free);
        assert_eq!(
            found, expected,
            "{requested} {original} of {own}, free {free}"
        );
    }
}

#[test]
fn whole_cores_go_to_whole_cores() {
    let ring = node(RING);
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
        let found = moved(&ring, (&list(from), &list(to)), &list(cpus));
        assert_eq!(found, list(expected), "{cpus} of {from} in {to}");
    }
}

/// The document's hostC: two NUMA nodes of two CPUs, CPU 3 is in use.
#[test]
fn radii_of_the_manual() {
    let most = |radius| most_of_radius(&node(HOST), &list("0-2"), radius);
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(most), [2, 3, 3, 3, 3, 3, 3, 3]);
}

/// Large machines are no harder: eight NUMA nodes of 512 CPUs, and thirty-two of 128.
#[test]
fn large_machines_are_planned() {
    for (count, size) in [(8_u32, 512_u32), (32, 128), (1, 4096), (128, 32)] {
        let far =
            |one: u32, other: u32| 10 + 2 * (one ^ other).checked_ilog2().map_or(0, |log| log + 1);
        let row = |one| {
            (0..count)
                .map(|other| far(one, other).to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        let rows: Vec<_> = (0..count).map(row).collect();
        let cores = size / 2;
        let line = format!(
            "pack:{count} numa:1 l3:1 core:{cores} pu:2 threads-last; distances {}",
            rows.join(" ")
        );
        let half = count * size / 2;
        let plan = planned(
            &line,
            &format!("--cpuset=NCPUS={half} --cpu-bind=none --taken=0"),
        );
        let found = plan.cpuset.unwrap();
        assert_eq!(found.count, half);
        // The upper half is whole, and all of it is within one level less.
        let expected = count.ilog2().saturating_sub(1);
        assert_eq!(found.radius, expected, "{count} NUMA nodes");
        assert!(!found.cpus.contains(CpuId(0)));
        let ask: Ask = "--cpuset=NCPUS=65536 --cpu-bind=none --taken=0"
            .parse()
            .unwrap();
        let why = ask
            .answer(&host(&line).machine, host(&line).kind)
            .unwrap_err();
        assert!(why.to_string().contains("free for it"), "{why}");
    }
    assert!(!dynamic("CPUSET[]").has(Attribute::CpuExclusive));
}
