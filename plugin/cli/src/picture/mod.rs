//! Machines as pictures: boxes of sockets, NUMA nodes, L3 caches and cores with something in each CPU.
//! One description, drawn for the terminal by [`tree`] and for documents by [`svg`].

mod areas;
mod cell;
mod devices;
pub(crate) mod svg;
mod tree;

use std::io::{self, IsTerminal, Write, stdout};

use anstream::{AutoStream, ColorChoice as Choice};
use berth_placement::{CpuId, Device, Machine, SocketKind};
use clap::ColorChoice;

use crate::parents::Parents;
use crate::say;
use areas::Area;

pub(crate) use cell::{Cell, Cells, numbers};

/// A machine to be drawn.
pub(crate) struct Picture<'a> {
    pub name: Option<String>,
    machine: &'a Machine,
    sockets: Vec<Area<'a>>,
    cells: Cells,
    /// Devices that no socket is next to.
    nowhere: Vec<String>,
}

impl<'a> Picture<'a> {
    /// Sorts a machine's cores into boxes.
    pub(crate) fn new(
        machine: &'a Machine,
        kind: SocketKind,
        name: Option<String>,
        cells: Cells,
    ) -> Self {
        Self {
            name,
            machine,
            sockets: areas::sockets(machine, &Parents::new(machine, kind)),
            cells,
            nowhere: Vec::new(),
        }
    }

    /// The same with devices beside their cores.
    pub(crate) fn with<'d>(mut self, devices: impl Iterator<Item = &'d Device>) -> Self {
        self.nowhere = devices::place(&mut self.sockets, self.machine, devices);
        self
    }

    /// Devices that no socket is next to, as a line for people.
    pub(crate) fn nowhere(&self) -> Option<String> {
        let text = self.nowhere.join(", ");
        (!text.is_empty()).then(|| format!("next to no socket: {text}"))
    }

    /// What a CPU shows.
    fn cell(&self, cpu: CpuId) -> Cell {
        self.cells.get(&cpu).copied().unwrap_or(Cell::Outside)
    }

    /// Its text.
    fn text(&self, cpu: CpuId) -> String {
        self.cell(cpu).text(cpu)
    }
}

/// Draws pictures for the terminal, with the meaning of their marks.
///
/// # Errors
/// Those of `out`.
pub(crate) fn show(
    out: &mut impl Write,
    pictures: &[Picture<'_>],
    columns: Option<usize>,
    colours: ColorChoice,
) -> io::Result<()> {
    let (width, choice) = (say::width(columns), choice(colours));
    let mut coloured = AutoStream::new(Vec::new(), choice);
    coloured.write_all(tree::draw(pictures, width).as_bytes())?;
    out.write_all(&coloured.into_inner())?;
    let marks = cell::marks(pictures.iter().map(|picture| &picture.cells));
    let mut line = String::from("C[…] core C");
    for (_, mark, _) in marks {
        if line.chars().count() + 3 + mark.len() > width {
            writeln!(out, "{line}")?;
            line = mark.into();
        } else {
            line = format!("{line}   {mark}");
        }
    }
    writeln!(out, "{line}")
}

/// Whether to use colours: the option decides, else the terminal and `NO_COLOR`.
fn choice(asked: ColorChoice) -> Choice {
    match asked {
        ColorChoice::Always => Choice::AlwaysAnsi,
        ColorChoice::Never => Choice::Never,
        ColorChoice::Auto if !stdout().is_terminal() => Choice::Never,
        ColorChoice::Auto => match AutoStream::choice(&stdout()) {
            Choice::Never => Choice::Never,
            _ => Choice::AlwaysAnsi,
        },
    }
}

#[cfg(test)]
mod tests;
