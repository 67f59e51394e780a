//! `--binding=auto`: machine, request, each task's CPUs. The machines of the specification, then what
//! stands beside it: `-c`, `pack`, `smt=`, other steps, core kinds and isolated CPUs.

use berth_placement::*;

/// Objects of a machine: packages with NUMA nodes with L3 caches with so many cores.
type Packages<'a> = &'a [&'a [&'a [u32]]];

/// Each core has `threads` CPUs, numbered one after the other.
fn parts(packages: Packages<'_>, threads: u32) -> Parts {
    let mut next = 0;
    let mut parts = Parts::default();
    for nodes in packages {
        let mut cores = Vec::new();
        for caches in *nodes {
            let first = next;
            for count in *caches {
                let start = next;
                for _ in 0..*count {
                    let pus = (next..next + threads).map(CpuId).collect();
                    cores.push(Core { pus });
                    next += threads;
                }
                parts.l3_caches.push((start..next).map(CpuId).collect());
            }
            parts.numa_nodes.push(NumaNode {
                id: NumaId(parts.numa_nodes.len() as u32),
                cpus: (first..next).map(CpuId).collect(),
            });
        }
        parts.packages.push(Package { cores });
    }
    parts.allowed = CpuSet::first(next);
    parts
}

fn node(parts: Parts) -> Node {
    let machine = Machine::new(parts).unwrap();
    Node::of(machine, SocketKind::Package, Rules::default())
}

fn ask(tasks: u32, binding: &str) -> Request {
    Request {
        tasks,
        binding: Some(binding.parse().unwrap()),
        ..Request::default()
    }
}

fn list(text: &str) -> CpuSet {
    CpuSet::from_list(text).unwrap()
}

/// Each task's CPUs, and the notes behind them.
fn answer(node: &Node, request: &Request, claims: &Claims) -> String {
    match plan(request, node, claims) {
        Ok(plan) => {
            let tasks: Vec<_> = plan
                .tasks
                .iter()
                .map(|task| task.cpus.to_string())
                .collect();
            let notes: Vec<_> = plan.notes.iter().map(|note| format!(" # {note}")).collect();
            tasks.join(" ") + &notes.join("")
        }
        Err(why) => format!("refused: {why}"),
    }
}

#[track_caller]
fn gives(node: &Node, tasks: u32, binding: &str, expected: &str) {
    let found = answer(node, &ask(tasks, binding), &Claims::default());
    assert_eq!(found, expected, "{tasks} {binding}");
}

#[test]
fn tasks_go_to_whole_objects_first() {
    let two = node(parts(&[&[&[4]], &[&[4]]], 1));
    gives(&two, 1, "auto", "0-7");
    gives(&two, 2, "auto", "0-3 4-7");
    // As hwloc-distrib; 3, 3 and 2 would be more even, and one task would be on both packages.
    gives(&two, 3, "auto", "0-1 2-3 4-7");
    gives(&two, 5, "auto", "0-1 2 3 4-5 6-7");
    gives(&two, 8, "auto", "0 1 2 3 4 5 6 7");
    // Fewer tasks than objects: runs of neighbours.
    let caches = node(parts(&[&[&[2, 2, 2, 2]]], 1));
    gives(&caches, 3, "auto", "0-3 4-5 6-7");
    // An object has at least as many tasks as caches, where every cache can have its own.
    let uneven = node(parts(&[&[&[8]], &[&[1, 1, 1, 1, 1, 1, 1, 1]]], 1));
    gives(&uneven, 9, "auto", "0-7 8 9 10 11 12 13 14 15");
}

