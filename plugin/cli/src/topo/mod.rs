//! `berth topo`: shows a node as berth and slurmd see it. It prints counts, Grid Engine's topology string, a row
//! for each core and each device, or a picture, and marks CPUs that are offline, isolated or not
//! allowed.

mod table;

use std::io::Write;
use std::process::ExitCode;

use berth_answer::json;
use berth_answer::picture::svg::{self, Caption};
use berth_answer::picture::{self as pictures, Picture};
use berth_answer::topo::{Apart, Document, Known};
use berth_discover::Discovered;
use berth_placement::{CpuSet, Machine, Shape, SocketKind};
use berth_site::SiteRules;

use crate::args::{Devices, TopoArgs, TopoFormat};
use crate::{Failure, discover, say, world};

/// Where the kernel lists CPUs.
const KERNEL: &str = "/sys/devices/system/cpu";

/// Runs the subcommand.
///
/// # Errors
/// A machine that cannot be read, an output that cannot be written.
pub(crate) fn run(args: &TopoArgs) -> Result<ExitCode, Failure> {
    if args.machine == LIST {
        write_known(args.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut found = world::discovered(&args.machine)?;
    if args.format != TopoFormat::String {
        found = discover::add(found, Devices::Sysfs);
    }
    let apart = match found.this_system {
        true => apart_here(),
        false => Apart::default(),
    };
    let offline = &apart.offline;
    let kind = args.socket;
    let machine = &found.machine;
    let mut out: Box<dyn Write> = match args.format {
        TopoFormat::Table | TopoFormat::Tree => Box::new(say::text_output()),
        _ => Box::new(say::output()),
    };
    match args.format {
        TopoFormat::Table => table::write(&mut out, &found, kind, &apart)?,
        TopoFormat::String => writeln!(out, "{}", machine.topology_string(kind))?,
        TopoFormat::Tree => {
            let picture = [draw(machine, kind)];
            pictures::show(&mut out, &picture, say::screen(args.width, args.color))?;
            if let Some(line) = picture[0].nowhere() {
                writeln!(out, "{line}")?;
            }
            if !offline.is_empty() {
                writeln!(out, "offline CPUs, in no core: {offline}")?;
            }
        }
        TopoFormat::Svg => out.write_all(picture(&found, kind, offline).as_bytes())?,
        TopoFormat::Json => {
            json::write_all(&mut out, "berth-topo", &document(&found, kind, &apart))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// CPUs of this system that are not as the others.
fn apart_here() -> Apart {
    let node = world::node();
    let rules = node.as_ref().and_then(|node| node.rules.as_ref());
    Apart {
        offline: list("offline"),
        reserved: rules.map(SiteRules::reserved).unwrap_or_default(),
    }
}

/// A list of the kernel's; empty where it has none.
fn list(name: &str) -> CpuSet {
    let text = std::fs::read_to_string(format!("{KERNEL}/{name}")).unwrap_or_default();
    CpuSet::from_list(text.trim()).unwrap_or_default()
}

/// Its numbers.
fn document<'a>(found: &'a Discovered, kind: SocketKind, apart: &Apart) -> Document<'a> {
    Document::of(&found.source, &found.machine, &found.notes, kind, apart)
}

/// The node as a picture for documents.
fn picture(found: &Discovered, kind: SocketKind, offline: &CpuSet) -> String {
    let machine = &found.machine;
    let shape = Shape::of(machine, kind);
    let picture = [draw(machine, kind)];
    let mut below = vec![machine.topology_string(kind)];
    below.extend(picture[0].nowhere());
    if !offline.is_empty() {
        below.push(format!("offline CPUs, in no core: {offline}"));
    }
    let caption = Caption {
        title: format!("{} ({shape})", found.source),
        below,
        warnings: Vec::new(),
    };
    svg::draw(&picture, &caption)
}

fn draw(machine: &Machine, kind: SocketKind) -> Picture<'_> {
    let cells = pictures::numbers(machine, machine.isolated());
    Picture::new(machine, kind, None, cells).with(machine.devices().iter())
}

/// The word in the place of a machine.
const LIST: &str = "list";

fn line_of(known: &Known) -> String {
    let shape = [
        known.sockets,
        known.cores_per_socket,
        known.threads_per_core,
    ];
    let shape = shape.map(|count| count.to_string()).join(":");
    let counts = [known.numa_nodes, known.l3_caches, known.gpus];
    line(
        [known.name, &shape],
        counts.map(|count| count.to_string()),
        known.words,
    )
}

/// A line of the list. A name is never broken, because it is copied.
fn line(names: [&str; 2], [numa, caches, gpus]: [String; 3], words: &str) -> String {
    let [name, shape] = names;
    format!("{name:<16}  {shape:<6}  {numa:<4}  {caches:<2}  {gpus:<4}  {words}")
}

/// Prints them.
///
/// # Errors
/// An output that cannot be written.
fn write_known(format: TopoFormat) -> Result<(), Failure> {
    let all = Known::all();
    if format == TopoFormat::Json {
        return json::write(&mut say::output(), "berth-machines", "machines", &all);
    }
    let mut out = say::text_output();
    let counts = ["NUMA", "L3", "GPUs"].map(String::from);
    writeln!(out, "{}", line(["name", "S:C:T"], counts, "node"))?;
    for one in &all {
        writeln!(out, "{}", line_of(one))?;
    }
    Ok(out.flush()?)
}
