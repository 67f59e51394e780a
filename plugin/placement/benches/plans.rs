//! `cargo bench -p berth-placement`: what planning alone costs: a task for every core by each kind of
//! wish, beside `--cpu-bind=cores`. Two packages, L3 caches of eight cores, two hardware threads a core,
//! a GPU for each of four L3 caches or fewer. With a wish behind the command only that one is planned,
//! as often as the second word says, for a count of instructions.

mod cases;

use cases::Case;

const CORES: [u32; 6] = [16, 64, 128, 256, 512, 1024];
const MOST_GPUS: u32 = 8;
/// The wishes, the first of which the others are measured by.
const WISHES: [&str; 5] = ["cores", "auto", "l3cache:pe=4", "near", "near -c8"];

fn main() {
    if !cases::one_alone(case) {
        cases::table(&WISHES, &CORES, case);
    }
}

/// A task for every core; where each has several, so many tasks fewer.
fn case(wish: &str, cores: u32) -> Case {
    let fewer = cores / 4;
    let request = match wish {
        "cores" => format!("-n{cores} --cpu-bind=cores"),
        "auto" => format!("-n{cores} --binding=auto"),
        "near" => format!("-n{cores} --near=gpu"),
        "near -c8" => format!("-n{fewer} -c8 --near=gpu"),
        map => format!("-n{fewer} --map-by {map}"),
    };
    Case::of(&machine(cores), &request)
}

fn machine(cores: u32) -> String {
    let caches = cores / 8;
    let gpus = MOST_GPUS.min(caches);
    let gpu = |at: u32| {
        let first = at * (caches / gpus) * 16;
        format!("{at:x}={first}-{}", first + 15)
    };
    let gpus: Vec<_> = (0..gpus).map(gpu).collect();
    let (each, gpus) = (caches / 2, gpus.join(" "));
    format!("pack:2 numa:1 l3:{each} core:8 pu:2; l2; l1; gpu {gpus}")
}