/// All of a pool's cores or none; and no task pays with more than half of its own.
#[test]
fn cores_of_pools_are_left_out_where_each_task_has_others() {
    let two = node(parts(&[&[&[4]], &[&[4]]], 1));
    let gives = |node: &Node, tasks, pools, binding| {
        let claims = Claims {
            pools: list(pools),
            bindings: list("7"),
            ..Claims::default()
        };
        answer(node, &ask(tasks, binding), &claims)
    };
    assert_eq!(gives(&two, 2, "0-3", "auto"), "4-5 6-7");
    assert_eq!(gives(&two, 4, "0-3", "auto"), "4 5 6 7");
    assert_eq!(gives(&two, 5, "0-3", "auto"), "0-1 2 3 4-5 6-7");
    assert_eq!(gives(&two, 2, "0-6", "auto"), "0-3 4-7");
    assert_eq!(gives(&two, 2, "0-7", "auto"), "0-3 4-7");
    assert_eq!(gives(&two, 1, "0-3", "auto"), "4-7");
    assert_eq!(gives(&two, 1, "0-6", "auto"), "0-7");
    assert_eq!(gives(&two, 2, "0-2", "auto"), "0-3 4-7");
    // Not at the price of a core for each task, nor of isolated CPUs.
    let threads = node(parts(&[&[&[4]]], 2));
    assert_eq!(gives(&threads, 4, "0-3", "auto"), "0-1 2-3 4-5 6-7");
    assert_eq!(gives(&threads, 2, "0-3", "auto"), "4-5 6-7");
    let unshared = |node, tasks| gives(node, tasks, "", "auto");
    assert_eq!(gives(&threads, 5, "0-1", "auto"), unshared(&threads, 5));
    assert_eq!(gives(&two, 16, "0-6", "auto"), unshared(&two, 16));
    let mut some = parts(&[&[&[4]]], 1);
    some.isolated = list("3");
    assert_eq!(gives(&node(some), 1, "0-2", "auto"), "0-2");
}

#[test]
fn beyond_the_cores_tasks_share_them_by_threads_then_by_time() {
    let two = node(parts(&[&[&[1, 1]]], 2));
    gives(&two, 2, "auto", "0-1 2-3");
    gives(&two, 3, "auto", "0 1 2-3");
    gives(&two, 4, "auto", "0 1 2 3");
    gives(
        &two,
        5,
        "auto",
        "0 0 1 2 3 # 5 tasks on this node share 4 hardware threads, so some of them run by turns; use \
         fewer tasks on this node",
    );
    // With one thread per core there is nothing to share but time.
    let found = answer(&two, &ask(3, "auto:smt=1"), &Claims::default());
    assert!(
        found.starts_with("0 0 2 # 3 tasks on this node share 2"),
        "{found}"
    );
    gives(&two, 2, "auto:smt=1", "0 2");
    let one_thread = Request {
        threads_per_core: Some(1),
        ..ask(2, "auto")
    };
    assert_eq!(answer(&two, &one_thread, &Claims::default()), "0 2");
    let smt_decides = Request {
        threads_per_core: Some(1),
        ..ask(2, "auto:smt=2")
    };
    assert_eq!(answer(&two, &smt_decides, &Claims::default()), "0-1 2-3");
}

#[test]
fn cpus_per_task_are_the_beginning_of_each_share() {
    let two = node(parts(&[&[&[4, 4]], &[&[4, 4]]], 2));
    let of = |each, tasks, binding| {
        let request = Request {
            cpus_per_task: each,
            ..ask(tasks, binding)
        };
        answer(&two, &request, &Claims::default())
    };
    assert_eq!(of(4, 4, "auto"), "0-3 8-11 16-19 24-27");
    // CPUs come in whole cores.
    assert_eq!(of(3, 2, "auto"), "0-3 16-19");
    assert_eq!(
        of(4, 4, "auto:smt=1"),
        "0,2,4,6 8,10,12,14 16,18,20,22 24,26,28,30"
    );
    // One after the other; a task that would be under two caches begins with the next.
    assert_eq!(of(4, 4, "auto:pack"), "0-3 4-7 8-11 12-15");
    assert_eq!(of(6, 4, "auto:pack"), "0-5 8-13 16-21 24-29");
    // Under caches there is room for four such tasks, and for five one after the other.
    assert_eq!(of(6, 5, "auto:pack"), "0-5 6-11 12-17 18-23 24-29");
    assert_eq!(of(1, 2, "auto:pack"), "0-15 16-31");
    let found = of(9, 4, "auto");
    let says = "--binding=auto asks for 4 tasks × 9 CPUs; the step has 16 free cores with 32 CPUs to \
                use on this node, and the smallest share has 8; use fewer tasks or a smaller -c; no \
                task is bound";
    assert!(found.contains(says), "{found}");
    assert!(of(9, 4, "strict:auto").starts_with("refused: "));
    assert!(of(9, 4, "auto:pack").contains("no task is bound"));
    // Of a core's threads each task has fewer than it asks for.
    assert!(of(2, 17, "auto").contains("the smallest share has 1"));
}

