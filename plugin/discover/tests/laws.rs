//! Laws over machines as hwloc describes them.

mod common;
mod files;

use berth_discover::{Source, discover};
use berth_placement::*;
use berth_srun::{Release, spelling};
use files::machines;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

/// Requests a machine and law.
const CASES: u32 = 300;

/// Checks a law on every machine.
fn on_every_machine<S: Strategy>(
    requests: &S,
    law: impl Fn(S::Value, &Machine, SocketKind) -> Result<(), TestCaseError>,
) {
    for (path, machine) in machines() {
        for kind in [SocketKind::Package, SocketKind::Numa, SocketKind::L3] {
            let checked = TestRunner::new(common::config(CASES))
                .run(requests, |ask| law(ask, &machine, kind));
            checked.unwrap_or_else(|why| panic!("{} as {kind:?}: {why}", path.display()));
        }
    }
}

fn distributions() -> impl Strategy<Value = Distribution> {
    let texts = [
        "*",
        "block:block",
        "block:cyclic",
        "block:fcyclic",
        "cyclic:fcyclic:block",
        "plane=2",
    ];
    proptest::sample::select(
        texts
            .map(|text| spelling::distribution(text).unwrap())
            .to_vec(),
    )
}

/// In srun's words; an empty text asks for nothing.
fn bound(text: &str) -> CpuBind {
    match text {
        "" => CpuBind::default(),
        text => spelling::cpu_bind(text, Release::NEWEST).unwrap(),
    }
}

fn binds() -> impl Strategy<Value = CpuBind> {
    let texts = [
        "",
        "threads",
        "cores",
        "sockets",
        "ldoms",
        "one_thread",
        "cores,one_thread",
    ];
    proptest::sample::select(texts.map(bound).to_vec())
}

prop_compose! {
    fn requests()(
        tasks in 1u32..40, cpus_per_task in 1u32..9, cpu_bind in binds(),
        distribution in distributions(), overcommit in any::<bool>(),
        ntasks_per_socket in proptest::option::of(1u32..4),
        owned in proptest::collection::vec(any::<bool>(), 64),
        affinity in any::<bool>(),
    ) -> (Request, Rules, Vec<bool>) {
        let ask = Request { tasks, cpus_per_task, cpu_bind, distribution, overcommit, ntasks_per_socket, ..Request::default() };
        // Off, it widens to whole NUMA nodes, as task/affinity does.
        let fixes = if affinity { Fixes::NONE.with(Fix::LdomsInside, true) } else { Fixes::ALL };
        (ask, Rules { fixes, ..Rules::default() }, owned)
    }
}

/// The request on a part of a machine, and the CPUs of that part.
fn on_a_part(mut ask: Request, owned: &[bool], machine: &Machine) -> (Request, CpuSet) {
    let own: CpuSet = machine
        .cpus()
        .iter()
        .zip(owned.iter().cycle())
        .filter_map(|(cpu, own)| own.then_some(cpu))
        .collect();
    ask.allocation = Allocation::Cpus(own.clone());
    (ask, own)
}

/// The first law of all: a task is somewhere, and nowhere it has no right to be.
#[test]
fn every_task_has_cpus_of_the_step_and_the_text_says_which() {
    on_every_machine(&requests(), |(ask, rules, owned), machine, kind| {
        let (ask, own) = on_a_part(ask, &owned, machine);
        prop_assume!(!own.is_empty());
        let node = Node::of(machine.clone(), kind, rules);
        let Ok(plan) = plan(&ask, &node, &Claims::default()) else {
            return Ok(());
        };
        prop_assert_eq!(plan.tasks.len(), ask.tasks as usize, "every local id");
        let text = plan.text().unwrap();
        let masks: Vec<_> = text
            .split(',')
            .map(|mask| CpuSet::from_hex(mask).unwrap())
            .collect();
        for (task, mask) in plan.tasks.iter().zip(masks.iter().cycle()) {
            prop_assert!(!task.cpus.is_empty());
            prop_assert!(task.cpus.is_subset(&own), "{} outside {own}", task.cpus);
            prop_assert_eq!(&task.cpus, mask);
        }
        Ok(())
    });
}

