//! What holds for every cpuset, on random machines with random distances. Brute force over all sets of
//! CPUs says what the smallest radius is.

use berth_placement::request::cpuset::{Attribute, Dynamic};
use berth_placement::*;
use proptest::prelude::*;

use crate::common;
use crate::making::{choosing, chosen, dynamic, machine, node, set};

/// A small machine: NUMA nodes of cores of one or two threads, with numbers in any order, and distances.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    nodes: Vec<Vec<Vec<u32>>>,
    distances: Vec<Vec<u32>>,
}

impl Small {
    pub(crate) fn machine(&self) -> Machine {
        let core = |core: &Vec<u32>| {
            let numbers: Vec<_> = core.iter().map(u32::to_string).collect();
            numbers.join(",")
        };
        let texts: Vec<String> = self
            .nodes
            .iter()
            .map(|cores| cores.iter().map(core).collect::<Vec<_>>().join(" "))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let rows: Vec<&[u32]> = self.distances.iter().map(Vec::as_slice).collect();
        machine(&texts, &rows)
    }
}

pub(crate) fn small() -> impl Strategy<Value = Small> {
    let nodes = prop::collection::vec(prop::collection::vec(1_usize..=2, 1..=3), 1..=5);
    let numbers = Just((0..30_u32).collect::<Vec<_>>()).prop_shuffle();
    let distances = prop::collection::vec(prop::collection::vec(11_u32..=14, 5), 5);
    (nodes, numbers, distances).prop_map(|(sizes, numbers, raw)| {
        let mut numbers = numbers.into_iter();
        let count = sizes.len();
        let nodes = sizes
            .into_iter()
            .map(|cores| {
                let core = |threads| numbers.by_ref().take(threads).collect();
                cores.into_iter().map(core).collect()
            })
            .collect();
        let entry = |one: usize, other: usize| match one == other {
            true => 10,
            false => raw[one.min(other)][one.max(other)],
        };
        let row = |one| (0..count).map(|other| entry(one, other)).collect();
        Small {
            nodes,
            distances: (0..count).map(row).collect(),
        }
    })
}

/// The radius of every set of NUMA nodes that can give the number, the smallest of them.
fn smallest_by_force(
    node: &Node,
    free: &CpuSet,
    requested: &Dynamic,
    needed: usize,
) -> Option<(u32, usize)> {
    let distances = node.distances();
    let limit = requested
        .max_cpu_per_node
        .map_or(usize::MAX, |limit| limit as usize);
    let offer = |at: usize| {
        let (_, cpus) = distances.node(at).unwrap();
        let mine = cpus.intersection(free).count();
        match requested.has_whole_nodes() && mine < cpus.count() {
            true => 0,
            false => mine.min(limit),
        }
    };
    let sets = (1_u32..1 << distances.len()).filter_map(|bits| {
        let members: Vec<_> = (0..distances.len())
            .filter(|at| bits >> at & 1 == 1)
            .collect();
        let all = members.iter().all(|at| offer(*at) > 0);
        let sum: usize = members.iter().map(|at| offer(*at)).sum();
        let pairs = members
            .iter()
            .flat_map(|one| members.iter().map(move |other| (*one, *other)));
        let radius = pairs
            .map(|(one, other)| distances.radius(one, other))
            .max()?;
        (all && sum >= needed).then_some((radius, members.len()))
    });
    sets.min()
}

pub(crate) fn request_text() -> impl Strategy<Value = String> {
    let shape = prop_oneof![
        Just(String::new()),
        (1_u32..=3).prop_map(|most| format!(";MAX_CPU_PER_NODE={most}")),
        Just(";NODE_EX=Y".into()),
        Just(";CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY".into()),
        (0_u32..=3).prop_map(|most| format!(";MAX_RADIUS={most}")),
    ];
    (1_u32..=12, shape).prop_map(|(count, shape)| format!("NCPUS={count}{shape}"))
}

