//! `--binding=auto` beside hwloc-distrib, on every machine file, with one task up to one for each core:
//! no core has two tasks, none is idle, and no more tasks span NUMA nodes or L3 caches than in
//! hwloc-distrib's answer. `distrib.txt` has the figures of hwloc-distrib 2.9; where the program is
//! installed, it is asked too.

mod files;

use std::path::Path;
use std::process::Command;

use berth_placement::{
    Claims, CpuSet, Machine, Node, ObjectKind, Request, Rules, SocketKind, plan,
};

/// Tasks that span NUMA nodes and L3 caches.
type Spanning = [usize; 2];

fn spanning(machine: &Machine, masks: &[CpuSet]) -> Spanning {
    [ObjectKind::Numa, ObjectKind::L3].map(|kind| {
        let objects = machine.objects(kind);
        let touched = |mask: &&CpuSet| objects.iter().filter(|one| one.intersects(mask)).count();
        masks.iter().filter(|mask| touched(mask) > 1).count()
    })
}

fn cores(machine: &Machine) -> Vec<CpuSet> {
    let allowed = |core: CpuSet| core.intersection(machine.allowed());
    let cores = machine.objects(ObjectKind::Core).into_iter().map(allowed);
    cores.filter(|core| !core.is_empty()).collect()
}

/// berth's answer, and that it leaves no core idle or shared.
fn ours(machine: &Machine, tasks: u32, name: &str) -> Spanning {
    let node = Node::of(machine.clone(), SocketKind::Package, Rules::default());
    let request = Request {
        tasks,
        binding: "auto".parse().ok(),
        ..Request::default()
    };
    let plan = plan(&request, &node, &Claims::default()).expect("a plan");
    let masks: Vec<CpuSet> = plan.tasks.into_iter().map(|task| task.cpus).collect();
    for core in cores(machine) {
        let own = masks.iter().filter(|mask| mask.intersects(&core)).count();
        assert_eq!(own, 1, "{name}, {tasks} tasks: tasks on the core {core}");
    }
    spanning(machine, &masks)
}

/// hwloc-distrib's answer; none where the program is not installed.
fn theirs(machine: &Machine, path: &Path, tasks: u32) -> Option<Spanning> {
    let mut command = Command::new("hwloc-distrib");
    let output = command
        .arg("-i")
        .arg(path)
        .arg(tasks.to_string())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mask = |line: &str| CpuSet::from_words(words(line)).intersection(machine.allowed());
    let masks: Vec<CpuSet> = text.lines().map(mask).collect();
    assert_eq!(masks.len(), tasks as usize, "{}: {text}", path.display());
    Some(spanning(machine, &masks))
}

/// hwloc writes groups of 32 bits, the highest first: `0x1,,0xff`.
fn words(text: &str) -> Vec<u64> {
    let half = |part: &str| u64::from_str_radix(part.trim_start_matches("0x"), 16).unwrap_or(0);
    let halves: Vec<u64> = text.rsplit(',').map(half).collect();
    let word = |pair: &[u64]| pair[0] | pair.get(1).copied().unwrap_or(0) << 32;
    halves.chunks(2).map(word).collect()
}

#[test]
fn no_more_tasks_span_than_with_hwloc_distrib() {
    let recorded = include_str!("distrib.txt");
    let mut compared = 0;
    for (path, machine) in files::machines() {
        // hwloc-distrib knows no kinds of cores, and berth shares each out by itself.
        if machine.kinds().len() > 1 {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for tasks in 1..=cores(&machine).len() as u32 {
            let ours = ours(&machine, tasks, &name);
            let key = format!("{name} {tasks} ");
            let known = recorded.lines().find_map(|line| line.strip_prefix(&key));
            let known = known.map(|figures| {
                let mut figures = figures
                    .split(' ')
                    .map(|figure| figure.parse().expect("a number"));
                [(); 2].map(|()| figures.next().expect("two figures"))
            });
            let live = theirs(&machine, &path, tasks);
            if live.is_none() && tasks == 1 {
                println!("{name}: hwloc-distrib is not installed");
            }
            for theirs in [known, live].into_iter().flatten() {
                compared += 1;
                let more = ours.iter().zip(theirs).any(|(ours, theirs)| *ours > theirs);
                assert!(
                    !more,
                    "{name}, {tasks} tasks: {ours:?}, hwloc-distrib {theirs:?}"
                );
            }
        }
    }
    assert!(
        compared >= 150,
        "the recorded figures are there: {compared}"
    );
}
