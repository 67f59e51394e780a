//! `berth topo --machine list`: the machines that are known by a name.

use std::io::Write;

use berth_placement::topology::presets::{PRESETS, Preset};
use serde::Serialize;

use crate::args::TopoFormat;
use crate::{Failure, json, say};

/// The word in the place of a machine.
pub(super) const LIST: &str = "list";

#[derive(Serialize)]
struct Known {
    name: &'static str,
    sockets: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
    numa_nodes: u32,
    l3_caches: u32,
    gpus: u32,
    words: &'static str,
    source: &'static str,
}

impl Known {
    fn of(preset: &Preset) -> Self {
        let [sockets, cores_per_socket, threads_per_core] = preset.size();
        Self {
            name: preset.name,
            sockets,
            cores_per_socket,
            threads_per_core,
            numa_nodes: preset.numa_count(),
            l3_caches: preset.cache_count(),
            gpus: preset.gpu_count(),
            words: preset.words,
            source: preset.source,
        }
    }

    fn line(&self) -> String {
        let shape = [self.sockets, self.cores_per_socket, self.threads_per_core];
        let shape = shape.map(|count| count.to_string()).join(":");
        let counts = [self.numa_nodes, self.l3_caches, self.gpus];
        line(
            [self.name, &shape],
            counts.map(|count| count.to_string()),
            self.words,
        )
    }
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
pub(super) fn write(format: TopoFormat) -> Result<(), Failure> {
    let all: Vec<_> = PRESETS.iter().map(Known::of).collect();
    if format == TopoFormat::Json {
        return json::write(&mut say::output(), "berth-machines", "machines", &all);
    }
    let mut out = say::text_output();
    let counts = ["NUMA", "L3", "GPUs"].map(String::from);
    writeln!(out, "{}", line(["name", "S:C:T"], counts, "node"))?;
    for one in &all {
        writeln!(out, "{}", one.line())?;
    }
    Ok(out.flush()?)
}
