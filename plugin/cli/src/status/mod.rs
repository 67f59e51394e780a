//! `berth status`: shows which steps are bound to which cores of this node. Root reads the ledger;
//! everybody else sees how full the node is, but not who runs what. With `--cpusets` it shows the room
//! for cpusets, with `--pools` the pools, and with `--metrics` what was counted.

mod cpusets;
mod free;
mod live;
mod pools;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use berth_answer::json;
use berth_host::ledger::{Entry, Kind, look, queries};
use berth_host::metrics::{Facts, Metrics, State, text};
use berth_host::{StateDir, announcement, machine_file, trust};
use berth_placement::{CpuSet, Machine, SocketKind, counted};
use nix::unistd::{Uid, User};
use serde::Serialize;
use serde_json::Value;

use crate::args::{StatusArgs, StatusFormat};
use crate::world::state;
use crate::{Failure, say};

/// The terminal's sequence to clear the screen and go to the top.
const TOP_OF_EMPTY_SCREEN: &str = "\u{1b}[H\u{1b}[2J";

/// More than the public file of the largest node.
const MOST: u64 = 1 << 20;

/// One node, as JSON has it.
#[derive(Serialize)]
struct Node {
    node: String,
    m_topology: String,
    m_topology_inuse: String,
    m_socket: usize,
    m_core: usize,
    m_thread: usize,
    reserved: String,
    /// CPUs that cpusets hold: they are in use also where no step is bound to them.
    cpusets: String,
    steps: Vec<BoundStep>,
}

#[derive(Serialize)]
struct BoundStep {
    job: u32,
    step: String,
    user: String,
    tasks: u32,
    cpus: String,
    topology: String,
    binding: String,
    state: &'static str,
}

