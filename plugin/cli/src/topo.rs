//! `berth topo`: a node as berth and slurmd see it. Counts, Grid Engine's topology string, a row
//! a core, a picture; CPUs that are offline, isolated or not allowed are shown as such.

use std::io::Write;
use std::process::ExitCode;

use berth_discover::{Discovered, Source, discover};
use berth_placement::{CpuSet, Machine, Shape, SocketKind};
use serde::Serialize;

use crate::Failure;
use crate::args::{TopoArgs, TopoFormat};
use crate::columns::write_rows;
use crate::parents::Parents;
use crate::picture::{self, Picture};
use crate::plan::socket_kind;
use crate::say;

/// Where the kernel lists CPUs.
const KERNEL: &str = "/sys/devices/system/cpu";

/// A node's numbers, as JSON has them: `berth-topo`, version 1.
#[derive(Serialize)]
struct Document {
    format: &'static str,
    version: u32,
    source: String,
    m_topology: String,
    m_socket: usize,
    m_core: usize,
    m_thread: usize,
    numa_nodes: String,
    /// S:C:T as slurmd counts them.
    shape: [u32; 3],
    allowed: String,
    offline: String,
    isolated: String,
    cores: Vec<Core>,
}

#[derive(Serialize)]
struct Core {
    core: u32,
    socket: u32,
    numa_node: Option<u32>,
    cpus: Vec<u32>,
}

/// What only the running kernel knows.
#[derive(Default)]
struct Kernel {
    offline: CpuSet,
    isolated: CpuSet,
}

/// Runs the subcommand.
///
/// # Errors
/// A machine that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &TopoArgs) -> Result<ExitCode, Failure> {
    let found = discover(&Source::parse(&args.machine)?)?;
    let kernel = match found.this_system {
        true => Kernel {
            offline: list("offline"),
            isolated: list("isolated"),
        },
        false => Kernel::default(),
    };
    let kind = socket_kind(args.socket);
    let machine = &found.machine;
    let mut out = say::output();
    match args.format {
        TopoFormat::Table => table(&mut out, &found, kind, &kernel)?,
        TopoFormat::String => writeln!(out, "{}", machine.topology_string(kind))?,
        TopoFormat::Tree => {
            let picture = [draw(machine, kind, &kernel)];
            picture::show(&mut out, &picture, args.width, args.color)?;
            if !kernel.offline.is_empty() {
                writeln!(out, "offline CPUs, in no core: {}", kernel.offline)?;
            }
        }
        TopoFormat::Svg => {
            let title = format!("{} ({})", found.source, Shape::of(machine, kind));
            let picture = [draw(machine, kind, &kernel)];
            let mut below = machine.topology_string(kind);
            if !kernel.offline.is_empty() {
                below += &format!("; offline CPUs, in no core: {}", kernel.offline);
            }
            out.write_all(picture::svg::draw(&picture, &title, &below).as_bytes())?;
        }
        TopoFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &document(&found, kind, &kernel))?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A list of the kernel's; empty where it has none.
fn list(name: &str) -> CpuSet {
    let text = std::fs::read_to_string(format!("{KERNEL}/{name}")).unwrap_or_default();
    CpuSet::from_list(text.trim()).unwrap_or_default()
}

fn draw<'a>(machine: &'a Machine, kind: SocketKind, kernel: &Kernel) -> Picture<'a> {
    let cells = picture::numbers(machine, &kernel.isolated);
    Picture::new(machine, kind, None, cells)
}

fn document(found: &Discovered, kind: SocketKind, kernel: &Kernel) -> Document {
    let machine = &found.machine;
    let shape = Shape::of(machine, kind);
    let parents = Parents::new(machine, kind);
    let cores = parents.cores().map(|place| Core {
        core: place.id.0,
        socket: place.socket,
        numa_node: parents.numa_of(place.id).map(|node| node.0),
        cpus: parents.cpus_of(place.id).iter().map(|cpu| cpu.0).collect(),
    });
    Document {
        format: "berth-topo",
        version: 1,
        source: found.source.clone(),
        m_topology: machine.topology_string(kind),
        m_socket: parents.sockets.len(),
        m_core: machine.core_count(),
        m_thread: machine.cpus().count(),
        numa_nodes: machine.numa_nodes().to_string(),
        shape: [shape.sockets, shape.cores, shape.threads],
        allowed: machine.allowed().to_string(),
        offline: kernel.offline.to_string(),
        isolated: kernel.isolated.to_string(),
        cores: cores.collect(),
    }
}

fn table(
    out: &mut impl Write,
    found: &Discovered,
    kind: SocketKind,
    kernel: &Kernel,
) -> Result<(), Failure> {
    let (machine, all) = (&found.machine, document(found, kind, kernel));
    writeln!(
        out,
        "machine     {} ({})",
        all.source,
        Shape::of(machine, kind)
    )?;
    writeln!(out, "m_topology  {}", all.m_topology)?;
    writeln!(
        out,
        "counts      m_socket={} m_core={} m_thread={}",
        all.m_socket, all.m_core, all.m_thread
    )?;
    for (name, nodes) in [
        ("NUMA nodes", &all.numa_nodes),
        ("offline", &all.offline),
        ("isolated", &all.isolated),
    ] {
        if !nodes.is_empty() {
            writeln!(out, "{name:<11} {nodes}")?;
        }
    }
    let forbidden = machine.cpus().difference(machine.allowed());
    if !forbidden.is_empty() {
        writeln!(out, "not allowed {forbidden}")?;
    }
    writeln!(out)?;
    write_rows(out, &rows(&all, &forbidden, kernel))?;
    Ok(())
}

/// A row a core, and one for each CPU that is in none.
fn rows(all: &Document, forbidden: &CpuSet, kernel: &Kernel) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["core", "socket", "NUMA", "CPUs", ""]
            .map(String::from)
            .to_vec(),
    ];
    for core in &all.cores {
        let cpus: CpuSet = core
            .cpus
            .iter()
            .copied()
            .map(berth_placement::CpuId)
            .collect();
        let marks = [
            (cpus.intersects(forbidden), "not allowed"),
            (cpus.intersects(&kernel.isolated), "isolated"),
        ];
        let marks: Vec<_> = marks
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, mark)| *mark)
            .collect();
        let numbers: Vec<_> = core.cpus.iter().map(ToString::to_string).collect();
        rows.push(vec![
            core.core.to_string(),
            core.socket.to_string(),
            core.numa_node
                .map(|node| node.to_string())
                .unwrap_or_default(),
            numbers.join(","),
            marks.join(", "),
        ]);
    }
    // As lscpu has them: the kernel no longer says which core they are of.
    for cpu in kernel.offline.iter() {
        let dash = || "-".to_string();
        rows.push(vec![
            dash(),
            dash(),
            dash(),
            cpu.to_string(),
            "offline".into(),
        ]);
    }
    rows
}
