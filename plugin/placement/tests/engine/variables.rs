//! The variables that list each task's GPUs: facts by vendor, and what the environment has already.

use berth_placement::sets::limits::MAX_LISTED_DEVICES;
use berth_placement::{CpuSet, DeviceOrder, DeviceRun, DeviceVariables};

use crate::texts::planned;

/// An order from the vendors of successive GPUs, what holds, and the GPUs of successive tasks.
fn read(text: &str) -> Option<DeviceOrder> {
    let mut words = text.split(';').peekable();
    let mut vendors = Vec::new();
    for same in words.next()?.split(',') {
        let (vendor, count) = same.split_once('*')?;
        let vendor = u16::from_str_radix(vendor, 16).ok()?;
        vendors.extend(std::iter::repeat_n(vendor, count.parse().ok()?));
    }
    let only_own = words.next_if_eq(&"own").is_some();
    let granted = words.next_if_eq(&"granted").is_some();
    let run = |word: &str| {
        let (own, tasks) = word.split_once('*')?;
        Some(DeviceRun {
            own: CpuSet::from_list(own).ok()?,
            tasks: tasks.parse().ok()?,
        })
    };
    Some(DeviceOrder {
        vendors,
        only_own,
        granted,
        runs: words.map(run).collect::<Option<_>>()?,
    })
}

