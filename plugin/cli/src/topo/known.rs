//! `berth topo --machine list`: the machines that are known by a name.

use std::io::Write;

use berth_answer::json;
use berth_answer::topo::Known;

use crate::args::TopoFormat;
use crate::{Failure, say};

/// The word in the place of a machine.
pub(super) const LIST: &str = "list";

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
pub(super) fn write(format: TopoFormat) -> Result<(), Failure> {
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
