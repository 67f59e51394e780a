//! The answers that the contract names, and what each rule says on small machines.

use berth_placement::*;

use super::machines::{answer, machine, regular, request, set};

fn gives(machine: &Machine, rows: &[(u32, &str, &str)]) {
    for (tasks, words, cpus) in rows {
        let found = answer(machine, *tasks, words, Allocation::Whole);
        assert_eq!(found, *cpus, "-n{tasks} {words}");
    }
}

fn refuses(machine: &Machine, rows: &[(u32, &str, &str)]) {
    for (tasks, words, why) in rows {
        let found = answer(machine, *tasks, words, Allocation::Whole);
        let says = found.starts_with("refused") && found.contains(why);
        assert!(says, "-n{tasks} {words}: {found}");
    }
}

/// `pack:2 [numa] l3:2 core:4 pu:2`
fn two_packages() -> Machine {
    regular(2, 1, 2, 4, 2)
}

/// Tasks, options, and the CPUs of each task.
const EXAMPLES: &[(u32, &str, &str)] = &[
    (6, "--map-by package", "0-15 0-15 0-15 16-31 16-31 16-31"),
    (
        6,
        "--map-by package --rank-by slot",
        "0-15 16-31 0-15 16-31 0-15 16-31",
    ),
    (
        6,
        "--map-by package:span",
        "0-15 16-31 0-15 16-31 0-15 16-31",
    ),
    (
        6,
        "--map-by l3cache --bind-to core",
        "0-1 2-3 8-9 10-11 16-17 24-25",
    ),
    (
        10,
        "--map-by package --bind-to l3cache",
        "0-7 0-7 0-7 0-7 8-15 16-23 16-23 16-23 16-23 24-31",
    ),
    (
        4,
        "--map-by package --bind-to l3cache:limit=1",
        "0-7 8-15 16-23 24-31",
    ),
    (4, "--map-by package --bind-to hwthread", "0 2 16 18"),
    (
        4,
        "--map-by package:hwtcpus --bind-to hwthread",
        "0 1 16 17",
    ),
    (4, "--map-by slot:pe=3", "0-5 6-11 16-21 22-27"),
    (4, "--map-by ppr:4:node:pe=3", "0-5 6-11 16-21 22-27"),
];

#[test]
fn the_contract_s_own_examples() {
    gives(&two_packages(), EXAMPLES);
    gives(
        &regular(1, 4, 2, 8, 2),
        &[(
            8,
            "--map-by ppr:1:l3cache:pe=7",
            "0-13 16-29 32-45 48-61 64-77 80-93 96-109 112-125",
        )],
    );
    let part = Allocation::Cpus(set("0,2,4,16-17"));
    let found = answer(
        &regular(2, 1, 2, 4, 2),
        4,
        "--map-by package --bind-to core",
        part,
    );
    assert_eq!(found, "0 2 4 16-17");
}

#[test]
fn defaults() {
    gives(
        &two_packages(),
        &[
            // Map by what is bound to, else core.
            (2, "--bind-to l3cache", "0-7 8-15"),
            (2, "--rank-by slot", "0-1 2-3"),
            (2, "--map-by :pe=2", "0-3 4-7"),
            // Two tasks go to cores, three to NUMA nodes.
            (2, "--map-by slot", "0-1 2-3"),
            (3, "--map-by slot", "0-15 0-15 0-15"),
            (2, "--map-by slot:hwtcpus", "0 1"),
            (
                9,
                "--map-by node",
                "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15 16-31",
            ),
            // More tasks than CPUs: unbound.
            (17, "--map-by slot", "unbound"),
            (4, "--map-by ppr:9:package", "unbound"),
            (4, "--map-by ppr:8:package --bind-to none", "unbound"),
            // Each hardware thread is a CPU.
            (3, "--map-by hwthread", "0 1 2"),
            (3, "--bind-to hwthread", "0 1 2"),
        ],
    );
}

