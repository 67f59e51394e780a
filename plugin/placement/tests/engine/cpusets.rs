//! Which CPUs a cpuset has when its job goes on: the document's table and exact answers. And cpusets of large machines.

use berth_placement::request::cpuset::Attribute;
use berth_placement::strategy::cpuset::{Resume, Resumed, most_of_radius, moved};
use berth_placement::{CpuId, CpuSet, Node};

use crate::facts::lines::hold;
use crate::harness::ask::{Ask, dynamic};
use crate::harness::machine_text::{host, list};
use crate::texts::planned;

/// LSF's page: a host with 2 nodes of 2 CPUs each.
const HOST: &str = "0 1 | 2 3; distances 10,20 20,10";

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

/// The CPUs that are eligible for the job that had CPU 1.
fn eligible(node: &Node, requested: &str) -> String {
    let resume = Resume {
        requested: &dynamic(requested),
        original: &list("1"),
        own: &list("0-3"),
        free: &CpuSet::new(),
    };
    resume.eligible(node, resume.farthest(node)).to_string()
}

#[test]
fn facts() {
    hold(include_str!("cpusets.txt"), |line, question| {
        let node = node(line);
        let (word, rest) = question.split_once(' ').unwrap();
        if word == "eligible" {
            return eligible(&node, rest);
        }
        if word == "moved" {
            let (from, rest) = rest.split_once(" to ").unwrap();
            let (to, cpus) = rest.split_once(": ").unwrap();
            return moved(&node, (&list(from), &list(to)), &list(cpus)).to_string();
        }
        let (original, rest) = rest.trim_start_matches("had ").split_once(" of ").unwrap();
        let (own, free) = rest.split_once(", free ").unwrap();
        resumed(&node, word, (original, own), free)
    });
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
