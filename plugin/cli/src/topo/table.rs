//! The table of `berth topo`: counts, then a row for each core, then one for each device.

use std::io::Write;

use berth_answer::topo::{Apart, DeviceRow, Document, Kind};
use berth_discover::Discovered;
use berth_placement::{CpuId, CpuSet, DeviceKind, Machine, ObjectKind, Shape, SocketKind};

use super::document;
use crate::{Failure, say};

pub(super) fn write(
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