#[test]
fn what_does_not_fit_names_what_fits() {
    refuses(
        &two_packages(),
        &[
            (17, "--map-by core", "at most 16 tasks"),
            (17, "--map-by slot --bind-to core", "at most 16 tasks"),
            (7, "--map-by l3cache:pe=3", "at most 4 tasks"),
            (5, "--map-by ppr:1:l3cache", "at most 4 tasks"),
            (
                5,
                "--map-by package --bind-to l3cache:limit=1",
                "at most 4 tasks",
            ),
            (2, "--map-by l3cache:pe=5", "a smaller pe="),
            (1, "--map-by slot:pe=9", "a smaller pe="),
            (3, "--map-by pe-list=0-1", "at most 2 tasks"),
            (
                1,
                "--map-by pe-list=16",
                "16 cores on this node; their numbers are 0 to 15",
            ),
            (1, "--map-by pe-list=7-8", "several packages"),
        ],
    );
    let flat = machine(["packages 0 1 2 3", "numa 0=0-3"]);
    refuses(
        &flat,
        &[(
            1,
            "--map-by l3cache",
            "has no l3cache; it has package, numa, core, hwthread",
        )],
    );
}

#[test]
fn lists_and_orders() {
    gives(
        &two_packages(),
        &[
            (2, "--map-by pe-list=3,0-1", "0-3,6-7 0-3,6-7"),
            (3, "--map-by pe-list=3,0-1:ordered", "6-7 0-1 2-3"),
            (
                3,
                "--map-by pe-list=3,0-1:ordered --bind-to hwthread",
                "3 0 1",
            ),
        ],
    );
    gives(
        &two_packages(),
        &[
            (
                4,
                "--map-by l3cache --bind-to core --rank-by span",
                "0-1 8-9 16-17 24-25",
            ),
            (
                5,
                "--map-by package --bind-to core --rank-by fill",
                "0-1 2-3 4-5 16-17 18-19",
            ),
            (
                4,
                "--map-by ppr:2:package --bind-to core --rank-by span",
                "0-1 16-17 2-3 18-19",
            ),
        ],
    );
}

#[test]
fn overload_begins_again_and_if_supported_stays_unbound() {
    let small = regular(2, 1, 1, 2, 1);
    gives(
        &small,
        &[
            (
                6,
                "--map-by package --bind-to core:overload-allowed",
                "0 1 0 2 3 2",
            ),
            (
                3,
                "--map-by package:pe=2 --bind-to core:overload",
                "0-1 0-1 2-3",
            ),
            (
                5,
                "--map-by slot --bind-to core:overload-allowed",
                "0 1 2 3 0",
            ),
            (
                3,
                "--map-by ppr:3:package --bind-to core:overload-allowed",
                "0 1 0",
            ),
            (
                3,
                "--map-by package --bind-to l3cache:limit=1:if-supported",
                "0-1 0-3 2-3",
            ),
        ],
    );
}

#[test]
fn kinds_that_nest_oddly() {
    // The L3 caches span NUMA nodes: the part inside counts.
    let wide = machine(["packages 0 1 2 3", "numa 0=0-1 1=2-3", "l3 0-3"]);
    gives(&wide, &[(2, "--map-by numa --bind-to l3cache", "0-1 2-3")]);
    // Some cores lie outside the L3.
    let outside = machine(["packages 0 1 2 3", "numa 0=0-3", "l3 0-1"]);
    gives(&outside, &[(2, "--map-by l3cache --bind-to core", "0 1")]);
    refuses(
        &outside,
        &[(3, "--map-by l3cache --bind-to core", "at most 2 tasks")],
    );
    // An L1 cache for each thread holds no core.
    let fine = machine(["packages 0-1 2-3", "numa 0=0-3", "l1 0 1 2 3"]);
    refuses(&fine, &[(1, "--map-by l1cache", "not one of")]);
    gives(&fine, &[(2, "--map-by l1cache:hwtcpus", "0 1")]);
    // Mixed cores: two cores of unequal width.
    let mixed = machine(["packages 0-1 2 3", "numa 0=0-3"]);
    gives(&mixed, &[(1, "--map-by slot:pe=2", "0-2")]);
}

