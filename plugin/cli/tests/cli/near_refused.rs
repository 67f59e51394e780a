//! `berth plan --near`: what it refuses, and what it answers where there are no devices.

use crate::plan_common::{berth, plan};

/// A machine with two GPUs and no network adapter.
const GPUS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/machines/cts1-pascal.xml"
);

#[test]
fn what_it_refuses() {
    let file = GPUS;
    for (options, code, part) in [
        (
            "-n2 --near=gpu:3:strict",
            1,
            "requests 3 devices for each task; this step has 2",
        ),
        (
            "-n2 --near=gpu --cpu-bind=map_cpu:0,1",
            1,
            "both choose the CPUs",
        ),
        (
            "-n2 --near=gpu --binding=linear:1",
            1,
            "both choose the CPUs",
        ),
        (
            "-n2 --near=gpu:closest",
            2,
            "gpu, network, a PCI class such as 0302",
        ),
        ("-n2 --near=", 2, "gpu, network, a PCI class"),
        (
            "-n2 --near=0000:04:00.0",
            2,
            "a PCI address; give the device's name, which berth topo shows",
        ),
        ("-n2 --near=gpu --reserved=x", 2, "--reserved"),
        (
            "-n2 --near=gpu --cpu-bind=cores",
            0,
            "--cpu-bind=cores gives way to it",
        ),
        (
            "-n50 --near=gpu",
            0,
            "get cores that are not next to their device",
        ),
        // What is not strict runs unbound, as with a --binding that cannot be served.
        ("-n2 --near=ib7", 0, "this node has none; it has 2 GPUs"),
        ("-n2 --near=ib7", 0, "no task is bound"),
        ("-n2 --near=ib7 --map-by=core", 0, "no task is bound"),
        ("-n50 --near=gpu:strict", 1, "--near=gpu:strict is strict"),
    ] {
        let done = plan(&format!("--machine {file} --cores all {options}"));
        assert_eq!(done.code, code, "{options}: {}", done.stderr);
        assert!(done.stderr.contains(part), "{options}: {}", done.stderr);
    }
}

#[test]
fn a_device_that_is_not_there() {
    let file = GPUS;
    let refuse = format!("--machine {file} --cores all -n2 --near=ib7 --binding-fail=refuse");
    let done = plan(&refuse);
    assert_eq!((done.code, &*done.stdout), (1, ""), "{}", done.stderr);
    let why = "next to the device ib7; this node has none; it has 2 GPUs";
    assert!(done.stderr.contains(why), "{}", done.stderr);
}

#[test]
fn a_long_value_and_a_machine_without_devices() {
    let file = GPUS;
    let long = format!("--near={}", "x".repeat(100_000));
    let done = berth(&["plan", "--machine", file, "-n1", &long], "");
    assert_eq!(done.code, 2);
    let bare = berth(
        &[
            "plan",
            "--machine",
            "pack:2 core:2 pu:1",
            "-n1",
            "--cores=all",
            "--near=gpu:strict",
        ],
        "",
    );
    assert_eq!(bare.code, 1, "{}", bare.stderr);
    let why =
        "the synthetic machine \"pack:2 core:2 pu:1\" has no devices; give --machine FILE.xml";
    assert!(bare.stderr.contains(why), "{}", bare.stderr);
    assert!(!bare.stderr.contains("administrator"), "{}", bare.stderr);
    let note = plan("--machine pu:4 -n1 --cores all --near=gpu").stderr;
    assert!(note.contains("\"pu:4\" has no devices") && note.contains("no task is bound"));
    assert!(!note.contains("administrator"), "{note}");
}

/// Slurm keeps the values of both names, and only one could count: srun refuses such a line.
#[test]
fn both_names_of_one_option_are_a_wrong_line() {
    let place = "--machine pu:4 --cores all -n1";
    let why = "--near=network and --berth-near=gpu are two names of one option";
    for words in [
        vec!["--berth-near=gpu", "--near=network"],
        vec!["srun --near=network --berth-near=gpu ./a"],
        vec!["--job", "salloc --berth-near=gpu --near=network", "-n1"],
    ] {
        let is_whole = words.len() == 3;
        let place = place.split(' ').filter(|_| !is_whole);
        let all: Vec<_> = ["plan"].into_iter().chain(place).chain(words).collect();
        let done = berth(&all, "");
        assert!(
            done.code != 0 && done.stderr.contains(why),
            "{all:?} {}",
            done.stderr
        );
    }
    for same in ["--near=none --berth-near=none", "--near=gpu --near=none"] {
        assert_eq!(plan(&format!("{place} {same}")).code, 0, "{same}");
    }
}