/// A case that the law above once failed: slurmd's map of a machine with a core offline names two
/// CPUs twice and others never, here with compat=affinity's rules.
#[test]
fn cpus_that_slurmds_map_does_not_name_are_the_steps_all_the_same() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/topologies/vm-2x4x2-hole.xml"
    );
    let found = discover(&Source::parse(file).expect("a source")).expect("a machine");
    for kind in [SocketKind::Package, SocketKind::Numa, SocketKind::L3] {
        let rules = Rules {
            fixes: Fixes::NONE.with(Fix::LdomsInside, true),
            ..Rules::default()
        };
        let node = Node::of(found.machine.clone(), kind, rules);
        for own in ["14", "15", "14-15"].map(|list| CpuSet::from_list(list).expect("a list")) {
            let ask = Request {
                allocation: Allocation::Cpus(own.clone()),
                ..Request::default()
            };
            let plan = plan(&ask, &node, &Claims::default()).expect("nothing was asked for");
            assert_eq!(plan.tasks[0].cpus, own, "{kind:?}");
        }
    }
}

/// `--cpu-bind=threads` gives the width that was asked, or says that it shrank
/// (`_task_layout_lllp_cyclic` takes exactly `cpus_per_task` of them).
#[test]
fn width_as_asked_or_said() {
    on_every_machine(&requests(), |(mut ask, _, owned), machine, kind| {
        ask.cpu_bind = bound("threads");
        ask.overcommit = false;
        let (ask, _) = on_a_part(ask, &owned, machine);
        let node = Node::of(machine.clone(), kind, Rules::default());
        if let Ok(plan) = plan(&ask, &node, &Claims::default()) {
            let shrunk = plan.decision.cpus_per_task < ask.cpus_per_task;
            let is_told = |note: &Note| matches!(note, Note::CpusPerTaskShrunk { .. });
            prop_assert_eq!(shrunk, plan.notes.iter().any(is_told));
            for task in &plan.tasks {
                prop_assert!(task.cpus.count() <= plan.decision.cpus_per_task as usize);
            }
            let alone = u64::from(ask.tasks) * u64::from(plan.decision.cpus_per_task);
            if ask.ntasks_per_socket.is_none() && alone <= machine.cpus().count() as u64 {
                let widths: Vec<_> = plan
                    .tasks
                    .iter()
                    .map(|task| task.cpus.count() as u32)
                    .collect();
                prop_assert!(
                    widths
                        .iter()
                        .all(|width| *width == plan.decision.cpus_per_task),
                    "{widths:?}"
                );
            }
        }
        Ok(())
    });
}

/// One thread a task on a whole machine: block fills a socket before it goes on to the next,
/// cyclic gives the next task the next socket that has room.
#[test]
fn block_fills_and_cyclic_goes_round() {
    on_every_machine(&(1u32..200), |tasks, machine, kind| {
        let node = Node::of(machine.clone(), kind, Rules::default());
        let sockets = machine.sockets(kind);
        let cpus: Vec<CpuSet> = sockets
            .iter()
            .map(|cores| {
                cores
                    .iter()
                    .flat_map(|core| machine.pus_of(*core).to_vec())
                    .collect()
            })
            .collect();
        let tasks = tasks.min(machine.cpus().count() as u32);
        let socket_of =
            |task: &TaskPlan| cpus.iter().position(|socket| task.cpus.is_subset(socket));
        let of = |order: &str| -> Vec<usize> {
            let ask = Request {
                tasks,
                cpu_bind: bound("threads"),
                distribution: spelling::distribution(order).unwrap(),
                ..Request::default()
            };
            let plan = plan(&ask, &node, &Claims::default()).unwrap();
            plan.tasks
                .iter()
                .map(|task| socket_of(task).unwrap())
                .collect()
        };
        let mut room: Vec<usize> = cpus.iter().map(CpuSet::count).collect();
        let block = of("block:block");
        prop_assert!(block.is_sorted(), "{block:?}");
        let mut next = 0;
        for found in of("block:cyclic") {
            while room[next % room.len()] == 0 {
                next += 1;
            }
            prop_assert_eq!(found, next % room.len());
            room[found] -= 1;
            next += 1;
        }
        Ok(())
    });
}

/// `cores` with one CPU a task: no core twice while there is one for each task.
#[test]
fn no_core_twice_while_there_is_room() {
    let requested = (1u32..200, distributions());
    on_every_machine(&requested, |(tasks, distribution), machine, kind| {
        let tasks = tasks.min(machine.core_count() as u32);
        let cpu_bind = bound("cores");
        let ask = Request {
            tasks,
            cpu_bind,
            distribution,
            ..Request::default()
        };
        let node = Node::of(machine.clone(), kind, Rules::default());
        let plan = plan(&ask, &node, &Claims::default()).unwrap();
        let mut seen = CpuSet::new();
        for task in &plan.tasks {
            prop_assert!(!seen.intersects(&task.cpus), "{:?}", plan.tasks);
            seen.insert_all(&task.cpus);
        }
        Ok(())
    });
}
