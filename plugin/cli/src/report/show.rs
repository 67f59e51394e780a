//! A node's block: one row per task, with its place in the machine. srun mixes the lines of several
//! nodes, but no line within itself: each says whose it is.

use berth_answer::columns::write_rows;
use berth_answer::parents::Parents;
use berth_discover::{Source, discover};
use berth_placement::{CpuSet, counted};
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::read::Task;
use crate::args::{ReportArgs, ReportFormat};
use crate::say;

/// What the tasks of a node have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub host: String,
    /// Whether there are others.
    pub is_one_of_several: bool,
    /// Local numbers of tasks that did not answer.
    pub missing: String,
    pub tasks: Vec<Row>,
}

/// A task with its place in the machine: `berth-report`, version 1, a line of JSON each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub format: String,
    pub version: u32,
    pub node: String,
    #[serde(flatten)]
    pub task: Task,
    pub as_planned: bool,
    pub sockets: String,
    pub numa_nodes: String,
    pub cores: String,
}

impl Node {
    /// The words of some tasks.
    pub(crate) fn new(me: &Identity, missing: String, tasks: Vec<Task>) -> Self {
        let row = |task: Task| Row {
            format: "berth-report".into(),
            version: 1,
            node: me.host.clone(),
            as_planned: task.deviations().is_empty(),
            task,
            sockets: String::new(),
            numa_nodes: String::new(),
            cores: String::new(),
        };
        Self {
            host: me.host.clone(),
            is_one_of_several: me.node_count > 1,
            missing,
            tasks: tasks.into_iter().map(row).collect(),
        }
    }

    /// Whether a task has something else than was planned.
    pub(crate) fn deviates(&self) -> bool {
        self.tasks.iter().any(|row| !row.as_planned)
    }

    /// Looks each task up in this host's machine; where that is not to be had, only CPUs are told.
    fn locate(&mut self, args: &ReportArgs) {
        let Ok(found) = discover(&Source::Live) else {
            return;
        };
        let parents = Parents::new(&found.machine, args.socket);
        for row in &mut self.tasks {
            let cpus = CpuSet::from_list(&row.task.cpus).unwrap_or_default();
            [row.sockets, row.numa_nodes, row.cores] = parents.of(&cpus);
        }
    }

    /// The block for people.
    fn table(&self) -> String {
        let mut text = Vec::new();
        let tasks = counted(self.tasks.len(), "task");
        let rule = self.tasks.first().and_then(|row| row.task.rule.as_deref());
        let rule = rule
            .map(|rule| format!(", rule {rule}"))
            .unwrap_or_default();
        let head = format!("node {}: {tasks}{rule}", self.host);
        // A Vec takes everything.
        let _ = write_rows(
            &mut text,
            say::width(None),
            &rows(&self.tasks, self.is_one_of_several),
        );
        format!("{head}\n{}\n", String::from_utf8_lossy(&text))
    }
}

/// Heads and cells; columns that nobody needs are left out.
pub(super) fn rows(tasks: &[Row], with_node: bool) -> Vec<Vec<String>> {
    let planned = tasks.iter().any(|row| row.task.planned_cpus.is_some());
    let threads = tasks.iter().any(|row| row.task.threads > 0);
    let mut heads = vec!["task"];
    heads.extend(with_node.then_some("node"));
    heads.extend(["local", "pid", "socket", "NUMA", "core", "CPUs", "memory"]);
    heads.extend(threads.then_some("threads"));
    heads.extend(planned.then_some("plan"));
    let mut rows = vec![heads.into_iter().map(String::from).collect()];
    for row in tasks {
        let task = &row.task;
        let mut cells = vec![task.task.to_string()];
        cells.extend(with_node.then(|| row.node.clone()));
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
    if args.format != ReportFormat::Json {
        return node.table();
    }
    let line = |row: &Row| serde_json::to_string(row).unwrap_or_default() + "\n";
    node.tasks.iter().map(line).collect()
}
