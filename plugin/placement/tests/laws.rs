//! Laws: what holds for every request on every machine, whatever the numbers.

mod common;

use berth_placement::*;
use berth_srun::Release;
use berth_srun::spelling::{cpu_bind, distribution};
use proptest::prelude::*;

/// The door, where nobody claims anything.
fn plan(request: &Request, node: &Node) -> Result<Plan, Refusal> {
    berth_placement::plan(request, node, &Claims::default())
}

fn numberings() -> impl Strategy<Value = Numbering> {
    prop_oneof![
        Just(Numbering::Block),
        Just(Numbering::Cyclic),
        Just(Numbering::ThreadsLast)
    ]
}

fn machines() -> impl Strategy<Value = Machine> {
    let threads = prop_oneof![Just(1u32), Just(2), Just(4), Just(8)];
    (1u32..5, 1u32..9, threads, numberings())
        .prop_map(|(s, c, t, numbering)| Machine::regular(s, c, t, numbering).unwrap())
}

fn levels() -> impl Strategy<Value = Option<Level>> {
    prop_oneof![
        Just(None),
        Just(Some(Level::Threads)),
        Just(Some(Level::Cores)),
        Just(Some(Level::Sockets)),
        Just(Some(Level::Ldoms))
    ]
}

fn distributions() -> impl Strategy<Value = Distribution> {
    let texts = [
        "*",
        "block",
        "cyclic",
        "block:block",
        "block:cyclic",
        "block:fcyclic",
        "cyclic:fcyclic:block",
        "plane=2",
        "arbitrary",
    ];
    proptest::sample::select(texts.map(|text| distribution(text).unwrap()).to_vec())
}

prop_compose! {
    fn requests()(
        tasks in 1u32..70,
        cpus_per_task in 1u32..9,
        level in levels(),
        one_thread in any::<bool>(),
        distribution in distributions(),
        threads_per_core in proptest::option::of(1u32..4),
        ntasks_per_core in proptest::option::of(1u32..4),
        ntasks_per_socket in proptest::option::of(1u32..4),
        overcommit in any::<bool>(),
        owned in proptest::collection::vec(any::<bool>(), 40),
        special in proptest::option::of(0u32..6),
        binding in proptest::option::of((1u32..5, any::<bool>())),
    ) -> Request {
        let cores = (0..).zip(&owned).filter(|(_, own)| **own).map(|(at, _)| CoreIdx(at));
        Request {
            tasks, cpus_per_task, distribution, threads_per_core, ntasks_per_core,
            ntasks_per_socket, overcommit,
            cpu_bind: CpuBind { level, one_thread, ..CpuBind::default() },
            core_spec: special.map_or(CoreSpec::None, CoreSpec::Threads),
            binding: binding.map(|(amount, host)| {
                let scope = if host { "host:" } else { "" };
                format!("{scope}linear:{amount}").parse().unwrap()
            }),
            allocation: Allocation::Cores { cores: cores.collect(), configured: 40 },
            ..Request::default()
        }
    }
}

/// CPUs of the cores that a request owns, from the machine alone.
fn owned(request: &Request, machine: &Machine) -> CpuSet {
    let Allocation::Cores { cores, .. } = &request.allocation else {
        return machine.cpus().clone();
    };
    let count = machine.core_count() as u32;
    let core = |core: &CoreIdx| machine.pus_of(CoreIdx(core.0 % count)).to_vec();
    cores.iter().flat_map(core).collect()
}