proptest! {
    #![proptest_config(common::config(600))]

    /// The radius is the smallest one, and the NUMA nodes are the fewest of it.
    #[test]
    fn best_fit_has_the_smallest_radius(
        small in small(), text in request_text(), taken in any::<u32>(), list in any::<u32>(),
    ) {
        let node = node(small.machine(), Rules::default());
        let all = node.machine().unwrap().cpus().clone();
        let taken = CpuSet::from_words([u64::from(taken & taken >> 3)]);
        let listed = CpuSet::from_words([u64::from(list | list >> 1)]).intersection(&all);
        let mut requested = dynamic(&text);
        let list = format!("CPU_LIST={listed}");
        let mut free = all.difference(&taken);
        if listed.count() as u32 >= requested.ncpus.unwrap() {
            requested = dynamic(&format!("{text};{list}"));
            free = free.intersection(&listed);
        }
        let mut request = choosing(&text);
        if let Some(StepCpuset::Choose(choice)) = &mut request.cpuset {
            choice.requested = requested.clone();
        }
        let claims = Claims { taken: taken.clone(), ..Claims::default() };
        let needed = (requested.ncpus.unwrap() as usize).min(all.count());
        let best = smallest_by_force(&node, &free, &requested, needed);
        let best = best.filter(|(radius, _)| requested.max_radius.is_none_or(|most| *radius <= most));
        match plan(&request, &node, &claims) {
            Ok(plan) => {
                let found = plan.cpuset.unwrap();
                let distances = node.distances();
                let used = (0..distances.len())
                    .filter(|at| distances.node(*at).unwrap().1.intersects(&found.cpus));
                let used: Vec<_> = used.collect();
                prop_assert_eq!(Some((found.radius, used.len())), best, "{:?}", found);
                prop_assert!(found.cpus.is_subset(&free), "{:?} of {}", found, free);
                prop_assert_eq!(found.count as usize, found.cpus.count());
                if requested.has_whole_nodes() {
                    prop_assert!(found.count as usize >= needed);
                    for at in used {
                        let whole = distances.node(at).unwrap().1;
                        prop_assert!(whole.is_subset(&found.cpus));
                    }
                } else {
                    prop_assert_eq!(found.count as usize, needed);
                    for at in used {
                        let part = distances.node(at).unwrap().1.intersection(&found.cpus);
                        let most = requested.max_cpu_per_node.unwrap_or(u32::MAX);
                        prop_assert!(part.count() as u32 <= most);
                    }
                }
                // A step on the whole node is not bound.
                let bound = plan.tasks[0].cpus.clone();
                prop_assert!(bound == found.cpus || found.cpus == all && bound.is_empty());
            }
            Err(why) => prop_assert_eq!(best, None, "{}", why),
        }
    }

    /// Of the sets of best fit's radius and number of NUMA nodes, none breaks fewer cores.
    #[test]
    fn best_fit_breaks_the_fewest_cores(small in small(), count in 1_u32..=8, taken in any::<u32>()) {
        let node = node(small.machine(), Rules::default());
        let all = node.machine().unwrap().cpus().clone();
        let taken = CpuSet::from_words([u64::from(taken & taken >> 2)]);
        let free = all.difference(&taken);
        let claims = Claims { taken, ..Claims::default() };
        prop_assume!(free.count() <= 14);
        let Ok(plan) = plan(&choosing(&format!("NCPUS={count}")), &node, &claims) else {
            return Ok(());
        };
        let found = plan.cpuset.unwrap();
        let cores = node.machine().unwrap().objects(ObjectKind::Core);
        let distances = node.distances();
        let nodes = |cpus: &CpuSet| {
            (0..distances.len()).filter(|at| distances.node(*at).unwrap().1.intersects(cpus)).count()
        };
        let broken = |cpus: &CpuSet| {
            let part = |core: &&CpuSet| core.intersects(cpus) && !core.intersection(&free).is_subset(cpus);
            cores.iter().filter(part).count()
        };
        let score = |cpus: &CpuSet| (distances.radius_of(cpus), nodes(cpus), broken(cpus));
        let numbers: Vec<_> = free.iter().collect();
        let sets = (0_u32..1 << numbers.len()).filter(|bits| bits.count_ones() == found.count);
        let best = sets.map(|bits| {
            let members = (0..).zip(&numbers).filter(|(at, _)| bits >> at & 1 == 1);
            score(&members.map(|(_, cpu)| *cpu).collect())
        });
        prop_assert_eq!(Some(score(&found.cpus)), best.min());
    }

    /// First fit gives the first free candidates, in the list's order.
    #[test]
    fn first_fit_is_the_first(
        small in small(), order in Just((0..30_u32).collect::<Vec<_>>()).prop_shuffle(),
        count in 1_usize..=10, per_node in prop::option::of(1_u32..=3), taken in any::<u32>(),
    ) {
        let rules = Rules { cpuset_first_fit: true, ..Rules::default() };
        let node = node(small.machine(), rules);
        let all = node.machine().unwrap().cpus().clone();
        let taken = CpuSet::from_words([u64::from(taken & taken >> 2)]);
        let needed = count.min(all.count());
        let numbers: Vec<_> = order.iter().map(u32::to_string).collect();
        let limit = per_node.map_or(String::new(), |most| format!(";MAX_CPU_PER_NODE={most}"));
        let request = choosing(&format!("NCPUS={count};CPU_LIST={}{limit}", numbers.join(",")));
        let claims = Claims { taken: taken.clone(), ..Claims::default() };
        let distances = node.distances();
        let mut expected = CpuSet::new();
        for cpu in order.into_iter().map(CpuId) {
            let is_free = all.contains(cpu) && !taken.contains(cpu);
            let here = distances.of_cpu(cpu).and_then(|at| distances.node(at));
            let used = here.map_or(0, |(_, cpus)| cpus.intersection(&expected).count() as u32);
            if is_free && expected.count() < needed && used < per_node.unwrap_or(u32::MAX) {
                expected.insert(cpu);
            }
        }
        match plan(&request, &node, &claims) {
            Ok(plan) => prop_assert_eq!(plan.cpuset.unwrap().cpus, expected),
            Err(why) => prop_assert!(expected.count() < needed, "{}", why),
        }
    }

    /// No task of any wish leaves its cpuset, whatever the step asks.
    #[test]
    fn no_task_leaves_its_cpuset(
        small in small(), count in 1_u32..=8, tasks in 1_u32..=8, each in 1_u32..=3, wish in 0_usize..7,
        taken in any::<u32>(), overcommit in any::<bool>(),
    ) {
        let node = node(small.machine(), Rules::default());
        let mut request = choosing(&format!("NCPUS={count};CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE"));
        let taken = CpuSet::from_words([u64::from(taken & taken >> 2)]);
        let claims = Claims { cpusets: taken.clone(), ..Claims::default() };
        request.tasks = tasks;
        request.cpus_per_task = each;
        request.overcommit = overcommit;
        request.cpu_bind = CpuBind::default();
        match wish {
            0 => {}
            1 => request.cpu_bind.level = Some(Level::Threads),
            2 => request.cpu_bind.level = Some(Level::Cores),
            3 => request.cpu_bind.level = Some(Level::Ldoms),
            4 => request.cpu_bind.mode = Some(Mode::Free),
            5 => request.binding = Some("linear:1".parse().unwrap()),
            _ => request.binding = Some("auto".parse().unwrap()),
        }
        let Ok(plan) = plan(&request, &node, &claims) else { return Ok(()) };
        let set = plan.cpuset.unwrap();
        prop_assert!(!set.cpus.is_empty() && !set.cpus.intersects(&taken));
        prop_assert!(plan.own.is_subset(&set.cpus));
        let whole = set.cpus == *node.machine().unwrap().cpus();
        for task in &plan.tasks {
            prop_assert!(task.cpus.is_subset(&set.cpus), "{:?} outside {:?}", task, set);
            prop_assert!(whole || !task.cpus.is_empty());
        }
    }
}

