//! Random machines and jobs for the laws of cpusets.

use std::time::{SystemTime, UNIX_EPOCH};

use berth_placement::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// A configuration for `cases` cases, or `PROPTEST_CASES`, with a seed of this moment, or `BERTH_SEED`.
pub(super) fn config(cases: u32) -> Config {
    let given = |name: &str| std::env::var(name).ok()?.parse().ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    let (seed, cases) = (
        given("BERTH_SEED").unwrap_or(now),
        given("PROPTEST_CASES").map_or(cases, |cases| cases as u32),
    );
    eprintln!("seed {seed}: BERTH_SEED={seed} PROPTEST_CASES={cases} repeats this test");
    Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    }
}

/// A machine of NUMA nodes whose cores have one or two threads, with numbers in any order.
pub(super) fn machine() -> impl Strategy<Value = Machine> {
    let nodes = prop::collection::vec(prop::collection::vec(1_usize..=2, 1..=3), 1..=4);
    let numbers = Just((0..24_u32).collect::<Vec<_>>()).prop_shuffle();
    let distances = prop::collection::vec(11_u32..=14, 16);
    (nodes, numbers, distances).prop_map(|(nodes, numbers, far)| {
        let mut numbers = numbers.into_iter().map(CpuId);
        let mut core = |threads| Core {
            pus: numbers.by_ref().take(threads).collect(),
        };
        let nodes: Vec<Vec<Core>> = nodes
            .into_iter()
            .map(|cores| cores.into_iter().map(&mut core).collect())
            .collect();
        let cpus = |cores: &Vec<Core>| -> CpuSet {
            let all = cores.iter().flat_map(|core| core.pus.iter().copied());
            all.collect()
        };
        let numa = |(id, cores): (u32, &Vec<Core>)| NumaNode {
            id: NumaId(id),
            cpus: cpus(cores),
        };
        let far = |one: usize, other: usize| match one == other {
            true => 10,
            false => far[one.min(other) * 4 + one.max(other)],
        };
        let row = |one| (0..nodes.len()).map(|other| far(one, other)).collect();
        Machine::new(Parts {
            numa_nodes: (0..).zip(&nodes).map(numa).collect(),
            allowed: nodes
                .iter()
                .flat_map(|cores| cpus(cores).iter().collect::<Vec<_>>())
                .collect(),
            numa_distances: (0..nodes.len()).map(row).collect(),
            packages: nodes.into_iter().map(|cores| Package { cores }).collect(),
            ..Parts::default()
        })
        .unwrap()
    })
}

/// What a job asks for, and of which CPUs of the machine it owns some.
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