/// Runs the subcommand.
///
/// # Errors
/// A state directory or ledger that cannot be read.
pub(crate) fn run(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let mut out = say::output_for(args.format == StatusFormat::Table);
    loop {
        // The text is made before the screen is cleared, so the screen never stays empty.
        let mut text = Vec::new();
        once(args, &mut text)?;
        if args.watch.is_some() && io::stdout().is_terminal() {
            write!(out, "{TOP_OF_EMPTY_SCREEN}")?;
        }
        out.write_all(&text)?;
        out.flush()?;
        match args.watch {
            Some(seconds) => thread::sleep(Duration::from_secs(seconds)),
            None => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn once(args: &StatusArgs, out: &mut impl Write) -> Result<(), Failure> {
    let (base, nodes) = state::dir_and_nodes(args.state_dir.as_deref(), args.node.as_deref())?;
    if args.cpusets {
        return cpusets::once(args, &base, &nodes, out);
    }
    if args.pools {
        return pools::once(args, &base, &nodes, out);
    }
    if args.metrics {
        return Ok(out.write_all(metrics(&base, &nodes)?.as_bytes())?);
    }
    let kind = args.socket;
    let (mut bound, mut public_texts) = (Vec::new(), Vec::new());
    for name in nodes {
        let dir = StateDir::new(&base, &name)?;
        if !Uid::effective().is_root() {
            let text = trust::read(&dir.path().join(queries::TOPOLOGY_FILE), MOST);
            let text = text.map_or_else(
                |_| nothing_bound(&dir, kind),
                |bytes| String::from_utf8_lossy(&bytes).into_owned(),
            );
            public_texts.push(format!("node={name}\n{text}"));
            continue;
        }
        bound.push(node(&dir, &name, kind, args.job)?);
    }
    match args.format {
        StatusFormat::Json if !public_texts.is_empty() => {
            let nodes: Vec<_> = public_texts.iter().map(|text| pairs(text)).collect();
            json::write(out, "berth-status", "nodes", &nodes)?;
        }
        StatusFormat::Table if !public_texts.is_empty() => {
            write!(out, "{}", public_texts.concat())?
        }
        StatusFormat::Json => json::write(out, "berth-status", "nodes", &bound)?,
        StatusFormat::Table => bound.iter().try_for_each(|node| table(out, node))?,
    }
    Ok(())
}

/// Lines of `name=value`, in which a number is one.
fn pairs(text: &str) -> BTreeMap<&str, Value> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let value = |text: &str| match text.parse::<u64>() {
        Ok(number) => Value::from(number),
        Err(_) => Value::from(text),
    };
    pairs.map(|(name, text)| (name, value(text))).collect()
}

/// The public lines of a node on which nothing was bound yet.
fn nothing_bound(dir: &StateDir, kind: SocketKind) -> String {
    let file = machine_file::read(dir.machine_path());
    file.map_or_else(
        |_| queries::UNKNOWN.into(),
        |file| queries::topology_text(&file.machine, kind, &CpuSet::new(), 0),
    )
}

fn node(dir: &StateDir, name: &str, kind: SocketKind, job: Option<u32>) -> Result<Node, Failure> {
    let machine = machine_file::read(dir.machine_path())?.machine;
    let mut entries = look(dir)?;
    entries.retain(|entry| !entry.pool && job.is_none_or(|job| entry.step.job == job));
    entries.sort_by_key(|entry| (entry.step.job, entry.step.step));
    let used: CpuSet = entries.iter().flat_map(|entry| entry.cpus.iter()).collect();
    let held = entries.iter().filter(|entry| entry.cpuset.is_some());
    let held: CpuSet = held.flat_map(|entry| entry.cpus.iter()).collect();
    Ok(Node {
        node: name.into(),
        m_topology: machine.topology_string(kind),
        m_topology_inuse: machine.topology_in_use(kind, &used),
        m_socket: machine.sockets(kind).len(),
        m_core: machine.core_count(),
        m_thread: machine.cpus().count(),
        reserved: reserved(dir),
        cpusets: held.to_string(),
        steps: entries
            .iter()
            .map(|entry| step(entry, &machine, kind))
            .collect(),
    })
}

/// `reserved=`, as slurmd has announced it.
fn reserved(dir: &StateDir) -> String {
    let words = announcement::read(dir).ok();
    let rules = words.and_then(|words| words.site_rules());
    rules.map_or(String::new(), |rules| rules.reserved)
}

fn step(entry: &Entry, machine: &Machine, kind: SocketKind) -> BoundStep {
    let user = match entry.stepd {
        Some(_) => user(entry.uid),
        None => "-".into(),
    };
    BoundStep {
        job: entry.step.job,
        step: match entry.kind {
            Kind::Batch => "batch".into(),
            Kind::Regular | Kind::Overlap => entry.step.step.to_string(),
        },
        user,
        tasks: entry.tasks,
        cpus: entry.cpus.to_string(),
        topology: machine.topology_in_use(kind, &entry.cpus),
        binding: entry.request.clone(),
        state: match entry.stepd {
            Some(_) if entry.waits => "waits",
            Some(_) if entry.cpuset.is_some() && !entry.is_stopped() => "cpuset",
            None => "starting",
            Some(_) if entry.is_stopped() => "suspended",
            Some(_) => "running",
        },
    }
}

fn user(uid: u32) -> String {
    let found = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    found.map_or_else(|| uid.to_string(), |user| user.name)
}

fn table(out: &mut impl Write, node: &Node) -> io::Result<()> {
    let counts = format!(
        "node {}: {}, {}, {}",
        node.node,
        counted(node.m_socket, "socket"),
        counted(node.m_core, "core"),
        counted(node.m_thread, "thread")
    );
    let in_use = &node.m_topology_inuse;
    if counts.len() + in_use.len() + ", in use ".len() <= say::width(None) {
        writeln!(out, "{counts}, in use {in_use}")?;
    } else {
        writeln!(out, "{counts}")?;
        say::named(out, "in use", in_use)?;
    }
    if !node.reserved.is_empty() {
        say::named(out, "reserved", &node.reserved)?;
    }
    if !node.cpusets.is_empty() {
        let held = format!("{} (in use, also where no step is bound)", node.cpusets);
        say::named(out, "cpusets", &held)?;
    }
    if node.steps.is_empty() {
        return writeln!(out, "no step is bound by --binding");
    }
    let heads = [
        "step",
        "user",
        "tasks",
        "CPUs",
        "its cores",
        "binding",
        "state",
    ];
    let rows = node.steps.iter().map(|step| {
        vec![
            format!("{}.{}", step.job, step.step),
            step.user.clone(),
            step.tasks.to_string(),
            step.cpus.clone(),
            step.topology.clone(),
            step.binding.clone(),
            step.state.into(),
        ]
    });
    say::table(out, heads, rows)
}

/// The text of the metrics; a node on which nothing could be counted yet has only zeros.
pub(crate) fn metrics(base: &Path, nodes: &[String]) -> Result<String, Failure> {
    let node = |name: &String| {
        let dir = StateDir::new(base, name)?;
        Ok((facts(name, &dir), Metrics::read(&dir).unwrap_or_default()))
    };
    let nodes: Result<Vec<_>, Failure> = nodes.iter().map(node).collect();
    Ok(text(&nodes?))
}

/// slurmd's announcement, and whether berth is switched off now.
fn facts(name: &str, dir: &StateDir) -> Facts {
    let words = announcement::read(dir).unwrap_or_default();
    let works = words.is_task_plugin || words.serves_binding_only;
    let settings = words.settings.split(' ');
    let of_compat = settings.filter(|word| {
        ["compat=", "fixes="]
            .iter()
            .any(|key| word.starts_with(key))
    });
    let compat = of_compat.collect::<Vec<_>>().join(" ");
    Facts {
        node: name.into(),
        version: words.berth,
        compat: compat.trim_start_matches("compat=").into(),
        state: match works {
            _ if dir.is_off() => State::Off,
            true => State::Working,
            false => State::Inert,
        },
    }
}
