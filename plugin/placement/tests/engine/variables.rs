//! The variables that list each task's GPUs: facts by vendor, and what the environment has already.

use berth_placement::sets::limits::MAX_LISTED_DEVICES;
use berth_placement::{CpuSet, DeviceOrder, DeviceRun, DeviceVariables};

use crate::facts::lines::hold;
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

/// The variables of each run of tasks, and the note.
fn found(text: &str) -> String {
    let (order, given) = text.split_once(' ').unwrap_or((text, ""));
    let given: Vec<_> = given
        .split('|')
        .filter_map(|word| word.split_once('='))
        .collect();
    let value = |name: &str| {
        let found = given.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let found = DeviceVariables::of(&read(order).unwrap(), value);
    let line = |(_, entries): &(u32, Vec<(&str, String)>)| {
        let entries = entries
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        entries.collect::<Vec<_>>().join(" ")
    };
    let runs: Vec<_> = found.runs.iter().map(line).collect();
    let runs = match runs.is_empty() {
        true => "nothing".into(),
        false => runs.join(" / "),
    };
    match &found.notes[..] {
        [] => runs,
        [note] => format!("{runs} ! {note}"),
        notes => format!("{runs}, and {} notes", notes.len()),
    }
}

#[test]
fn variables_of_each_vendor() {
    hold(include_str!("variables.txt"), |_, order| found(order));
    let long = format!(
        "10de*2;granted;0*1;1*1 SLURM_STEP_GPUS=4,5|CUDA_VISIBLE_DEVICES={}",
        "9,".repeat(100_000)
    );
    assert!(found(&long).contains("does not name 2 different devices"));
    let most = MAX_LISTED_DEVICES;
    let line = found(&format!("10de*{most};{}*1", most - 1));
    let says = "CUDA_VISIBLE_DEVICES=127,0,1,2,";
    assert!(line.starts_with(says) && !line.contains('!'), "{line}");
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
