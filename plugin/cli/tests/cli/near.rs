//! `berth plan --near` on real machines: what centres publish, what hwloc says is near, what is
//! refused.

use std::path::PathBuf;

use crate::plan_common::{berth, plan};
use serde_json::Value;

/// The file of a machine: here, or where the developer has the others.
fn machine(name: &str) -> Option<String> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines");
    let folders = [Some(here.into()), std::env::var("BERTH_TOPOLOGIES").ok()];
    let files = folders.into_iter().flatten();
    let mut files = files.map(|folder| PathBuf::from(folder).join(format!("{name}.xml")));
    let found = files.find(|file| file.exists())?;
    Some(found.display().to_string())
}

/// Each task's CPUs on a whole machine, and its devices' buses.
fn tasks(name: &str, options: &str) -> Vec<(String, Vec<String>)> {
    let file = machine(name).unwrap();
    let done = plan(&format!(
        "--machine {file} --cores all --format=json {options}"
    ));
    assert_eq!(done.code, 0, "{name} {options}: {}", done.stderr);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    let tasks = json["tasks"].as_array().unwrap();
    let bus = |device: &Value| {
        let address = device["pci"].as_str().unwrap_or_default();
        address.split(':').nth(1).unwrap_or_default().to_string()
    };
    let task = |task: &Value| {
        let devices = task["devices"].as_array().unwrap();
        (
            task["cpus"].as_str().unwrap().to_string(),
            devices.iter().map(bus).collect(),
        )
    };
    tasks.iter().map(task).collect()
}

fn texts(tasks: Vec<(String, Vec<String>)>) -> String {
    let text = |(cpus, buses): (String, Vec<String>)| format!("{cpus}@{}", buses.join("+"));
    tasks.into_iter().map(text).collect::<Vec<_>>().join(" ")
}

/// LUMI's manual gives this list of masks for eight tasks on four MI250X. It leaves one core of each L3
/// cache to the system.
#[test]
fn the_published_list_for_eight_dies() {
    let file = machine("eas-tioga").unwrap();
    let done = plan(&format!(
        "--cores all --machine {file} -n8 --near=gpu --hint=nomultithread \
         --reserved=0,8,16,24,32,40,48,56 --format=masks"
    ));
    assert_eq!(done.code, 0, "{}", done.stderr);
    let masks = done.stdout.trim().split(',');
    let short: Vec<_> = masks
        .map(|mask| {
            mask.trim_start_matches("0x")
                .trim_start_matches('0')
                .to_lowercase()
        })
        .collect();
    assert_eq!(
        short.join(","),
        "fe000000000000,fe00000000000000,fe0000,fe000000,fe,fe00,fe00000000,fe0000000000"
    );
}