/// The variables of each run of tasks as `NAME=VALUE …`, and the notes.
fn found(order: &str, given: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let order = read(order).unwrap();
    let value = |name: &str| {
        let found = given.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let found = DeviceVariables::of(&order, value);
    let line = |(_, entries): &(u32, Vec<(&str, String)>)| {
        let entries = entries
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        entries.collect::<Vec<_>>().join(" ")
    };
    let notes = found.notes.iter().map(ToString::to_string);
    (found.runs.iter().map(line).collect(), notes.collect())
}

fn variables(order: &str, given: &[(&str, &str)]) -> Vec<String> {
    let (variables, notes) = found(order, given);
    assert!(notes.is_empty(), "{order} {given:?}: {notes:?}");
    variables
}

/// Nothing is written, and a note says why.
fn noted(order: &str, given: &[(&str, &str)], says: &str) {
    let (variables, notes) = found(order, given);
    assert!(variables.is_empty(), "{order} {given:?}: {variables:?}");
    let [note] = notes.as_slice() else {
        panic!("{order} {given:?}: {notes:?}")
    };
    assert!(note.contains(says), "{note}");
}

#[test]
fn each_vendor_has_its_own_variable_and_the_tasks_own_devices_come_first() {
    for (order, expected) in [
        (
            "10de*4;0-1*1;2-3*1",
            &[
                "CUDA_VISIBLE_DEVICES=0,1,2,3 CUDA_DEVICE_ORDER=PCI_BUS_ID",
                "CUDA_VISIBLE_DEVICES=2,3,0,1 CUDA_DEVICE_ORDER=PCI_BUS_ID",
            ][..],
        ),
        (
            "1002*3;1*5;0,2*1",
            &["ROCR_VISIBLE_DEVICES=1,0,2", "ROCR_VISIBLE_DEVICES=0,2,1"],
        ),
        (
            "8086*2;own;1*1",
            &[
                "ZE_AFFINITY_MASK=1 ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_ENABLE_PCI_ID_DEVICE_ORDER=1",
            ],
        ),
        // The order of this list has no effect.
        ("8086*2;1*1", &[]),
        ("1a03*2;0*1;1*1", &[]),
    ] {
        assert_eq!(variables(order, &[]), expected, "{order}");
    }
    noted("1a03*2;own;0*1", &[], "PCI vendor 1a03");
}

/// Each vendor's library counts only that vendor's devices.
#[test]
fn vendors_side_by_side_count_for_themselves() {
    assert_eq!(
        variables("10de*1,1002*2;2*1;0*1", &[]),
        [
            "CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_ORDER=PCI_BUS_ID ROCR_VISIBLE_DEVICES=1,0",
            "CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_ORDER=PCI_BUS_ID ROCR_VISIBLE_DEVICES=0,1",
        ]
    );
    assert_eq!(
        variables("10de*1,1002*2;own;2*1", &[]),
        ["CUDA_VISIBLE_DEVICES= CUDA_DEVICE_ORDER=PCI_BUS_ID ROCR_VISIBLE_DEVICES=1"]
    );
}

#[test]
fn slurms_list_keeps_its_entries() {
    let list = |text| [("SLURM_STEP_GPUS", "4,5"), ("CUDA_VISIBLE_DEVICES", text)];
    let tasks = |order: &str, text| {
        let all = variables(order, &list(text));
        let lists = all
            .iter()
            .map(|line| line.split(' ').next().unwrap().to_owned());
        lists.collect::<Vec<_>>()
    };
    let both = "10de*2;granted;0*1;1*1";
    let name = "CUDA_VISIBLE_DEVICES";
    assert_eq!(
        tasks(both, "4,5"),
        [format!("{name}=4,5"), format!("{name}=5,4")]
    );
    assert_eq!(
        tasks(both, "GPU-8932f937,MIG-GPU-8932f937/1/0"),
        [
            format!("{name}=GPU-8932f937,MIG-GPU-8932f937/1/0"),
            format!("{name}=MIG-GPU-8932f937/1/0,GPU-8932f937")
        ]
    );
    assert_eq!(
        tasks("10de*2;own;granted;0*1;1*1", "4,5"),
        [format!("{name}=4"), format!("{name}=5")]
    );
    let long = "9,".repeat(100_000);
    for text in ["4", "4,5,6", "4,4", "4,", "", "4,5 ", "4,5;6", &long] {
        noted(both, &list(text), "does not name 2 different devices");
    }
}

/// Slurm gave the step something that is no GPU, or a GPU that it lists nowhere.
#[test]
fn numbers_are_not_guessed_where_slurm_gave_the_step_devices() {
    let granted = "10de*2;granted;0*1";
    assert!(variables(granted, &[]).is_empty());
    assert!(variables(granted, &[("CUDA_VISIBLE_DEVICES", "1")]).is_empty());
    noted(
        "10de*2;own;granted;0*1",
        &[],
        "did not set CUDA_VISIBLE_DEVICES",
    );
}

#[test]
fn the_users_own_values_stay() {
    let order = "10de*2;1*1";
    assert!(variables(order, &[("CUDA_VISIBLE_DEVICES", "0")]).is_empty());
    assert!(variables(order, &[("CUDA_VISIBLE_DEVICES", "")]).is_empty());
    noted(
        "10de*2;own;1*1",
        &[("CUDA_VISIBLE_DEVICES", "0,1")],
        "CUDA_VISIBLE_DEVICES is set already",
    );
    // The other's variable is another's.
    assert_eq!(variables(order, &[("ROCR_VISIBLE_DEVICES", "0")]).len(), 1);
    noted(
        order,
        &[("CUDA_DEVICE_ORDER", "FASTEST_FIRST")],
        "unset CUDA_DEVICE_ORDER or set it to PCI_BUS_ID",
    );
    assert_eq!(
        variables(order, &[("CUDA_DEVICE_ORDER", "PCI_BUS_ID")]),
        ["CUDA_VISIBLE_DEVICES=1,0"]
    );
    noted(
        "8086*2;own;1*1",
        &[("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "0")],
        "set it to 1",
    );
    noted(
        "1002*2;1*1",
        &[("HIP_VISIBLE_DEVICES", "0")],
        "count the entries of ROCR_VISIBLE_DEVICES",
    );
    noted(
        "1002*2;1*1",
        &[("CUDA_VISIBLE_DEVICES", "0")],
        "CUDA_VISIBLE_DEVICES is set",
    );
    // Slurm sets all vendors' variables where gres.conf names none.
    let slurms = [
        ("SLURM_STEP_GPUS", "0,1"),
        ("ROCR_VISIBLE_DEVICES", "0,1"),
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("GPU_DEVICE_ORDINAL", "0,1"),
    ];
    assert_eq!(
        variables("1002*2;granted;1*1", &slurms),
        ["ROCR_VISIBLE_DEVICES=1,0"]
    );
}

/// From the plan to the variables: the first GPU on the bus is next to the second package.
#[test]
fn a_plans_own_devices_come_first() {
    let lists = |tasks: u32, near: &str| {
        let machine = "2x4x1; gpu 01=4-7 02=0-3";
        let plan = planned(machine, &format!("-n{tasks} --near={near}"));
        let near = near.parse().unwrap();
        let order = DeviceOrder::of(&near, plan.near.as_ref().unwrap(), false)?;
        let found = DeviceVariables::of(&order, |_| None);
        let list = |(_, entries): &(u32, Vec<(_, String)>)| entries[0].1.clone();
        Some(found.runs.iter().map(list).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(lists(2, "gpu").as_deref(), Some("0,1 1,0"));
    assert_eq!(lists(8, "gpu").as_deref(), Some("0,1 1,0"));
    assert_eq!(lists(1, "gpu").as_deref(), Some("0,1"));
    assert_eq!(lists(2, "gpu:1:own").as_deref(), Some("0 1"));
    assert_eq!(lists(2, "0302"), None);
}

#[test]
fn the_most_devices_are_listed() {
    let most = MAX_LISTED_DEVICES;
    let order = format!("10de*{most};{}*1", most - 1);
    let line = variables(&order, &[]).remove(0);
    assert!(
        line.starts_with("CUDA_VISIBLE_DEVICES=127,0,1,2,"),
        "{line}"
    );
}
