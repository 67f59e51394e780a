//! A node's block: a row a task, and where it is in the machine.

use std::fmt::Write;

use berth_discover::{Source, discover};
use berth_placement::CpuSet;
use serde::{Deserialize, Serialize};

use super::is_json;
use super::read::Task;
use crate::args::ReportArgs;
use crate::columns::write_rows;
use crate::parents::Parents;
use crate::plan::socket_kind;

/// What the tasks of a node have: `berth-report`, version 1; one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Node {
    format: String,
    version: u32,
    pub host: String,
    /// Local numbers of tasks that said nothing.
    pub missing: String,
    pub as_planned: bool,
    pub tasks: Vec<Row>,
}

/// A task with its place in the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub task: Task,
    pub sockets: String,
    pub numa_nodes: String,
    pub cores: String,
}

impl Node {
    /// The words of some tasks.
    pub(crate) fn new(host: String, missing: String, tasks: Vec<Task>) -> Self {
        Self {
            format: "berth-report".into(),
            version: 1,
            host,
            missing,
            as_planned: tasks.iter().all(|task| task.deviations().is_empty()),
            tasks: tasks
                .into_iter()
                .map(|task| Row {
                    task,
                    sockets: String::new(),
                    numa_nodes: String::new(),
                    cores: String::new(),
                })
                .collect(),
        }
    }

    /// Whether a task has something else than was planned.
    pub(crate) fn deviates(&self) -> bool {
        !self.as_planned
    }

    /// Looks each task up in this host's machine; where that is not to be had, only CPUs are told.
    fn locate(&mut self, args: &ReportArgs) {
        let Ok(found) = discover(&Source::Live) else {
            return;
        };
        let parents = Parents::new(&found.machine, socket_kind(args.socket));
        for row in &mut self.tasks {
            let cpus = CpuSet::from_list(&row.task.cpus).unwrap_or_default();
            [row.sockets, row.numa_nodes, row.cores] = parents.of(&cpus);
        }
    }

    /// The block for people.
    pub(crate) fn table(&self) -> String {
        let mut text = Vec::new();
        let count = self.tasks.len();
        let tasks = if count == 1 { "task" } else { "tasks" };
        let rule = self.tasks.first().and_then(|row| row.task.rule.as_deref());
        let rule = rule
            .map(|rule| format!(", rule {rule}"))
            .unwrap_or_default();
        let mut head = format!("node {}: {count} {tasks}{rule}", self.host);
        if !self.missing.is_empty() {
            let _ = write!(head, "; no word from local task(s) {}", self.missing);
        }
        let rows = rows(&self.tasks, None);
        // A Vec takes everything.
        let _ = write_rows(&mut text, &rows);
        format!("{head}\n{}\n", String::from_utf8_lossy(&text))
    }
}

/// Heads and cells; columns that nobody needs are left out.
pub(super) fn rows(tasks: &[Row], host_of: Option<&dyn Fn(usize) -> String>) -> Vec<Vec<String>> {
    let planned = tasks.iter().any(|row| row.task.planned_cpus.is_some());
    let threads = tasks.iter().any(|row| !row.task.threads.is_empty());
    let mut heads = vec!["task"];
    heads.extend(host_of.map(|_| "node"));
    heads.extend(["local", "pid", "socket", "NUMA", "core", "CPUs", "memory"]);
    heads.extend(threads.then_some("threads"));
    heads.extend(planned.then_some("plan"));
    let mut rows = vec![heads.into_iter().map(String::from).collect()];
    for (at, row) in tasks.iter().enumerate() {
        let task = &row.task;
        let mut cells = vec![task.task.to_string()];
        cells.extend(host_of.map(|host| host(at)));
        cells.extend([task.local.to_string(), task.pid.to_string()]);
        cells.extend([&row.sockets, &row.numa_nodes, &row.cores, &task.cpus].map(Clone::clone));
        cells.push(match task.memory.as_str() {
            "" => format!("any of {}", task.memory_allowed),
            memory => memory.into(),
        });
        cells.extend(threads.then(|| task.threads_text()));
        cells.extend(planned.then(|| plan_text(task)));
        rows.push(cells);
    }
    rows
}

fn plan_text(task: &Task) -> String {
    let deviations = task.deviations();
    match (deviations.as_slice(), &task.planned_cpus) {
        ([], Some(planned)) if task.is_inside_plan() => format!("inside {planned}"),
        ([], Some(_)) => "as planned".into(),
        ([], None) => String::new(),
        (found, _) => format!("DIFFERS: {}", found.join(", ")),
    }
}

/// The block in the format asked for.
pub(crate) fn text(args: &ReportArgs, node: &Node) -> String {
    let mut node = node.clone();
    node.locate(args);
    if is_json(args) {
        return serde_json::to_string(&node).unwrap_or_default() + "\n";
    }
    node.table()
}
