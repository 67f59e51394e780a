//! `cargo bench -p berth-placement`: what planning alone costs: a task for every core by each kind of
//! wish, beside `--cpu-bind=cores`. Two packages, L3 caches of eight cores, two hardware threads a core,
//! a GPU for each of four L3 caches or fewer. With a wish behind the command only that one is planned,
//! as often as the second word says, for a count of instructions.

use std::hint::black_box;
use std::time::Instant;

use berth_placement::topology::devices::Pci;
use berth_placement::{
    Claims, Core, CpuBind, CpuId, CpuSet, Device, DeviceKind, Level, Machine, Mapping, Node,
    NumaId, NumaNode, Package, Parts, PciAddress, Request, Rules, SocketKind, plan,
};

const CORES: [u32; 6] = [16, 64, 128, 256, 512, 1024];
const CORES_OF_L3: u32 = 8;
const THREADS: u32 = 2;
const MOST_GPUS: u32 = 8;
/// Plans of each wish; they take turns.
const TURNS: usize = 301;
/// The wishes, the first of which the others are measured by.
const WISHES: [&str; 5] = ["cores", "auto", "l3cache:pe=4", "near", "near -c8"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().filter(|word| *word != "--bench").collect();
    if let [wish, times, cores] = words[..] {
        let number = |text: &String| text.parse::<u32>().expect("a number");
        let (node, request) = (node(number(cores)), request(wish, number(cores)));
        (0..number(times)).for_each(|_| drop(planned(&request, &node)));
        return;
    }
    println!(
        "| tasks | {} |",
        WISHES
            .map(|wish| format!("{wish}, µs, times cores"))
            .join(" | ")
    );
    println!("|---:{}|", "|---:".repeat(WISHES.len()));
    for cores in CORES {
        let node = node(cores);
        let mut least = [f64::INFINITY; WISHES.len()];
        let requests = WISHES.map(|wish| request(wish, cores));
        for _ in 0..TURNS {
            for (least, request) in least.iter_mut().zip(&requests) {
                let since = Instant::now();
                let plan = planned(request, &node);
                *least = least.min(since.elapsed().as_secs_f64() * 1e6);
                drop(plan);
            }
        }
        let cell = |time: f64| format!("{time:.1}, {:.1}", time / least[0]);
        println!("| {cores} | {} |", least.map(cell).join(" | "));
    }
}

fn planned(request: &Request, node: &Node) -> berth_placement::Plan {
    let claims = Claims::default();
    black_box(plan(black_box(request), node, &claims).expect("a plan"))
}

/// A task for every core; where each has several, so many tasks fewer.
fn request(wish: &str, cores: u32) -> Request {
    let mut request = Request {
        tasks: cores,
        ..Request::default()
    };
    match wish {
        "cores" => {
            request.cpu_bind = CpuBind {
                level: Some(Level::Cores),
                ..CpuBind::default()
            };
        }
        "auto" => request.binding = Some("auto".parse().expect("a binding")),
        "near" => request.near = Some("gpu".parse().expect("devices")),
        "near -c8" => {
            request.near = Some("gpu".parse().expect("devices"));
            (request.tasks, request.cpus_per_task) = (cores / 4, 8);
        }
        map => {
            request.mapping =
                Mapping::of(Some(map.parse().expect("a mapping")), None, None).expect("a mapping");
            request.tasks = cores / 4;
        }
    }
    request
}

fn node(cores: u32) -> Node {
    let cpus =
        |cores: std::ops::Range<u32>| (cores.start * THREADS..cores.end * THREADS).map(CpuId);
    let half = cores / 2;
    let packages = [0..half, half..cores];
    let caches = (0..cores / CORES_OF_L3).map(|at| at * CORES_OF_L3..(at + 1) * CORES_OF_L3);
    let caches: Vec<CpuSet> = caches.map(|own| cpus(own).collect()).collect();
    let gpus = MOST_GPUS.min(caches.len() as u32);
    let every = caches.len() / gpus as usize;
    let core = |core| Core {
        pus: cpus(core..core + 1).collect(),
    };
    let parts = Parts {
        packages: packages
            .clone()
            .map(|own| Package {
                cores: own.map(core).collect(),
            })
            .into(),
        numa_nodes: (0..)
            .zip(packages)
            .map(|(id, own)| NumaNode {
                id: NumaId(id),
                cpus: cpus(own).collect(),
            })
            .collect(),
        allowed: cpus(0..cores).collect(),
        devices: (0u8..).zip(caches.iter().step_by(every)).map(gpu).collect(),
        l3_caches: caches,
        ..Parts::default()
    };
    let machine = Machine::new(parts).expect("a machine");
    Node::of(machine, SocketKind::Package, Rules::default())
}

fn gpu((bus, cpus): (u8, &CpuSet)) -> Device {
    let address = PciAddress {
        bus,
        ..PciAddress::default()
    };
    Device {
        kind: DeviceKind::Gpu,
        names: Vec::new(),
        pci: Some(Pci {
            address,
            class: 0x0302,
            ..Pci::default()
        }),
        cpus: cpus.clone(),
        numa_node: None,
    }
}
