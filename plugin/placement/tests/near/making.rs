//! Machines with GPUs, requests from words, and answers as texts.

use berth_placement::topology::devices::Pci;
use berth_placement::*;

/// Packages × NUMA nodes × L3 caches × cores × threads, numbered with the second threads last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size(pub(crate) [u32; 5]);

impl Size {
    /// CPUs of each object of so many.
    pub(crate) fn parts(self, count: u32) -> Vec<CpuSet> {
        let [packages, numa, l3, cores, threads] = self.0;
        let all = packages * numa * l3 * cores;
        let each = all / count;
        let cpus = |object: u32| {
            let own = object * each..(object + 1) * each;
            own.flat_map(move |core| (0..threads).map(move |thread| CpuId(thread * all + core)))
        };
        (0..count).map(|object| cpus(object).collect()).collect()
    }
}

/// A GPU on this bus, and the list of CPUs next to it; an empty list is no place.
pub(crate) type Gpu<'a> = (u8, &'a str);

pub(crate) fn gpu((bus, cpus): Gpu<'_>) -> Device {
    let address = PciAddress {
        bus,
        ..PciAddress::default()
    };
    let pci = Pci {
        address,
        class: 0x0302,
        vendor: 0x10de,
        ..Pci::default()
    };
    Device {
        kind: DeviceKind::Gpu,
        names: vec![format!("card{bus}")],
        pci: Some(pci),
        cpus: CpuSet::from_list(cpus).unwrap_or_default(),
        numa_node: None,
    }
}

pub(crate) fn machine(size: Size, gpus: &[Gpu<'_>]) -> Machine {
    let [packages, numa, l3, cores, threads] = size.0;
    let core = |cpus: &CpuSet| Core {
        pus: cpus.iter().collect(),
    };
    let all = size.parts(packages * numa * l3 * cores);
    assert_eq!(all[0].count() as u32, threads);
    let of_package = all.chunks((numa * l3 * cores) as usize);
    let nodes = size.parts(packages * numa);
    Machine::new(Parts {
        packages: of_package
            .map(|cpus| Package {
                cores: cpus.iter().map(core).collect(),
            })
            .collect(),
        numa_nodes: (0..)
            .zip(nodes)
            .map(|(id, cpus)| NumaNode {
                id: NumaId(id),
                cpus,
            })
            .collect(),
        l3_caches: size.parts(packages * numa * l3),
        allowed: all.iter().flat_map(CpuSet::iter).collect(),
        devices: gpus.iter().copied().map(gpu).collect(),
        ..Parts::default()
    })
    .unwrap()
}

pub(crate) fn node(size: [u32; 5], gpus: &[Gpu<'_>]) -> Node {
    let machine = machine(Size(size), gpus);
    Node::of(machine, SocketKind::Package, Rules::default())
}

/// Eight L3 caches of eight cores in four NUMA nodes; the devices' order is not that of the caches.
pub(crate) fn eight_dies() -> Node {
    node(
        [1, 4, 2, 8, 2],
        &[
            (0xc1, "48-55,112-119"),
            (0xc6, "56-63,120-127"),
            (0xc9, "16-23,80-87"),
            (0xce, "24-31,88-95"),
            (0xd1, "0-7,64-71"),
            (0xd6, "8-15,72-79"),
            (0xd9, "32-39,96-103"),
            (0xde, "40-47,104-111"),
        ],
    )
}

/// Two packages of six cores, with two GPUs each.
pub(crate) fn two_packages() -> Node {
    let (first, second) = ("0-5,12-17", "6-11,18-23");
    let gpus = [(1, first), (2, first), (0x81, second), (0x82, second)];
    node([2, 1, 1, 6, 2], &gpus)
}

pub(crate) fn level(word: &str) -> Option<Level> {
    let bind = berth_srun::spelling::cpu_bind(word, berth_srun::Release::NEWEST);
    bind.unwrap().level
}

/// A request from words such as `n=4 c=2 near=gpu:2`.
pub(crate) fn ask(text: &str) -> Request {
    let mut ask = Request::default();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let list = || CpuSet::from_list(value).unwrap();
        match key {
            "n" => ask.tasks = value.parse().unwrap(),
            "c" => ask.cpus_per_task = value.parse().unwrap(),
            "near" => ask.near = Some(value.parse().unwrap()),
            "one_thread" => ask.cpu_bind.one_thread = true,
            "level" => ask.cpu_bind.level = level(value),
            "cpus" => ask.allocation = Allocation::Cpus(list()),
            "reserved" => ask.reserved = list(),
            "O" => ask.overcommit = true,
            "map" => {
                let map = Some(value.parse().unwrap());
                ask.mapping = Mapping::of(map, None, None).unwrap();
            }
            "bind" => {
                let map = ask.mapping.take().and_then(|mapping| mapping.map);
                let bind = Some(value.parse().unwrap());
                ask.mapping = Mapping::of(map, None, bind).unwrap();
            }
            "binding" => ask.binding = Some(value.parse().unwrap()),
            "list" => {
                ask.cpu_bind =
                    berth_srun::spelling::cpu_bind(value, berth_srun::Release::NEWEST).unwrap();
            }
            other => panic!("unknown word {other}"),
        }
    }
    ask
}

pub(crate) fn planned(ask: &Request, node: &Node) -> Result<Plan, Refusal> {
    plan(ask, node, &Claims::default())
}

/// Each task's CPUs, or the refusal's text.
pub(crate) fn gives(node: &Node, ask: &Request) -> String {
    match planned(ask, node) {
        Ok(plan) => {
            let cpus: Vec<_> = plan
                .tasks
                .iter()
                .map(|task| task.cpus.to_string())
                .collect();
            cpus.join(" ")
        }
        Err(why) => format!("refused: {why}"),
    }
}

#[track_caller]
pub(crate) fn same(node: &Node, request: &str, cpus: &str) {
    assert_eq!(gives(node, &ask(request)), cpus, "{request}");
}

/// The notes of a request that runs.
pub(crate) fn notes(node: &Node, request: &Request) -> Vec<String> {
    let plan = planned(request, node).unwrap();
    plan.notes.iter().map(ToString::to_string).collect()
}

/// Each task's devices by their bus, and how far they are.
pub(crate) fn devices(node: &Node, ask: &Request) -> String {
    let near = planned(ask, node).unwrap().near.unwrap();
    let all = node.machine().unwrap().devices();
    let bus = |at: u32| format!("{:02x}", all[at as usize].pci.unwrap().address.bus);
    let task = |(id, task): (usize, &berth_placement::answer::near::NearTask)| {
        let own: Vec<_> = near.devices(id).map(bus).collect();
        format!("{} ({})", own.join("+"), task.distance)
    };
    let tasks: Vec<_> = near.tasks.iter().enumerate().map(task).collect();
    tasks.join(" ")
}