proptest! {
    #![proptest_config(common::config(2000))]

    #[test]
    fn every_task_has_cpus_and_none_outside_the_allocation(request in requests(), machine in machines()) {
        let own = owned(&request, &machine);
        let on = Node::of(machine, SocketKind::Package, Rules::default());
        if let Ok(plan) = plan(&request, &on) {
            prop_assert_eq!(plan.tasks.len(), request.tasks as usize);
            for task in &plan.tasks {
                prop_assert!(!task.cpus.is_empty());
                prop_assert!(task.cpus.is_subset(&own), "{:?} outside {own}", task.cpus);
            }
        }
    }

    #[test]
    fn the_text_in_the_message_means_the_plan(request in requests(), machine in machines()) {
        let on = Node::of(machine, SocketKind::Package, Rules::default());
        if let Ok(plan) = plan(&request, &on) {
            let text = plan.text().unwrap();
            let masks: Vec<_> = text.split(',').map(|mask| CpuSet::from_hex(mask).unwrap()).collect();
            for (task, mask) in plan.tasks.iter().zip(masks.iter().cycle()) {
                prop_assert_eq!(&task.cpus, mask);
            }
        }
    }

    #[test]
    fn renumbering_the_machine_renumbers_the_answer(request in requests(), machine in machines(), other in numberings()) {
        let renumbered = machine.renumbered(other).unwrap();
        let back = |cpus: &CpuSet, machine: &Machine| -> Vec<(u32, usize)> {
            (0..machine.core_count() as u32).flat_map(|core| {
                let pus = machine.pus_of(CoreIdx(core));
                pus.iter().enumerate().filter(|(_, cpu)| cpus.contains(**cpu))
                    .map(|(thread, _)| (core, thread)).collect::<Vec<_>>()
            }).collect()
        };
        let one = plan(&request, &Node::of(machine.clone(), SocketKind::Package, Rules::default()));
        let two = plan(&request, &Node::of(renumbered.clone(), SocketKind::Package, Rules::default()));
        prop_assert_eq!(one.is_ok(), two.is_ok());
        if let (Ok(one), Ok(two)) = (one, two) {
            for (one, two) in one.tasks.iter().zip(&two.tasks) {
                prop_assert_eq!(back(&one.cpus, &machine), back(&two.cpus, &renumbered));
            }
        }
    }

    #[test]
    fn no_two_tasks_on_one_core_while_there_is_room(
        share in 0.0f64..1.0, cpus_per_task in 1u32..10, distribution in distributions(),
        machine in machines(),
    ) {
        let cores = machine.core_count() as u32;
        let threads = machine.cpus().count() as u32 / cores;
        let sockets = machine.sockets(SocketKind::Package).len() as u32;
        // Full cyclic takes a core on each socket in turn, the last round perhaps on a few.
        let needed = match distribution.order(false) {
            Order::Fcyclic => sockets * cpus_per_task.div_ceil(sockets),
            _ => cpus_per_task.div_ceil(threads),
        };
        let tasks = (f64::from(cores / needed) * share) as u32 + 1;
        prop_assume!(tasks * needed <= cores);
        let request = Request {
            tasks, cpus_per_task, distribution,
            cpu_bind: cpu_bind("cores", Release::NEWEST).unwrap(),
            ..Request::default()
        };
        let plan = plan(&request, &Node::of(machine, SocketKind::Package, Rules::default())).unwrap();
        let mut seen = CpuSet::new();
        for task in &plan.tasks {
            prop_assert!(!seen.intersects(&task.cpus), "{:?} again in {:?}", task.cpus, plan.tasks);
            seen.insert_all(&task.cpus);
        }
    }

    #[test]
    fn linear_tasks_never_share_a_core(tasks in 1u32..9, amount in 1u32..9, machine in machines()) {
        let request = Request {
            tasks,
            binding: Some(format!("strict:linear:{amount}").parse().unwrap()),
            ..Request::default()
        };
        let cores = machine.core_count();
        let fits = (tasks * amount) as usize <= cores;
        let plan = plan(&request, &Node::of(machine.clone(), SocketKind::Package, Rules::default()));
        prop_assert_eq!(plan.is_ok(), fits);
        if let Ok(plan) = plan {
            let mut seen = CpuSet::new();
            for task in &plan.tasks {
                prop_assert!(!seen.intersects(&task.cpus));
                seen.insert_all(&task.cpus);
                prop_assert_eq!(task.cpus.count(), amount as usize * machine.cpus().count() / cores);
            }
        }
    }

    /// First those of the fewest pool jobs, of these the ones of the fewest bindings.
    #[test]
    fn linear_takes_the_cores_that_fewest_others_use(
        amount in 1u32..40,
        pools in proptest::collection::btree_set(0u32..64, 0..40),
        bindings in proptest::collection::btree_set(0u32..64, 0..40),
        again in proptest::collection::btree_set(0u32..64, 0..40),
        machine in machines(),
    ) {
        let set = |list: std::collections::BTreeSet<u32>| list.into_iter().map(CpuId).collect::<CpuSet>();
        let request = Request { binding: Some(format!("strict:linear:{amount}").parse().unwrap()), ..Request::default() };
        let both = |one: &CpuSet, other: &CpuSet| vec![one.intersection(other)];
        let (pools, bindings, again) = (set(pools), set(bindings), set(again));
        let (pools_again, bindings_again) = (both(&pools, &again), both(&bindings, &again));
        let claims = Claims { pools, pools_again, bindings, bindings_again, ..Claims::default() };
        let host = Node::of(machine, SocketKind::Package, Rules::default());
        let Ok(plan) = berth_placement::plan(&request, &host, &claims) else { return Ok(()) };
        let count = |cpus: &CpuSet, sets: [&CpuSet; 2]| sets.iter().filter(|set| cpus.intersects(set)).count();
        let use_of = |cpus: &CpuSet| {
            let pools = count(cpus, [&claims.pools, &claims.pools_again[0]]);
            (pools, count(cpus, [&claims.bindings, &claims.bindings_again[0]]))
        };
        let whole = (0..host.table().cores.len()).map(|core| host.table().cpus(host.table().cores.members(core as u32).iter().copied()));
        let mut cheapest: Vec<_> = whole.map(|cpus| use_of(&cpus)).collect();
        cheapest.sort_unstable();
        cheapest.truncate(amount as usize);
        let mut found: Vec<_> = plan.chosen.unwrap().of_task(0).iter().map(|core| use_of(&core.cpus)).collect();
        found.sort_unstable();
        prop_assert_eq!(found, cheapest);
    }

    #[test]
    fn every_strategy_keeps_to_cores_that_can_be_had(
        tasks in 1u32..6, amount in 1u32..5, step in 1u32..5, kind in 0usize..6, scope in 0usize..2,
        own in proptest::collection::btree_set(0u32..32, 1..32),
        taken in proptest::collection::btree_set(0u32..64, 0..20),
        shared in proptest::collection::btree_set(0u32..64, 0..20),
        pools in proptest::collection::btree_set(0u32..64, 0..20),
        machine in machines(),
    ) {
        let scope = ["task:", "host:"][scope];
        let strategy = match kind {
            0 => format!("linear:{amount}"),
            1 => format!("linear:{amount}:0,{step}"),
            2 => format!("striding:{amount}:{step}"),
            3 => format!("striding:{amount}:{step}:0,{step}"),
            4 => format!("explicit:0,{amount}"),
            _ => format!("explicit:0,0:1,{step}"),
        };
        let set = |list: std::collections::BTreeSet<u32>| list.into_iter().map(CpuId).collect::<CpuSet>();
        let request = Request {
            tasks,
            binding: Some(format!("{scope}{strategy}").parse().unwrap()),
            allocation: Allocation::Cores {
                cores: own.into_iter().map(CoreIdx).collect(),
                configured: machine.core_count() as u32,
            },
            ..Request::default()
        };
        let claims = Claims { taken: set(taken), shared: set(shared), pools: set(pools), ..Claims::default() };
        let host = Node::of(machine, SocketKind::Package, Rules::default());
        let Ok(plan) = berth_placement::plan(&request, &host, &claims) else { return Ok(()) };
        let Some(chosen) = &plan.chosen else {
            prop_assert_eq!(&plan.decision.rule, &Rule::BindingFailed);
            return Ok(());
        };
        let whole = Request { binding: None, cpu_bind: cpu_bind("none", Release::NEWEST).unwrap(), tasks: 1, ..request.clone() };
        let all = plan_batch(&whole, &host, &claims).unwrap().tasks.remove(0).cpus;
        let apart = scope == "task:" && kind < 4;
        prop_assert_eq!(chosen.lists().len(), if apart { tasks as usize } else { 1 });
        let mut seen = CpuSet::new();
        for task in chosen.lists() {
            for core in task {
                prop_assert!(core.cpus.is_subset(&all), "outside the allocation");
                prop_assert!(!core.cpus.intersects(&claims.taken), "taken");
                prop_assert!(!core.cpus.intersects(&seen), "twice");
                seen.insert_all(&core.cpus);
            }
        }
        prop_assert_eq!(&chosen.to_string().parse::<Chosen>().unwrap(), chosen);
    }

    #[test]
    fn no_text_makes_the_grammar_panic(text in "\\PC{0,60}", known in "(set:|env |pe,)?(host:)?(linear|striding|explicit|none)[:;,0-9]{0,12}") {
        for text in [text, known] {
            if let Ok(binding) = text.parse::<Binding>() {
                let again: Binding = binding.to_string().parse().unwrap();
                prop_assert_eq!(binding, again);
            }
            let _ = text.parse::<Binding>().map_err(|why| why.to_string());
            let _ = cpu_bind(&text, Release::NEWEST).map_err(|why| why.to_string());
            let _ = distribution(&text);
            let _ = CpuSet::from_list(&text);
            let _ = CpuSet::from_hex(&text);
        }
    }

    #[test]
    fn lists_and_masks_mean_the_same_there_and_back(cpus in proptest::collection::btree_set(0u32..3000, 0..40)) {
        let set: CpuSet = cpus.iter().copied().map(CpuId).collect();
        prop_assert_eq!(&CpuSet::from_list(&set.to_string()).unwrap(), &set);
        prop_assert_eq!(&CpuSet::from_hex(&set.to_short_hex()).unwrap(), &set);
        prop_assert_eq!(set.iter().map(|cpu| cpu.0).collect::<Vec<_>>(), cpus.into_iter().collect::<Vec<_>>());
    }
}
