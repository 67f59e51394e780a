//! Where `CPUs=` of slurm.conf counts cores, a bound core brings all of its hardware threads all the same, and
//! `-c` counts cores: machine, request, CPUs.

use std::sync::Arc;

use berth_placement::request::mapping::MappingTexts;
use berth_placement::topology::devices::Pci;
use berth_placement::*;

/// Two packages of four cores with two threads, and a GPU next to each.
fn node() -> Node {
    let gpu = |bus: u8, cpus: &str| Device {
        kind: DeviceKind::Gpu,
        names: Vec::new(),
        pci: Some(Pci {
            address: PciAddress {
                bus,
                ..PciAddress::default()
            },
            class: 0x0302,
            ..Pci::default()
        }),
        cpus: CpuSet::from_list(cpus).unwrap(),
        numa_node: None,
    };
    let machine = Machine::regular(2, 4, 2, Numbering::Block).unwrap();
    let gpus = vec![gpu(1, "0-7"), gpu(2, "8-15")];
    let machine = machine.with_devices(gpus).unwrap();
    let mut shape = Shape::of(&machine, SocketKind::Package);
    shape.cpus_are_cores = true;
    let node = Node::new(
        shape,
        Some(Arc::new(machine)),
        SocketKind::Package,
        Rules::default(),
    );
    assert!(node.counts_cores());
    node
}

/// A request from words such as `n=4 c=2 binding=auto`.
fn ask(text: &str) -> Request {
    let mut ask = Request::default();
    let mut mapping = MappingTexts::default();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "n" => ask.tasks = value.parse().unwrap(),
            "c" => ask.cpus_per_task = value.parse().unwrap(),
            "tpc" => ask.threads_per_core = Some(value.parse().unwrap()),
            "one_thread" => ask.cpu_bind.one_thread = true,
            "binding" => ask.binding = Some(value.parse().unwrap()),
            "near" => ask.near = Some(value.parse().unwrap()),
            "level" => {
                let release = berth_srun::Release::NEWEST;
                ask.cpu_bind = berth_srun::spelling::cpu_bind(value, release).unwrap();
            }
            "map" => mapping.map = Some(value),
            other => panic!("unknown word {other}"),
        }
    }
    ask.mapping = Mapping::read(mapping).unwrap();
    ask
}

fn gives(request: &str) -> (String, Vec<String>) {
    let plan = plan(&ask(request), &node(), &Claims::default());
    let plan = plan.unwrap_or_else(|why| panic!("{request}: {why}"));
    let cpus = plan.tasks.iter().map(|task| task.cpus.to_string());
    let notes = plan.notes.iter().map(ToString::to_string).collect();
    (cpus.collect::<Vec<_>>().join(" "), notes)
}

#[track_caller]
fn same(request: &str, cpus: &str) {
    assert_eq!(gives(request), (cpus.into(), vec![]), "{request}");
}

const EACH_CORE: &str = "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15";

#[test]
fn a_core_brings_all_its_threads() {
    for request in [
        "n=8 binding=linear:1",
        "n=8 binding=striding:1:1",
        "n=8 binding=auto",
        "n=8 map=core",
        "n=8 near=gpu",
        "n=8 near=gpu binding=auto",
        "n=8 near=gpu map=core",
    ] {
        same(request, EACH_CORE);
    }
    same("n=1 binding=explicit:0,1:1,1", "2-3,10-11");
    same("n=2 map=slot:pe=3", "0-5 8-13");
    same("n=3 map=hwthread", "0 1 2");
    // Beyond the cores by hardware threads.
    same("n=9 binding=auto", "0 1 2-3 4-5 6-7 8-9 10-11 12-13 14-15");
}

#[test]
fn but_with_an_option_or_a_hint() {
    let one_each = "0 2 4 6 8 10 12 14";
    for request in [
        "n=8 binding=linear:1",
        "n=8 binding=auto",
        "n=8 map=core",
        "n=8 near=gpu",
    ] {
        same(&format!("{request} one_thread"), one_each);
        same(&format!("{request} tpc=1"), one_each);
        same(&format!("{request} tpc=2"), EACH_CORE);
    }
    same("n=8 binding=auto:smt=1", one_each);
    // Slurm's own levels count as task/affinity does there.
    same("n=2 level=threads", "0 8");
}

#[test]
fn a_cpu_of_a_task_is_a_core() {
    for request in [
        "n=2 c=2 binding=auto",
        "n=2 c=2 near=gpu",
        "n=2 c=2 near=gpu binding=auto",
    ] {
        same(request, "0-3 8-11");
    }
    same("n=2 c=2 binding=auto:pack", "0-3 4-7");
    same("n=2 c=2 binding=auto:smt=1", "0,2 8,10");
    same("n=2 c=2 binding=auto one_thread", "0,2 8,10");
    same("n=2 c=2 near=gpu one_thread", "0,2 8,10");
    same("n=2 c=2 near=gpu level=threads", "0,2 8,10");
    same("n=2 c=2 map=slot:pe=2", "0-3 4-7");
    let (cpus, notes) = gives("n=2 c=2 map=core");
    assert_eq!(cpus, "0-1 2-3");
    assert_eq!(
        notes,
        [
            "-c 2 is requested, but --map-by=core gives task 0 on this node 1 CPU; -c never becomes pe=: add \
             :pe=N, or bind to a wider level"
        ]
    );
    let (cpus, notes) = gives("n=3 c=4 near=gpu");
    assert_eq!(cpus, "0-3 4-7 8-15");
    assert_eq!(
        notes,
        [
            "each task requests 4 CPUs, but task 0 on this node gets 2, because no more are left \
             together; use fewer tasks or a smaller -c"
        ]
    );
    let (_, notes) = gives("n=3 c=4 binding=auto");
    assert!(
        notes[0].contains("the step has 8 free cores with 8 CPUs to use on this node, and the smallest share has 2"),
        "{notes:?}"
    );
}
