//! Exact answers to texts of `--tres-bind`, by hand from Slurm's source.

use super::*;

const LINES: [Reading; 3] = [Reading::First, Reading::Slots, Reading::Named];

fn gres(on_node: u32, step: &[u32]) -> Gres {
    Gres {
        on_node,
        step: step.to_vec(),
        tasks: Vec::new(),
    }
}

/// The tasks' GPUs in words.
fn tasks(text: &str, gres: &Gres, count: u32, how: (Reading, Indices)) -> String {
    let Some(bind) = gpu_bind(text, how.0) else {
        return "unread".into();
    };
    let Some(tasks) = bind.tasks(gres, count, how) else {
        return "unknown".into();
    };
    let words = tasks.iter().map(|own| {
        let own: Vec<_> = own.iter().map(ToString::to_string).collect();
        own.join("+")
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_line_reads_its_own_words() {
    use GpuBind::*;
    let list = || vec![(0, 1), (1, 3)];
    for (text, older, named) in [
        ("", Some(Open), Some(Open)),
        ("gpu:closest", Some(Open), Some(Open)),
        ("gpu:map_gpu:0,1*3", Some(Map(list())), Some(Open)),
        (
            "gpu:mask_gpu:0x0,01*3;nic:closest",
            Some(Mask(list())),
            Some(Open),
        ),
        ("gpu:verbose,single:2", Some(Single(2)), Some(Open)),
        ("gpu:per_task:2", Some(PerTask(2)), Some(Open)),
        ("gpu:per_task:a100:2", Some(Open), Some(Open)),
        // The older lines find their own name inside the longer one.
        (
            "gres/gpu:per_task:0x10",
            Some(PerTask(16)),
            Some(PerTask(16)),
        ),
        ("gres/gpu:map:0,1*3", Some(Open), Some(Map(list()))),
        (
            "gres/gpu:MASK:0,1*3+gres/nic:none",
            Some(Open),
            Some(Mask(list())),
        ),
        (
            "gres/nic:closest+gres/gpu:single:1",
            Some(Single(1)),
            Some(Single(1)),
        ),
        ("gres/gpu:none", Some(Open), Some(Open)),
        ("gres/gpu:what", Some(Open), None),
        ("gres/shard:none", Some(Open), Some(Open)),
        ("gres/shard:per_task:1", Some(Open), None),
    ] {
        for reading in LINES {
            let is_named = reading == Reading::Named;
            let expected = if is_named { &named } else { &older };
            assert_eq!(&gpu_bind(text, reading), expected, "{text:?} {reading:?}");
        }
    }
}

#[test]
fn nonsense_is_not_guessed() {
    for rule in [
        "map_gpu:",
        "map_gpu:,",
        "map_gpu:0,",
        "map_gpu:0,x",
        "map_gpu:-1",
        "map_gpu:+1",
        "map_gpu: 1",
        "map_gpu:09",
        "map_gpu:0x",
        "map_gpu:0*",
        "map_gpu:0*1*1",
        "map_gpu:99999999999999999999",
        "mask_gpu:ff",
        "mask_gpu:4294967296",
        "mask_gpu:0*4294967296",
        "single:",
        "single:0",
        "single:-1",
        "single:1 ",
        "per_task:",
        "per_task:0",
        "per_task:9999999999",
        "per_task:1\u{e9}",
    ] {
        for reading in LINES {
            let text = format!("gres/gpu:{rule}");
            assert_eq!(gpu_bind(&text, reading), None, "{text:?} {reading:?}");
        }
    }
    let long = format!("gres/gpu:map:{}0", "0,".repeat(10_000));
    assert_eq!(gpu_bind(&long, Reading::Named), None);
    assert_eq!(gpu_bind("gres/gpu:\u{e9}", Reading::Named), None);
}

#[test]
fn tasks_get_what_slurm_gives_them() {
    let some = gres(4, &[1, 3]);
    for (text, of_node, of_step) in [
        ("map_gpu:1,3", "1 3 1", "3 1 3"),
        ("map_gpu:0,1", "1 1 1", "1 3 1"),
        ("map_gpu:3*2,1", "3 3 1", "1 1 3"),
        ("map_gpu:0x3*0", "3 3 3", "1 1 1"),
        // Beyond the node: the step's first one.
        ("map_gpu:7", "1 1 1", "1 1 1"),
        ("mask_gpu:0xa,0x2", "1+3 1 1+3", "3 3 3"),
        ("mask_gpu:0x3,0,0x10", "1 1 1", "1+3 1 1"),
        ("per_task:1", "1 3 1", "1 3 1"),
        ("per_task:2", "1+3 1 1", "1+3 1 1"),
        ("per_task:2000000000", "1+3 1 1", "1+3 1 1"),
        ("single:1", "1 3 1", "1 3 1"),
        ("single:2", "1 1 3", "1 1 3"),
        ("closest", "", ""),
    ] {
        let text = format!("gres/gpu:{text}");
        for reading in [Reading::Slots, Reading::Named] {
            let found = |indices| tasks(&text, &some, 3, (reading, indices));
            assert_eq!(found(Indices::OfNode), of_node, "{text} {reading:?}");
            assert_eq!(found(Indices::OfStep), of_step, "{text} {reading:?}");
        }
    }
}

#[test]
fn single_goes_round_differently_in_22_05() {
    let some = gres(2, &[0, 1]);
    let found = |reading| tasks("gres/gpu:single:2", &some, 6, (reading, Indices::OfNode));
    assert_eq!(found(Reading::First), "0 0 1 1 0 0");
    assert_eq!(found(Reading::Slots), "0 0 1 1 0 1");
    assert_eq!(found(Reading::Named), "0 0 1 1 0 1");
}

#[test]
fn masks_end_with_slurms_own_number() {
    let how = (Reading::Named, Indices::OfNode);
    let text = "gres/gpu:mask:0x40000000";
    assert_eq!(tasks(text, &gres(31, &[2, 30]), 1, how), "30");
    assert_eq!(tasks(text, &gres(32, &[2, 30]), 1, how), "unknown");
    assert_eq!(tasks("gres/gpu:map:0", &gres(4, &[]), 2, how), "");
}
