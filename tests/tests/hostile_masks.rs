//! Lists of masks and CPUs, short and long, that mean much more than they say.

use berth_tests::hostile::{self, Attacker, Toll, Victim};
use berth_tests::two_cpus;

/// So many of them: enough for one to meet a bystander's launch.
const LAUNCHES: usize = 2;

const MASK_CPU: &[u8] = b"0x100";
const MAP_CPU: &[u8] = b"0x80";
const MASK_LDOM: &[u8] = b"0x800";
const MASK_MEM: &[u8] = b"0x10";
const MAP_MEM: &[u8] = b"0x8";

/// A list of `entry`, with so many repeats.
fn repeated(entry: &str, repeats: u32, times: usize) -> Vec<u8> {
    vec![format!("{entry}*{repeats}"); times]
        .join(",")
        .into_bytes()
}

/// 64,000 CPUs in one mask.
fn wide() -> String {
    format!("0x{}", "f".repeat(16_000))
}

/// One kind of list after the other, in steps of one job.
fn play(attacker: &Attacker<'_>, field: &str, lists: &[(&[u8], Vec<u8>)]) {
    let job = attacker.job(&["-n1"]);
    for (kind, list) in lists {
        for _ in 0..LAUNCHES {
            let bits = format!("{field}_type");
            let changes: &[(&str, &[u8])] = &[(&bits, kind), (field, list)];
            attacker.srun(changes, &[&job.option(), "--overlap", "-n1", "true"]);
        }
    }
}

fn cpu_lists() -> Vec<(&'static [u8], Vec<u8>)> {
    vec![
        (MASK_CPU, repeated(&wide(), 65_000, 1)),
        (MASK_CPU, repeated("0x1", 65_535, 500)),
        (MAP_CPU, repeated("0", 65_535, 500)),
        (MASK_LDOM, repeated(&wide(), 65_000, 1)),
    ]
}

#[test]
fn masks_with_repeats() {
    if !two_cpus() {
        return;
    }
    hostile::compare("masks with repeats", hostile::berth(""), |attacker| {
        play(attacker, "cpu_bind", &cpu_lists());
    });
}

#[test]
fn masks_with_repeats_in_shadow_mode() {
    if !two_cpus() {
        return;
    }
    let builder = hostile::berth("shadow=on");
    hostile::compare("masks with repeats, shadow=on", builder, |attacker| {
        play(attacker, "cpu_bind", &cpu_lists());
    });
}

#[test]
fn memory_masks_with_repeats() {
    if !two_cpus() {
        return;
    }
    let lists = [
        (MASK_MEM, repeated(&wide(), 65_000, 1)),
        (MASK_MEM, repeated("0x1", 65_535, 500)),
        (MAP_MEM, repeated("0", 65_535, 500)),
    ];
    hostile::compare(
        "memory masks with repeats",
        hostile::berth(""),
        |attacker| {
            play(attacker, "mem_bind", &lists);
        },
    );
}

/// Lists that mean what they say. (Much longer ones stall stock Slurm's slurmd as well.)
#[test]
fn long_lists() {
    if !two_cpus() {
        return;
    }
    let long = 1 << 20;
    let lists = [
        (MAP_CPU, b"0,".repeat(long / 2)),
        (MASK_CPU, b"0x1,".repeat(long / 4)),
        (MASK_CPU, b"f".repeat(long)),
        (MASK_CPU, b"*".repeat(long)),
    ];
    hostile::compare("long lists", hostile::berth(""), |attacker| {
        play(attacker, "cpu_bind", &lists);
    });
}

/// Sets for 65,535 tasks, from a mask of a thousand NUMA nodes that are not there; the last task has
/// none for its memory, so that the whole step is refused when all is done, and costs its user nothing.
#[test]
fn work_that_is_refused_at_its_end() {
    if !two_cpus() {
        return;
    }
    let nodes = repeated(&format!("0x{}", "f".repeat(256)), 65_535, 1);
    let changes: [(&str, &[u8]); 7] = [
        ("ntasks", b"65535"),
        ("tasks_to_launch", b"65535"),
        ("job_core_spec", b"1"),
        ("cpu_bind_type", MASK_LDOM),
        ("cpu_bind", &nodes),
        ("mem_bind_type", MAP_MEM),
        ("mem_bind", b"0*65534,99"),
    ];
    let victim = Victim::start(hostile::berth("compat=affinity"));
    let toll = victim.attacked(|attacker| {
        let job = attacker.job(&["-n2"]);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    attacker.srun(&changes, &[&job.option(), "--overlap", "-n2", "true"])
                });
            }
        });
    });
    hostile::say(&format!(
        "work that is refused at its end: bystander {:.2?}, {:.2?} without",
        toll.bystander, toll.launch
    ));
    hostile::in_time("work that is refused at its end", toll, Toll::default());
}
