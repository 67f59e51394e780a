//! `berth topo`: shows a node as berth and slurmd see it. It prints counts, Grid Engine's topology string, a row
//! for each core and each device, or a picture, and marks CPUs that are offline, isolated or not
//! allowed.

use std::io::Write;
use std::process::ExitCode;

use berth_answer::json;
use berth_answer::picture::svg::{self, Caption};
use berth_answer::picture::{self as pictures, Picture};
use berth_answer::topo::{Apart, DeviceRow, Document, Kind, Known};
use berth_discover::Discovered;
use berth_host::online::listed;
use berth_placement::{CpuId, CpuSet, DeviceKind, Machine, ObjectKind, Shape, SocketKind};
use berth_site::SiteRules;

use crate::args::{Devices, TopoArgs, TopoFormat};
use crate::{Failure, discover, say, world};

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
    let is_text = matches!(args.format, TopoFormat::Table | TopoFormat::Tree);
    let mut out = say::output_for(is_text);
    match args.format {
        TopoFormat::Table => write_table(&mut out, &found, kind, &apart)?,
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
        offline: listed("offline"),
        reserved: rules.map(SiteRules::reserved).unwrap_or_default(),
    }
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

/// The table: counts, then a row for each core, then one for each device.
fn write_table(
    out: &mut impl Write,
    found: &Discovered,
    kind: SocketKind,
    apart: &Apart,
) -> Result<(), Failure> {
    let (machine, all) = (&found.machine, document(found, kind, apart));
    let forbidden = machine.cpus().difference(machine.allowed());
    let mut lines = vec![
        (
            "machine",
            format!("{} ({})", all.source, Shape::of(machine, kind)),
        ),
        ("m_topology", all.m_topology.clone()),
        (
            "counts",
            format!(
                "m_socket={} m_core={} m_thread={}",
                all.m_socket, all.m_core, all.m_thread
            ),
        ),
        ("objects", objects(machine)),
        ("NUMA nodes", all.numa_nodes.clone()),
        ("offline", all.offline.clone()),
        ("isolated", all.isolated.clone()),
        ("held by others", all.held.clone()),
        ("reserved", all.reserved.clone()),
        ("not allowed", forbidden.to_string()),
    ];
    lines.extend(kinds(&all).into_iter().map(|line| ("core kind", line)));
    lines.extend(all.notes.iter().map(|note| ("note", note.clone())));
    for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        say::named(out, name, text)?;
    }
    writeln!(out)?;
    let heads = ["core", "socket", "NUMA", "CPUs", ""];
    let cores = cores(&all, &forbidden, machine.isolated(), &apart.offline);
    say::table(out, heads, cores)?;
    let devices = devices(&all);
    if !devices.is_empty() {
        writeln!(out)?;
        say::table(out, ["device", "PCI", "names", "NUMA", "CPUs"], devices)?;
    }
    Ok(())
}

/// How many objects there are of each kind that is not the same as one already shown.
fn objects(machine: &Machine) -> String {
    let named = [
        (ObjectKind::Die, "dies"),
        (ObjectKind::L3, "L3 caches"),
        (ObjectKind::L2, "L2 caches"),
        (ObjectKind::L1, "L1 caches"),
    ];
    let shown = [ObjectKind::Package, ObjectKind::Core, ObjectKind::Pu];
    let mut shown = shown.map(|kind| machine.objects(kind)).to_vec();
    let mut texts = Vec::new();
    for (kind, name) in named {
        let found = machine.objects(kind);
        if !found.is_empty() && !shown.contains(&found) {
            texts.push(format!("{} {name}", found.len()));
            shown.push(found);
        }
    }
    texts.join(", ")
}

/// A line for each kind of cores, where there are several.
fn kinds(all: &Document) -> Vec<String> {
    if all.kinds.len() < 2 {
        return Vec::new();
    }
    let line = |kind: &Kind| {
        let rank = kind.rank.map(|rank| format!("rank={rank}"));
        let infos = kind
            .infos
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let words: Vec<_> = rank.into_iter().chain(infos).collect();
        format!("CPUs {}: {}", kind.cpus, words.join(" "))
    };
    all.kinds.iter().map(line).collect()
}

/// A row for each core, and one for each CPU that is in none.
fn cores(
    all: &Document,
    forbidden: &CpuSet,
    isolated: &CpuSet,
    offline: &CpuSet,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for core in &all.cores {
        let cpus: CpuSet = core.cpus.iter().copied().map(CpuId).collect();
        let marks = [
            (cpus.intersects(forbidden), "not allowed"),
            (cpus.intersects(isolated), "isolated"),
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
            number(core.numa_node),
            numbers.join(","),
            marks.join(", "),
        ]);
    }
    // As lscpu has them: the kernel no longer says which core they are of.
    let row = |cpu: CpuId| ["-", "-", "-", &cpu.to_string(), "offline"].map(String::from);
    rows.extend(offline.iter().map(|cpu| row(cpu).to_vec()));
    rows
}

/// A row for each device that tasks may want to be near.
fn devices(all: &Document) -> Vec<Vec<String>> {
    let near = |device: &&DeviceRow| device.kind != DeviceKind::Other.name();
    let row = |device: &DeviceRow| {
        vec![
            device.kind.into(),
            device.pci.clone().unwrap_or_default(),
            device.names.join(","),
            number(device.numa_node),
            device.cpus.clone(),
        ]
    };
    all.devices.iter().filter(near).map(row).collect()
}

fn number(node: Option<u32>) -> String {
    node.map(|node| node.to_string()).unwrap_or_default()
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
