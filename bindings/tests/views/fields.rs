//! Single fields of the records: in every release the accessor gives what was written.

use serde_json::Value;
use slurm_sys::{SlurmConf, StepRecord};

use super::known::{conf_answer, launch_answer, step_id};
use super::lines::hold;
use crate::common::{
    Bytes, LAUNCH, LIMIT, STEP, Variant, launch, slurm_conf, slurmd_conf, step, variants,
};

#[test]
fn every_field_is_read_where_the_release_has_it() {
    let variants = variants();
    hold(include_str!("fields.txt"), |fields, accessor| {
        of_every_release(&variants, |variant| {
            answer(variant, fields, accessor).to_string()
        })
    });
}

/// The answer that all releases give.
pub fn of_every_release(variants: &[Variant], answer: impl Fn(&Variant) -> String) -> String {
    let mut answers: Vec<_> = variants.iter().map(answer).collect();
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    answers.swap_remove(0)
}

/// An accessor's answer for a record with these fields.
fn answer(variant: &Variant, fields: &str, accessor: &str) -> Value {
    let mut words = fields.split(' ');
    let record = words.next().unwrap_or_default();
    let mut bytes = Bytes::new(
        variant,
        match record {
            "launch" => LAUNCH,
            "step" => STEP,
            "slurmd_conf" => "slurmd_conf_t",
            _ => "slurm_conf_t",
        },
    );
    let mut child = Bytes::new(variant, "env_t");
    for word in words {
        let (field, value) = word.split_once('=').unwrap();
        match field.strip_prefix("env.") {
            Some(field) => put(variant, &mut child, field, value),
            None => put(variant, &mut bytes, field, value),
        }
    }
    match record {
        "launch" => launch_answer(&launch(&mut bytes, variant), 0, accessor),
        "step" => {
            bytes.put_pointer("envtp", child.base());
            step_answer(&step(&mut bytes, variant), accessor)
        }
        "slurmd_conf" => conf_answer(&slurmd_conf(&mut bytes, variant), accessor),
        _ => slurm_conf_answer(&slurm_conf(&mut bytes, variant), accessor),
    }
}

/// Writes fields that stand in one text, separated by `; `.
pub fn put_all(variant: &Variant, bytes: &mut Bytes, changes: &str) {
    for (field, value) in changes.split("; ").filter_map(|one| one.split_once('=')) {
        put(variant, bytes, field, value);
    }
}

/// Writes a number, a list of small or of long numbers, the three parts of a step id, or a text.
fn put(variant: &Variant, bytes: &mut Bytes, field: &str, value: &str) {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    if let Some(number) = number(value) {
        bytes.put(field, number);
    } else if field == "step_id" {
        let part = |text| number(text).map_or_else(|| variant.constant(text), |found| found as u32);
        let [job, step, component] = value.split('.').map(part).collect::<Vec<_>>()[..] else {
            panic!("{value} is no step id");
        };
        bytes.put_step_id(field, (job, step, component));
    } else if let Some(list) = value.strip_prefix("list:") {
        let list: Vec<u64> = list.split(',').filter_map(number).collect();
        bytes.put_array(field, 2, &list);
    } else if let Some(list) = value.strip_prefix("longs:") {
        let list: Vec<u64> = list.split(',').filter_map(number).collect();
        bytes.put_array(field, 8, &list);
    } else {
        bytes.put_text(field, value.trim_start_matches("text:"));
    }
}

fn step_answer(view: &StepRecord, accessor: &str) -> Value {
    let ids = view.child_ids().unwrap();
    match accessor {
        "node_tasks" => view.node_tasks().into(),
        "nodeid" => view.nodeid().into(),
        "cpu_bind_type" => view.cpu_bind_type().into(),
        "mem_bind_type" => view.mem_bind_type().into(),
        "uid" => view.uid().into(),
        "node_name" => view.node_name().into(),
        "cpu_bind" => view.cpu_bind(LIMIT).unwrap().into(),
        "mem_bind" => view.mem_bind(LIMIT).unwrap().into(),
        "job_alloc_cores" => view.job_alloc_cores().into(),
        "step_alloc_cores" => view.step_alloc_cores().into(),
        "procid" => ids.procid.into(),
        "localid" => ids.localid.into(),
        "task_pid" => ids.task_pid.into(),
        "step_id" => step_id(view.step_id()),
        "is_batch" => view.is_batch().into(),
        other => panic!("step.{other}: no such answer"),
    }
}

fn slurm_conf_answer(conf: &SlurmConf, accessor: &str) -> Value {
    match accessor {
        "task_plugin_param" => conf.task_plugin_param().into(),
        "select_type_param" => conf.select_type_param().into(),
        "task_plugin" => conf.task_plugin().into(),
        "plugstack" => conf.plugstack().into(),
        other => panic!("slurm_conf.{other}: no such answer"),
    }
}