#[test]
fn what_others_have_taken_is_not_divided() {
    let two = node(parts(&[&[&[4]], &[&[4]]], 2));
    let taken = |cpus: &str| Claims {
        taken: list(cpus),
        ..Claims::default()
    };
    // One CPU stands for its core.
    let found = answer(&two, &ask(2, "auto"), &taken("0,2"));
    assert_eq!(found, "4-7 8-15");
    let found = answer(&two, &ask(7, "auto"), &taken("0-3"));
    assert_eq!(found, "4-5 6-7 8 9 10-11 12-13 14-15");
    let found = answer(&two, &ask(2, "auto"), &taken("0-15"));
    assert!(
        found.contains("other steps are bound to all cores"),
        "{found}"
    );
    let part = Request {
        allocation: Allocation::Cpus(list("1,6-9")),
        ..ask(2, "auto")
    };
    assert_eq!(answer(&two, &part, &Claims::default()), "1,6-7 8-9");
}

/// Two packages of four cores; two of each are slow.
fn hybrid() -> Node {
    let mut hybrid = parts(&[&[&[4]], &[&[4]]], 1);
    let kind = |cpus, rank| CoreKind {
        cpus: list(cpus),
        rank: Some(rank),
        infos: Vec::new(),
    };
    hybrid.kinds = vec![kind("2-3,6-7", 0), kind("0-1,4-5", 1)];
    node(hybrid)
}

#[test]
fn each_kind_of_core_is_shared_out_by_itself() {
    let hybrid = hybrid();
    gives(&hybrid, 2, "auto", "0-1,4-5 2-3,6-7");
    gives(&hybrid, 4, "auto", "0-1 4-5 2-3 6-7");
    gives(&hybrid, 5, "auto", "0 1 4-5 2-3 6-7");
}

#[test]
fn a_core_kind_narrows_any_wish() {
    use berth_placement::request::keyword_options::CoreKindWish::{Any, Efficiency, Performance};
    let equal = node(parts(&[&[&[4]]], 1));
    let hybrid = hybrid();
    let of = |core_kind, request: Request| {
        let request = Request {
            core_kind,
            ..request
        };
        answer(&hybrid, &request, &Claims::default())
    };
    let auto = || ask(2, "auto");
    assert_eq!(of(Performance, auto()), "0-1 4-5");
    assert_eq!(of(Efficiency, auto()), "2-3 6-7");
    assert_eq!(of(Any, auto()), "0-1,4-5 2-3,6-7");
    assert_eq!(of(Efficiency, ask(2, "linear:2")), "2-3 6-7");
    let level = |mode, level| Request {
        tasks: 2,
        cpu_bind: CpuBind {
            mode,
            level,
            ..CpuBind::default()
        },
        ..Request::default()
    };
    let cores = level(None, Some(Level::Cores));
    assert_eq!(of(Efficiency, cores), "2 6");
    let unbound = level(Some(Mode::Free), None);
    assert_eq!(of(Efficiency, unbound), "2-3,6-7 2-3,6-7");
    let named = level(Mode::read("map_cpu", "2,0").map(Result::unwrap), None);
    assert!(of(Efficiency, named).contains("names CPU 0; this step owns CPUs 2-3,6-7"));
    let none = Request {
        allocation: Allocation::Cpus(list("0-1")),
        ..auto()
    };
    assert!(of(Efficiency, none).contains("this step owns no such core on this node"));
    let lacks = Request {
        core_kind: Performance,
        ..auto()
    };
    let why = answer(&equal, &lacks, &Claims::default());
    assert!(
        why.contains("this node has no such cores that Slurm knows"),
        "{why}"
    );
}

