//! `cargo bench -p berth-placement --bench cpusets`: what a step costs whose job's cpuset is chosen with it,
//! beside the same tasks by `--cpu-bind=cores` alone. Machines of eight NUMA nodes, of one and of two hardware
//! threads for each core. With a case behind the command only that one is planned, as often as the second
//! word says on as many cores as the third says, for a count of instructions.

use std::hint::black_box;
use std::time::Instant;

use berth_placement::request::cpuset::{Choice, Dynamic};
use berth_placement::{
    Claims, Core, CpuBind, CpuId, CpuSet, Level, Machine, Node, NumaId, NumaNode, Package, Parts,
    Plan, Request, Rules, SocketKind, StepCpuset, plan,
};

const CORES: [u32; 4] = [64, 128, 256, 512];
const NUMA_NODES: u32 = 8;
/// Plans of each case; they take turns.
const TURNS: usize = 301;
/// The cases, the first of which the others are measured by: all CPUs of the node, five eighths of them for
/// two tasks, and three sixteenths for two tasks where other cpusets hold some CPUs in each NUMA node.
const CASES: [&str; 7] = [
    "cores",
    "best fit, all",
    "first fit, all",
    "best fit, 5/8",
    "first fit, 5/8",
    "best fit, claims",
    "first fit, claims",
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().filter(|word| *word != "--bench").collect();
    if let [case, times, cores] = words[..] {
        let number = |text: &String| text.parse::<u32>().expect("a number");
        let one = One::of(case, number(cores), 1);
        (0..number(times)).for_each(|_| drop(one.planned()));
        return;
    }
    for threads in [1, 2] {
        println!("\n{threads} hardware threads for each core\n");
        table(threads);
    }
}

fn table(threads: u32) {
    let cases = CASES.map(|case| format!("{case}, µs, times cores"));
    println!("| cores | {} |", cases.join(" | "));
    println!("|---:|{}", "---:|".repeat(CASES.len()));
    for cores in CORES {
        let mut least = [f64::INFINITY; CASES.len()];
        let all = CASES.map(|case| One::of(case, cores, threads));
        for _ in 0..TURNS {
            for (least, one) in least.iter_mut().zip(&all) {
                let since = Instant::now();
                let plan = one.planned();
                *least = least.min(since.elapsed().as_secs_f64() * 1e6);
                drop(plan);
            }
        }
        let cell = |time: f64| format!("{time:.1}, {:.1}", time / least[0]);
        println!("| {cores} | {} |", least.map(cell).join(" | "));
    }
}

/// A case on a machine.
struct One {
    node: Node,
    request: Request,
    claims: Claims,
}

impl One {
    fn of(case: &str, cores: u32, threads: u32) -> Self {
        let (fit, share) = case.split_once(", ").unwrap_or((case, "all"));
        let rules = Rules {
            cpuset_first_fit: fit == "first fit",
            ..Rules::default()
        };
        let count = match share {
            "all" => cores,
            "claims" => cores * 3 / 16,
            _ => cores * 5 / 8,
        };
        let requested = Dynamic {
            ncpus: Some(count * threads),
            ..Dynamic::default()
        };
        let choice = Choice {
            requested,
            job_nodes: 1,
            is_count_typed: false,
        };
        // A number without a pattern; its high bits change most.
        let is_held = |cpu: &u32| cpu.wrapping_mul(0x9e37_79b9) >> 13 & 1 == 1;
        let held = (0..cores * threads).filter(is_held).map(CpuId);
        Self {
            node: node(cores, threads, rules),
            request: Request {
                tasks: if share == "all" { cores } else { 2 },
                cpu_bind: CpuBind {
                    level: Some(Level::Cores),
                    ..CpuBind::default()
                },
                cpuset: (fit != "cores").then_some(StepCpuset::Choose(choice)),
                ..Request::default()
            },
            claims: Claims {
                cpusets: match share {
                    "claims" => held.collect(),
                    _ => CpuSet::new(),
                },
                ..Claims::default()
            },
        }
    }

    fn planned(&self) -> Plan {
        black_box(plan(black_box(&self.request), &self.node, &self.claims).expect("a plan"))
    }
}

/// Two packages of four NUMA nodes; those of the other package are farther.
fn node(cores: u32, threads: u32, rules: Rules) -> Node {
    let each = cores / NUMA_NODES;
    let core = |core| Core {
        pus: (core * threads..(core + 1) * threads).map(CpuId).collect(),
    };
    let half = |at: u32| Package {
        cores: (at * cores / 2..(at + 1) * cores / 2).map(core).collect(),
    };
    let numa = |at: u32| NumaNode {
        id: NumaId(at),
        cpus: (at * each * threads..(at + 1) * each * threads)
            .map(CpuId)
            .collect(),
    };
    let distance = |one: u32, other: u32| match (one == other, one / 4 == other / 4) {
        (true, _) => 10,
        (false, true) => 12,
        (false, false) => 32,
    };
    let row = |one| (0..NUMA_NODES).map(|other| distance(one, other)).collect();
    let parts = Parts {
        packages: (0..2).map(half).collect(),
        numa_nodes: (0..NUMA_NODES).map(numa).collect(),
        numa_distances: (0..NUMA_NODES).map(row).collect(),
        allowed: CpuSet::first(cores * threads),
        ..Parts::default()
    };
    let machine = Machine::new(parts).expect("a machine");
    Node::of(machine, SocketKind::Package, rules)
}
