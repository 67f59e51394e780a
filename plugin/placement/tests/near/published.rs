//! The CPU lists that centres with GPU nodes publish for their users. Machines are made of what the
//! manuals state of them; buses of GPUs ascend as the GPUs' numbers do.

use berth_placement::*;

use crate::making::*;

/// The first CPU of each task.
fn first(node: &Node, request: &str) -> String {
    let plan = planned(&ask(request), node).unwrap();
    let first = plan.tasks.iter().map(|task| task.cpus.lowest().unwrap());
    first
        .map(|cpu| cpu.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

fn with_gres(request: &str, step: &[u32], tasks: &[u32]) -> Request {
    Request {
        gres: Some(Gres {
            on_node: 8,
            step: step.to_vec(),
            tasks: tasks.iter().map(|device| vec![*device]).collect(),
        }),
        ..ask(request)
    }
}

/// Pawsey, "Setonix GPU partition": `map_cpu:49,57,17,25,0,9,33,41` for eight tasks with a die each. Any
/// core of a die's L3 cache will do there, so the list names mostly the second and once the first; ours
/// has all eight.
#[test]
fn setonix_one_core_for_each_die() {
    let plan = planned(&ask("n=8 near=gpu one_thread"), &eight_dies()).unwrap();
    let published = [49, 57, 17, 25, 0, 9, 33, 41].map(CpuId);
    for (task, cpu) in plan.tasks.iter().zip(published) {
        assert!(task.cpus.contains(cpu) && task.cpus.count() == 8, "{cpu}");
    }
}

/// Pawsey, "Setonix GPU partition": a job with the dies C9, D1 and D6 and the three L3 caches next to them is told
/// `mask_cpu:0000000000FF0000,00000000000000FF,000000000000FF00`.
#[test]
fn setonix_three_dies_of_a_shared_node() {
    let node = eight_dies();
    let request = with_gres("n=3 near=gpu one_thread cpus=0-23", &[2, 4, 5], &[]);
    let plan = planned(&request, &node).unwrap();
    let masks: Vec<_> = plan.tasks.iter().map(|task| task.cpus.to_hex(64)).collect();
    assert_eq!(
        masks.join(","),
        "0x0000000000FF0000,0x00000000000000FF,0x000000000000FF00"
    );
    assert_eq!(
        devices(&node, &request),
        "c9 (same L3) d1 (same L3) d6 (same L3)"
    );
}

/// OLCF, "Frontier User Guide", example 1: `srun -N1 -n8 -c7 --gpus-per-task=1 --gpu-bind=closest`, where
/// the first core of each L3 cache is the system's.
const FRONTIER: &str = "n=8 c=7 near=gpu one_thread reserved=0,8,16,24,32,40,48,56";

/// There Slurm places tasks by cores, and each takes the die beside it: with that choice of dies our
/// list is the manual's.
#[test]
fn frontier_with_the_dies_that_slurm_chose() {
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    let request = with_gres(FRONTIER, &all, &[4, 5, 2, 3, 6, 7, 0, 1]);
    assert_eq!(
        gives(&eight_dies(), &request),
        "1-7 9-15 17-23 25-31 33-39 41-47 49-55 57-63"
    );
    assert_eq!(
        devices(&eight_dies(), &request),
        "d1 (same L3) d6 (same L3) c9 (same L3) ce (same L3) d9 (same L3) de (same L3) \
         c1 (same L3) c6 (same L3)"
    );
}

/// Where Slurm leaves the dies open our tasks take them in PCI order: the same pairs of die and cores, in
/// another order of tasks. Example 2, with one task, is the same in both.
#[test]
fn frontier_with_dies_in_pci_order() {
    let node = eight_dies();
    same(
        &node,
        FRONTIER,
        "49-55 57-63 17-23 25-31 1-7 9-15 33-39 41-47",
    );
    let one = FRONTIER.replace("n=8", "n=1").replace("gpu", "gpu:1");
    same(&node, &one, "49-55");
    assert_eq!(devices(&node, &ask(&one)), "c1 (same L3)");
}

/// POP, "GPU affinity": on LUMI-G `map_ldom:3,3,1,1,0,0,2,2`; whole memory domains of 16 cores there, each
/// task's half of it here.
#[test]
fn lumi_by_memory_domains() {
    let plan = planned(&ask("n=8 near=gpu one_thread"), &eight_dies()).unwrap();
    let domain = |task: &TaskPlan| task.cpus.lowest().unwrap().0 / 16;
    let domains: Vec<_> = plan.tasks.iter().map(domain).collect();
    assert_eq!(domains, [3, 3, 1, 1, 0, 0, 2, 2]);
}

/// POP, "GPU affinity", and Jülich, "JUWELS Booster Overview": two packages of 24 cores, four memory
/// domains each; the GPUs 0 to 3 are next to the domains 3, 1, 7 and 5. The line on POP's page has
/// `map_ldom:3,1,5,7`, which puts the last two tasks next to each other's GPU; ours follows the table.
#[test]
fn juwels_booster_by_memory_domains() {
    let domains = Size([2, 4, 2, 3, 2]).parts(8);
    let places = [3, 1, 7, 5].map(|domain: usize| domains[domain].to_string());
    let gpus: Vec<_> = (1..)
        .zip(&places)
        .map(|(bus, cpus)| (bus, cpus.as_str()))
        .collect();
    let node = node([2, 4, 2, 3, 2], &gpus);
    same(
        &node,
        "n=4 near=gpu",
        "18-23,66-71 6-11,54-59 42-47,90-95 30-35,78-83",
    );
}

/// POP, "GPU affinity": MareNostrum 5 has two GPUs on each package of 40 cores, and the line
/// `map_cpu:0,20,40,60`. Each task gets the twenty cores from there on.
#[test]
fn marenostrum_5_by_cores() {
    let (one, other) = ("0-39,80-119", "40-79,120-159");
    let gpus = [(1, one), (2, one), (3, other), (4, other)];
    let node = node([2, 1, 1, 40, 2], &gpus);
    assert_eq!(first(&node, "n=4 near=gpu one_thread"), "0,20,40,60");
    same(&node, "n=4 near=gpu one_thread", "0-19 20-39 40-59 60-79");
}

/// POP, "GPU affinity": CLAIX-2023 has two packages of 48 cores with four memory domains each, and the
/// line `map_ldom:0,2,4,6`.
#[test]
fn claix_2023_by_memory_domains() {
    let gpus = [(1, "0-11"), (2, "24-35"), (3, "48-59"), (4, "72-83")];
    let node = node([2, 4, 1, 12, 1], &gpus);
    same(&node, "n=4 near=gpu", "0-11 24-35 48-59 72-83");
}
