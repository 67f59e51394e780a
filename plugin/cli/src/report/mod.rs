//! `berth report`: every task of a step runs it. It shows what each task really has in the kernel,
//! beside the plan. The tasks of a node meet in a folder of their own user, and one of
//! them prints the node's block.

mod gather;
mod identity;
mod read;
mod threads;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::Duration;

use berth_answer::parents::Parents;
use berth_answer::text::write_rows;
use berth_discover::{Source, discover};
use berth_placement::{CpuSet, counted};
use serde::{Deserialize, Serialize};

use crate::args::{ReportArgs, StatusFormat};
use crate::child::code;
use crate::{Failure, Unreadable, say};
use gather::{Gathered, gather};
use identity::Identity;
use read::Task;

/// When each node's block is written.
const TURN: Duration = Duration::from_millis(20);
const LAST_TURN: Duration = Duration::from_secs(2);

/// Runs the subcommand.
///
/// # Errors
/// A program that does not start, a kernel that does not answer, an output that cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &args.merge {
        return merged(args, file);
    }
    let me = Identity::of_this_task();
    let Some(mut program) = start(&args.program)? else {
        let deviates = report(args, &me, None)?;
        return Ok(crate::exit_code(deviates && args.check));
    };
    thread::sleep(Duration::from_secs_f64(args.after));
    // The task exists for the program, which goes on even if the report fails.
    if let Err(why) = report(args, &me, Some(program.id())) {
        say::failed(&why.to_string());
    }
    let code = code(program.wait()?);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Sends this task's report to the task that prints, or prints itself. Returns whether a printed
/// task deviates.
fn report(args: &ReportArgs, me: &Identity, program: Option<u32>) -> Result<bool, Failure> {
    let own = read::task(me, program)?;
    let Gathered::All(node) = gather(me, own, Duration::from_secs(args.wait)) else {
        return Ok(false);
    };
    // In turn, so that srun mixes the nodes' lines less.
    thread::sleep((TURN * me.node).min(LAST_TURN));
    let text = text(args, &node);
    io::stdout().lock().write_all(text.as_bytes())?;
    if !node.missing.is_empty() {
        let is_several = node.missing.contains([',', '-']);
        let tasks = if is_several { "tasks" } else { "task" };
        say::note(&format!(
            "{tasks} {} of {} did not answer within {} s; check that all of them run berth \
             report, or give a longer --wait",
            node.missing, node.host, args.wait
        ));
    }
    Ok(node.deviates())
}

fn start(words: &[String]) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let child = Command::new(program).args(arguments).spawn();
    Ok(Some(child.map_err(|why| {
        format!(
            "the program {program} does not start: {why}; check that it is in PATH on this node"
        )
    })?))
}

/// Runs it.
///
/// # Errors
/// A file that cannot be read or holds something else.
fn merged(args: &ReportArgs, file: &Path) -> Result<ExitCode, Failure> {
    let text = match file.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            text
        }
        false => std::fs::read_to_string(file).map_err(|why| {
            Unreadable(format!("--merge {} cannot be read: {why}", file.display()))
        })?,
    };
    let mut tasks = Vec::new();
    // Other lines are the program's own; srun --label stands before ours.
    for json in text.lines().filter_map(json_of) {
        let row: Row = serde_json::from_str(json).map_err(|why| {
            Unreadable(format!(
                "a line does not have the form of berth report --format json: {why}"
            ))
        })?;
        tasks.push(row);
    }
    if tasks.is_empty() {
        let why = "the input has no report; make one with srun … berth report --format json";
        return Err(Unreadable(why.into()).into());
    }
    tasks.sort_by_key(|row| row.task.task);
    let deviates = tasks.iter().any(|row| !row.as_planned);
    let mut out = say::foreign_output();
    write_rows(&mut out, say::width(None), &rows(&tasks, true))?;
    out.flush()?;
    Ok(crate::exit_code(deviates && args.check))
}

/// The report of a task in a line of somebody's output, as `--format json` prints it.
pub(crate) fn json_of(line: &str) -> Option<&str> {
    let is_report = line.contains("\"berth-report\"");
    is_report.then(|| &line[line.find('{').unwrap_or_default()..])
}

/// A node, and the CPUs of its tasks.
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
    fn deviates(&self) -> bool {
        self.tasks.iter().any(|row| !row.as_planned)
    }

    /// Finds the cores of each task in this host's machine. If the machine is not known, the report shows CPUs alone.
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
    if args.format != StatusFormat::Json {
        return node.table();
    }
    let line = |row: &Row| serde_json::to_string(row).unwrap_or_default() + "\n";
    node.tasks.iter().map(line).collect()
}
