//! `cargo bench -p berth-placement --bench cpusets`: what a step costs whose job's cpuset is chosen with it,
//! beside the same tasks by `--cpu-bind=cores` alone. Machines of eight NUMA nodes, of one and of two hardware
//! threads for each core. With a case behind the command only that one is planned, as often as the second
//! word says on as many cores as the third says, for a count of instructions.

mod cases;

use berth_placement::{CpuId, CpuSet};
use cases::Case;

const CORES: [u32; 4] = [64, 128, 256, 512];
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
/// The NUMA nodes of the other package are farther.
const DISTANCES: &str = "10,12,12,12,32,32,32,32 12,10,12,12,32,32,32,32 12,12,10,12,32,32,32,32 \
                         12,12,12,10,32,32,32,32 32,32,32,32,10,12,12,12 32,32,32,32,12,10,12,12 \
                         32,32,32,32,12,12,10,12 32,32,32,32,12,12,12,10";

fn main() {
    if cases::one_alone(|name, cores| case(name, cores, 1)) {
        return;
    }
    for threads in [1, 2] {
        println!("\n{threads} hardware threads for each core\n");
        cases::table(&CASES, &CORES, |name, cores| case(name, cores, threads));
    }
}

fn case(name: &str, cores: u32, threads: u32) -> Case {
    let each = cores / 8;
    let machine =
        format!("pack:2 numa:4 l3:1 core:{each} pu:{threads}; l3; l2; l1; distances {DISTANCES}");
    let (fit, share) = name.split_once(", ").unwrap_or((name, "all"));
    let (tasks, count) = match share {
        "all" => (cores, cores),
        "claims" => (2, cores * 3 / 16),
        _ => (2, cores * 5 / 8),
    };
    let mut request = format!("-n{tasks} --cpu-bind=cores");
    if fit != "cores" {
        request += &format!(" --cpuset=NCPUS={}", count * threads);
    }
    if fit == "first fit" {
        request += " --first-fit";
    }
    if share == "claims" {
        // A number without a pattern; its high bits change most.
        let is_held = |cpu: &u32| cpu.wrapping_mul(0x9e37_79b9) >> 13 & 1 == 1;
        let held = (0..cores * threads).filter(is_held).map(CpuId);
        request += &format!(" --cpusets={}", held.collect::<CpuSet>());
    }
    Case::of(&machine, &request)
}