/// It numbers the whole node, which the step has, and not only the cores of a kind.
#[test]
fn a_core_kind_beside_rank_is_named_as_the_reason() {
    let of = |allocation| {
        let request = Request {
            core_kind: berth_placement::request::keyword_options::CoreKindWish::Efficiency,
            cpu_bind: CpuBind {
                mode: Some(Mode::Rank),
                ..CpuBind::default()
            },
            allocation,
            ..Request::default()
        };
        answer(&hybrid(), &request, &Claims::default())
    };
    let why = of(Allocation::Whole);
    let says = "--cpu-bind=rank numbers the CPUs of the whole node, and --core-kind=efficiency leaves \
                this step CPUs 2-3,6-7; leave out --core-kind";
    assert!(why.contains(says), "{why}");
    let part = of(Allocation::Cpus(list("0-3")));
    assert!(
        part.contains("this step owns only CPUs 2-3 on this node"),
        "{part}"
    );
}

#[test]
fn isolated_cpus_are_left_alone() {
    let mut some = parts(&[&[&[4]]], 2);
    some.isolated = list("1,6-7");
    let some = node(some);
    gives(&some, 2, "auto", "0,2-3 4-5");
    let only = Request {
        allocation: Allocation::Cpus(list("6-7")),
        ..ask(1, "auto")
    };
    assert_eq!(answer(&some, &only, &Claims::default()), "6-7");
}

#[test]
fn batch_scripts_and_the_environment_get_the_allocation() {
    let two = node(parts(&[&[&[4]], &[&[4]]], 1));
    let script = plan_batch(&ask(1, "auto"), &two, &Claims::default()).unwrap();
    assert_eq!(script.decision.rule, Rule::Batch);
    let env = plan(&ask(2, "env:auto"), &two, &Claims::default()).unwrap();
    let chosen = env.chosen.unwrap();
    assert_eq!(
        chosen.to_string(),
        "0,0=0:0,1=1:0,2=2:0,3=3;1,0=4:1,1=5:1,2=6:1,3=7"
    );
    assert!(env.tasks.iter().all(|task| task.cpus == list("0-7")));
}

#[test]
fn the_grammar() {
    for text in [
        "auto",
        "auto:pack",
        "auto:smt=2",
        "env:strict:auto:pack:smt=4",
    ] {
        assert_eq!(text.parse::<Binding>().unwrap().to_string(), text);
    }
    let same = "SET task:AUTO:smt=1:Pack".parse::<Binding>().unwrap();
    assert_eq!(same.to_string(), "auto:pack:smt=1");
    for (text, says) in [
        (
            "pe:auto",
            "expected a strategy other than auto, or no pe: and host: before it, here",
        ),
        ("host:auto", "expected a strategy other than auto"),
        ("auto:2", "expected pack or smt=THREADS, each once, here"),
        ("auto:pack:pack", "expected pack or smt=THREADS"),
        (
            "auto:smt=0",
            "expected the number of hardware threads to use of each core (1 to 65536) here",
        ),
        ("auto:smt=x", "use of each core (1 to 65536) here"),
        (
            "auto:smt",
            "expected '=' and the number of hardware threads to use of each core here",
        ),
        ("auto:", "expected pack or smt=THREADS"),
        (
            "automatic",
            "a strategy (none, linear, striding, explicit, auto)",
        ),
    ] {
        let why = text.parse::<Binding>().unwrap_err().to_string();
        assert!(why.contains(says), "{text}: {why}");
    }
}

/// slurmd counts both cores with one thread here, and without the fixes CPU 2 would be nobody's.
#[test]
fn the_tree_counts_under_either_compat() {
    let core = |pus: &[u32]| Core {
        pus: pus.iter().copied().map(CpuId).collect(),
    };
    let uneven = Parts {
        packages: vec![Package {
            cores: vec![core(&[0, 2]), core(&[1])],
        }],
        allowed: CpuSet::first(3),
        ..Parts::default()
    };
    let rules = Rules {
        fixes: Fixes::NONE,
        ..Rules::default()
    };
    let machine = Machine::new(uneven).unwrap();
    let affinity = Node::of(machine, SocketKind::Package, rules);
    gives(&affinity, 2, "auto", "0,2 1");
    gives(&affinity, 3, "auto", "0 2 1");
}