/// Large machines are no harder: eight NUMA nodes of 512 CPUs, and thirty-two of 128.
#[test]
fn large_machines_are_planned() {
    for (count, size) in [(8_u32, 512_u32), (32, 128), (1, 4096), (128, 32)] {
        let text = |at: u32| {
            let cores = (0..size / 2).map(|core| {
                let first = at * size / 2 + core;
                format!("{first},{}", first + count * size / 2)
            });
            cores.collect::<Vec<_>>().join(" ")
        };
        let texts: Vec<_> = (0..count).map(text).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let far =
            |one: u32, other: u32| 10 + 2 * (one ^ other).checked_ilog2().map_or(0, |log| log + 1);
        let row = |one| (0..count).map(|other| far(one, other)).collect();
        let rows: Vec<Vec<u32>> = (0..count).map(row).collect();
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let node = node(machine(&texts, &rows), Rules::default());
        let half = count * size / 2;
        let request = choosing(&format!("NCPUS={half}"));
        let claims = Claims {
            taken: set("0"),
            ..Claims::default()
        };
        let found = plan(&request, &node, &claims).unwrap().cpuset.unwrap();
        assert_eq!(found.count, half);
        let levels = count.ilog2();
        // The upper half is whole, and all of it is within one level less.
        let expected = if count == 1 { 0 } else { levels - 1 };
        assert_eq!(found.radius, expected, "{count} NUMA nodes");
        assert!(!found.cpus.contains(CpuId(0)));
        assert!(!dynamic("CPUSET[]").has(Attribute::CpuExclusive));
        assert!(chosen(&choosing("NCPUS=65536"), &node, &claims).contains("free for it"));
    }
}