#[test]
fn fewer_cpus_than_c_are_told() {
    let node = Node::of(two_packages(), SocketKind::Package, Rules::default());
    let notes = |words| {
        let request = request(2, words, Allocation::Whole).unwrap();
        plan(&request, &node, &Claims::default()).unwrap().notes
    };
    assert!(notes("--map-by core -c 2").is_empty());
    let told = notes("--map-by core -c 4");
    assert!(
        told.iter()
            .any(|note| note.to_string().contains("-c never becomes pe="))
    );
}

#[test]
fn threads_per_core_take_cpus_away_first() {
    let node = Node::of(two_packages(), SocketKind::Package, Rules::default());
    let mut ask = request(2, "--map-by l3cache", Allocation::Whole).unwrap();
    ask.threads_per_core = Some(1);
    let plan = plan(&ask, &node, &Claims::default()).unwrap();
    let lists: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| task.cpus.to_string())
        .collect();
    assert_eq!(lists, ["0,2,4,6", "8,10,12,14"]);
}

#[test]
fn two_wishes_contradict_each_other_and_none_overrides_all() {
    let node = Node::of(two_packages(), SocketKind::Package, Rules::default());
    let mut ask = request(2, "--map-by core", Allocation::Whole).unwrap();
    ask.binding = Some("linear:1".parse().unwrap());
    let both = plan(&ask, &node, &Claims::default()).unwrap_err();
    assert!(
        both.to_string()
            .contains("--binding=linear:1 and --map-by=core both choose")
    );
    ask.binding = None;
    ask.cpu_bind.mode = Mode::read("map_cpu", "0,1").map(|list| list.unwrap());
    let both = plan(&ask, &node, &Claims::default()).unwrap_err();
    assert!(
        both.to_string()
            .contains("--map-by=core and --cpu-bind=map_cpu:0,1 both choose")
    );
    ask.cpu_bind.mode = Some(Mode::Free);
    assert!(!plan(&ask, &node, &Claims::default()).unwrap().is_bound());
    // A level gives way.
    ask.cpu_bind.mode = None;
    ask.cpu_bind.level = Some(Level::Sockets);
    assert_eq!(
        plan(&ask, &node, &Claims::default()).unwrap().tasks[1]
            .cpus
            .to_string(),
        "2-3"
    );
}

#[test]
fn the_advice_for_too_many_tasks_helps() {
    let overload = "or let them share CPUs with :overload-allowed behind --bind-to";
    for (tasks, words, advice, helps) in [
        (
            17,
            "--map-by core",
            overload,
            "--map-by core --bind-to :overload-allowed",
        ),
        (
            5,
            "--map-by ppr:1:l3cache",
            "or a larger N in ppr:N:LEVEL",
            "--map-by ppr:2:l3cache",
        ),
        (
            3,
            "--map-by ppr:2:node",
            "or a larger N in ppr:N:LEVEL",
            "--map-by ppr:3:node",
        ),
        (
            3,
            "--map-by pe-list=0-1",
            "or name more CPUs in the list",
            "--map-by pe-list=0-2",
        ),
        (
            3,
            "--map-by pe-list=0-1:ordered",
            "or name more CPUs in the list",
            "--map-by pe-list=0-2:ordered",
        ),
        (
            5,
            "--map-by package --bind-to l3cache:limit=1",
            "or a larger limit= behind --bind-to",
            "--map-by package --bind-to l3cache:limit=2",
        ),
        (
            1,
            "--map-by ppr:9:package --bind-to core",
            "use a smaller N or pe=",
            "--map-by ppr:8:package --bind-to core",
        ),
    ] {
        refuses(&two_packages(), &[(tasks, words, advice)]);
        let found = answer(&two_packages(), tasks, helps, Allocation::Whole);
        assert!(!found.starts_with("refused"), "-n{tasks} {helps}: {found}");
    }
}
