//! Exact answers to texts of `--tres-bind`, by hand from Slurm's source.

use super::*;
use crate::facts_text::hold;

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

/// The reading of older lines of Slurm, and that of the newest where it differs.
fn each_reading(text: &str) -> String {
    let read = |how| gpu_bind(text, how).map_or("unread".into(), |found| format!("{found:?}"));
    let [first, slots, named] = LINES.map(read);
    assert_eq!(first, slots, "{text}");
    match slots == named {
        true => named,
        false => format!("{slots} / {named}"),
    }
}

/// The GPUs of three tasks, by the node's numbers and by the step's.
fn of_three_tasks(rule: &str) -> String {
    let (text, some) = (format!("gres/gpu:{rule}"), gres(4, &[1, 3]));
    let [slots, named] = [Reading::Slots, Reading::Named].map(|how| {
        let found = |indices| tasks(&text, &some, 3, (how, indices));
        format!("{} / {}", found(Indices::OfNode), found(Indices::OfStep))
    });
    assert_eq!(slots, named, "{rule}");
    named.trim().into()
}

#[test]
fn facts() {
    hold(
        include_str!("gres_bind_tests.txt"),
        |about, text| match about {
            "gpu_bind" => each_reading(text),
            _ => of_three_tasks(text),
        },
    );
    let long = format!("gres/gpu:map:{}0", "0,".repeat(10_000));
    assert_eq!(gpu_bind(&long, Reading::Named), None);
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
