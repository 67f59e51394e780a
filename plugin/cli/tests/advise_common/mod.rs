//! The figures of a plan, worked out again from what `berth plan` answers.

use berth_placement::CpuSet;
use serde_json::Value;

pub fn count(list: &Value) -> u64 {
    CpuSet::from_list(list.as_str().unwrap()).unwrap().count() as u64
}

/// The figures of a plan as `berth advise` adds them up over the nodes; `near` has the same tasks with
/// their GPUs.
pub fn figures(plan: &Value, near: Option<&Value>) -> Value {
    let nodes = plan["nodes"].as_array().unwrap();
    let of = |node: &Value| plan["quality"][node["tasks"].to_string()].clone();
    let sum = |name: &str| {
        nodes
            .iter()
            .map(|node| of(node)[name].as_u64().unwrap())
            .sum::<u64>()
    };
    let range = |name: &str| {
        let pairs: Vec<_> = nodes
            .iter()
            .filter_map(|node| of(node)[name].as_array().cloned())
            .collect();
        let least = pairs.iter().filter_map(|pair| pair[0].as_u64()).min()?;
        Some([
            least,
            pairs.iter().filter_map(|pair| pair[1].as_u64()).max()?,
        ])
    };
    let cores: u64 = nodes.iter().map(|node| count(&node["step_cores"])).sum();
    let mut all = serde_json::json!({
        "spanning_numa": sum("spanning_numa"),
        "spanning_l3": sum("spanning_l3"),
        "spanning_packages": sum("spanning_packages"),
        "shared_cores": sum("shared_cores"),
        "idle_cores": sum("idle_cores"),
        "far_cpus": sum("far_cpus"),
        "neighbours_apart": sum("neighbours_apart"),
        "tasks_per_numa": range("tasks_per_numa"),
        "tasks_per_l3": range("tasks_per_l3"),
        "step_cores": cores,
    });
    if let Some(near) = near {
        all["off_gpu"] = off_gpu(plan, near).into();
    }
    all
}

/// Tasks with a CPU that is not next to their GPU: a node's n-th task has those of the n-th there with `--near`,
/// however many tasks either plan puts on the node.
fn off_gpu(plan: &Value, near: &Value) -> usize {
    let set = |list: &Value| CpuSet::from_list(list.as_str().unwrap()).unwrap();
    let tasks = |plan: &Value| plan["tasks"].as_array().unwrap().clone();
    let place = |task: &Value| (task["node"].clone(), task["local"].clone());
    let devices = tasks(near).into_iter().map(|task| {
        let devices = task["devices"].as_array().unwrap().iter();
        let next: CpuSet = devices
            .flat_map(|device| set(&device["cpus"]).iter().collect::<Vec<_>>())
            .collect();
        (place(&task), next)
    });
    let devices: Vec<_> = devices.collect();
    let is_near = |task: &Value| {
        let own = devices.iter().find(|(of, _)| *of == place(task));
        let cpus = task["cpus"].is_string().then(|| set(&task["cpus"]));
        cpus.is_some_and(|cpus| own.is_some_and(|(_, next)| cpus.is_subset(next)))
    };
    tasks(plan).iter().filter(|task| !is_near(task)).count()
}

/// A figure by the name of its criterion.
pub fn value(figures: &Value, criterion: &str) -> u64 {
    let most = |name: &str| figures[name][1].as_u64().unwrap_or(0);
    match criterion {
        "most_tasks_per_numa" => most("tasks_per_numa"),
        "most_tasks_per_l3" => most("tasks_per_l3"),
        name => figures[name].as_u64().unwrap(),
    }
}