/// Two other centres have the same node. Setonix' manual gives a `map_cpu` list for eight dies, with one core
/// of each L3 cache, where berth gives all of them. Frontier's manual shows the masks of
/// `-n8 -c7 --gpu-bind=closest`: there Slurm places the tasks by cores, and each takes the die next to it.
#[test]
fn the_published_lists_for_the_same_node_elsewhere() {
    let setonix = [49, 57, 17, 25, 0, 9, 33, 41];
    let found = tasks("eas-tioga", "-n8 --near=gpu --hint=nomultithread");
    for ((cpus, _), cpu) in found.iter().zip(setonix) {
        let own = berth_placement::CpuSet::from_list(cpus).unwrap();
        assert!(own.contains(berth_placement::CpuId(cpu)), "{cpus}: {cpu}");
    }
    let reserved = "--hint=nomultithread --reserved=0,8,16,24,32,40,48,56";
    let mut found = tasks("eas-tioga", &format!("-n8 -c7 --near=gpu {reserved}"));
    found.sort_by_key(|(cpus, _)| cpus.split('-').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(
        texts(found),
        "1-7@d1 9-15@d6 17-23@c9 25-31@ce 33-39@d9 41-47@de 49-55@c1 57-63@c6"
    );
    let one = tasks("eas-tioga", &format!("-n1 -c7 --near=gpu:1 {reserved}"));
    assert_eq!(texts(one), "49-55@c1");
}

/// Livermore's tutorial pairs the dies of such a node with the cores of one L3 cache each.
#[test]
fn the_pairs_of_the_tutorial_for_eight_dies() {
    let mut found = tasks("eas-tioga", "-n8 --near=gpu --hint=nomultithread");
    found.sort_by_key(|(cpus, _)| cpus.split('-').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(
        texts(found),
        "0-7@d1 8-15@d6 16-23@c9 24-31@ce 32-39@d9 40-47@de 48-55@c1 56-63@c6"
    );
}

/// Livermore's tutorial has these pairs for g4dn.metal, with `--gpu-bind=single:1`: four GPUs share a package.
#[test]
fn the_pairs_of_the_tutorial_for_eight_gpus_of_two_packages() {
    assert_eq!(
        texts(tasks("g4dnmetal", "-n8 --near=gpu --hint=nomultithread")),
        "0-5@18 6-11@19 12-17@35 18-23@36 24-29@e7 30-35@e8 36-41@f4 42-47@f5"
    );
}

/// mpibind's recorded answer on Lassen for one task on every core: ten of them on each GPU, by the
/// first hardware threads of the cores; the first and the last cores of a package are the system's.
#[test]
fn the_recorded_list_for_four_gpus_on_power9() {
    let found = tasks("coral-lassen", "-n40 --near=gpu --hint=nomultithread");
    let first = |(cpus, _): &(String, Vec<String>)| cpus.parse::<u32>().unwrap();
    let expected = (8..88).step_by(4).chain((96..176).step_by(4));
    assert!(found.iter().map(first).eq(expected));
    for (ten, bus) in found.chunks(10).zip(["04", "05", "03", "04"]) {
        assert!(ten.iter().all(|(_, buses)| *buses == [bus]), "{ten:?}");
    }
}

/// Every device of every machine has the neighbours that hwloc gives it, and a task near it gets no
/// others.
#[test]
fn neighbours_are_hwlocs() {
    let table = include_str!("../../../../tests/machines/nearest.txt");
    let rows: Vec<Vec<_>> = table.lines().map(|row| row.split(' ').collect()).collect();
    let mut looked = 0;
    for of_machine in rows.chunk_by(|one, other| one[0] == other[0]) {
        let Some(file) = machine(of_machine[0][0]) else {
            continue;
        };
        looked += 1;
        let topo = berth(&["topo", "--machine", &file, "--format=json"], "");
        let json: Value = serde_json::from_str(&topo.stdout).unwrap();
        let devices = json["devices"].as_array().unwrap();
        let wanted = ["gpu", "network"];
        let known = devices
            .iter()
            .filter(|device| wanted.contains(&device["kind"].as_str().unwrap()));
        let known: Vec<Vec<_>> = known
            .map(|device| {
                let name = device["pci"].as_str().or(device["names"][0].as_str());
                let of = [name, device["kind"].as_str(), device["cpus"].as_str()];
                of.map(Option::unwrap).to_vec()
            })
            .collect();
        let listed: Vec<_> = of_machine.iter().filter(|row| row[1] != "-").collect();
        let listed: Vec<Vec<_>> = listed.into_iter().map(|row| row[1..].to_vec()).collect();
        assert_eq!(known, listed, "{file}");
        for kind in wanted {
            let count = known.iter().filter(|device| device[1] == kind).count();
            if count > 0 {
                only_near(of_machine[0][0], kind, count);
            }
        }
    }
    assert!(looked >= 5, "{looked} machines");
}

/// Plans as many tasks as devices: each task's CPUs are next to its device.
fn only_near(name: &str, kind: &str, count: usize) {
    let file = machine(name).unwrap();
    let done = plan(&format!(
        "--machine {file} --cores all -n{count} --near={kind}:strict --format=json"
    ));
    assert_eq!(done.code, 0, "{name} {kind}: {}", done.stderr);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    for task in json["tasks"].as_array().unwrap() {
        let set =
            |value: &Value| berth_placement::CpuSet::from_list(value.as_str().unwrap()).unwrap();
        let near = set(&task["devices"][0]["cpus"]);
        let got = set(&task["cpus"]);
        assert!(!got.is_empty() && got.is_subset(&near), "{name}: {task}");
    }
}

#[test]
fn what_it_says() {
    let file = machine("cts1-pascal").unwrap();
    let plan = plan(&format!(
        "--machine {file} --cores all -n2 --near=gpu --explain"
    ));
    assert_eq!(plan.code, 0);
    for part in [
        "rule        near:gpu",
        "0000:04:00.0 (opencl0d0)  same L3",
        "why         --near=gpu: each task gets cores next to its devices",
        "next to 0000:07:00.0 (opencl0d1): same L3",
    ] {
        assert!(plan.stdout.contains(part), "{part}: {}", plan.stdout);
    }
}

#[test]
fn own_devices_come_first() {
    let file = machine("g4dnmetal").unwrap();
    let order = |near: &str| {
        let done = plan(&format!(
            "--machine {file} --cores all -n8 --near={near} --format=json"
        ));
        let json: Value = serde_json::from_str(&done.stdout).unwrap();
        json["tasks"][2]["device_order"].to_string()
    };
    assert_eq!(order("gpu"), "[2,0,1,3,4,5,6,7]");
    assert_eq!(order("gpu:own"), "[2]");
}

#[test]
fn each_tasks_variables_are_shown() {
    let file = machine("g4dnmetal").unwrap();
    let found = |line: &str| {
        let done = plan(&format!(
            "--machine {file} --cores all {line} --format=json"
        ));
        serde_json::from_str::<Value>(&done.stdout).unwrap()
    };
    let set = |near: &str| found(&format!("-n8 --near={near}"))["tasks"][2]["variables"].clone();
    let cuda = |list: &str| serde_json::json!({"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": list});
    assert_eq!(set("gpu"), cuda("2,0,1,3,4,5,6,7"));
    assert_eq!(set("gpu:own"), cuda("2"));
    assert_eq!(set("network"), Value::Null);
    let notes = found("-n2 --near=network:own")["notes"].to_string();
    assert!(notes.contains(":own changes nothing here"), "{notes}");
    let done = plan(&format!(
        "--machine {file} --cores all -n2 --near=gpu:1:own --explain"
    ));
    let line = "; CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_ORDER=PCI_BUS_ID\n";
    assert!(done.stdout.contains(line), "{}", done.stdout);
}

/// What is set before the line's command is what srun would export.
#[test]
fn the_users_own_lists_count_and_those_of_an_outer_step_do_not() {
    let file = machine("g4dnmetal").unwrap();
    let explained = |variables: &str| {
        let line = format!("{variables} srun -n2 --near=gpu:1:own a.out");
        let done = berth(
            &[
                "plan",
                "--machine",
                &file,
                "--cores=all",
                "--explain",
                &line,
            ],
            "",
        );
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.stdout + &done.stderr
    };
    let own = explained("CUDA_VISIBLE_DEVICES=0");
    let says = "CUDA_VISIBLE_DEVICES is set already";
    assert!(own.contains(says) && !own.contains("PCI_BUS_ID"), "{own}");
    let outer = explained("BERTH_DEVICES=CUDA_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=0");
    assert!(
        !outer.contains(says) && outer.contains("CUDA_VISIBLE_DEVICES=1 "),
        "{outer}"
    );
}

#[test]
fn pictures_have_devices_beside_their_cores() {
    let file = machine("eas-tioga").unwrap();
    let topo =
        |format: &str| berth(&["topo", "--machine", &file, "--width=120", format], "").stdout;
    let tree = topo("--format=tree");
    let lines: Vec<_> = tree
        .lines()
        .map(|line| line.trim_matches(['│', ' ']))
        .collect();
    let at = |wanted: &str| {
        lines
            .iter()
            .position(|line| line.starts_with(wanted))
            .unwrap()
    };
    assert_eq!(at("gpu 0000:c1:00.0 (rsmi0)"), at("NUMA node 3, L3 6") + 1);
    assert!(at("gpu 0000:c1:00.0") < at("48[ 48 112]"));
    // It is next to two L3 caches.
    at("NUMA node 0: network 0000:94:00.0 (ens2)");
    assert!(topo("--format=svg").contains(">gpu 0000:c1:00.0 (rsmi0)</text>"));
    let nowhere = berth(
        &[
            "topo",
            "--machine",
            &machine("cts1-pascal").unwrap(),
            "--format=tree",
        ],
        "",
    );
    assert!(
        nowhere
            .stdout
            .ends_with("next to no socket: 1 disk controller\n")
    );
    // A plan shows those that the tasks are near.
    let plan = plan(&format!(
        "--machine {file} --cores all -n8 --near=gpu --format=tree"
    ));
    assert!(plan.stdout.contains("gpu 0000:de:00.0 (rsmi7)") && !plan.stdout.contains("hsi0"));
}
