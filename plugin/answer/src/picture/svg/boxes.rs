//! Draws a node's boxes: sockets, NUMA nodes, L3 caches, cores, and the CPUs in them.

use std::fmt::Write;

use berth_placement::{CoreIdx, CpuId};

use super::colours::{self, Paint, rect, text};
use super::layout::{CELL, CORE_HEAD, CORE_PAD, Extent, GAP, Grid, NAME, PAD, Places, flow, room};
use crate::picture::Picture;
use crate::picture::areas::Area;

/// The frame of a node that is one of several.
const NODE: Paint = Paint {
    line: "#1b1f24",
    width: "1.5",
    dashes: "",
};

/// The size of a node.
pub(super) fn size(picture: &Picture<'_>, each: usize) -> (usize, usize) {
    let (width, height) = Node::of(picture, each).sockets.size;
    match picture.name {
        Some(_) => (width + 2 * PAD, height + NAME.0 + 2 * PAD),
        None => (width, height),
    }
}

/// Draws a node.
pub(super) fn draw(out: &mut String, picture: &Picture<'_>, place: (usize, usize), each: usize) {
    let node = Node::of(picture, each);
    let (mut x, mut y) = place;
    if let Some(name) = &picture.name {
        let (width, height) = size(picture, each);
        rect(out, (x, y, width, height), colours::PAPER, NODE);
        (x, y) = (x + PAD, y + PAD);
        text(out, (x, y + 10), "12", " font-weight=\"bold\"", name);
        y += NAME.0;
    }
    let draw = Draw {
        picture,
        threads: node.threads,
    };
    for (socket, at) in picture.sockets.iter().zip(&node.sockets.at) {
        draw.area(out, socket, (x + at.0, y + at.1), node.each);
    }
}

/// Where a node's sockets stand.
struct Node {
    sockets: Places,
    /// The room of each.
    each: usize,
    /// The threads of the largest core.
    threads: usize,
}

impl Node {
    fn of(picture: &Picture<'_>, all: usize) -> Self {
        let cores = picture.sockets.iter().flat_map(|socket| &socket.cores);
        let threads = cores.map(|(_, cpus)| cpus.len()).max().unwrap_or(1);
        let within = match picture.name {
            Some(_) => all - 2 * PAD,
            None => all,
        };
        let each = match picture.name {
            Some(_) => within,
            None => room(picture.sockets.len(), within),
        };
        let sizes: Vec<_> = picture
            .sockets
            .iter()
            .map(|socket| Extent::of(socket, threads, each).size)
            .collect();
        Self {
            sockets: flow(&sizes, within, GAP),
            each,
            threads,
        }
    }
}

struct Draw<'a> {
    picture: &'a Picture<'a>,
    threads: usize,
}

impl Draw<'_> {
    fn area(&self, out: &mut String, area: &Area<'_>, place: (usize, usize), room: usize) {
        let found = Extent::of(area, self.threads, room);
        if !found.names.is_empty() {
            let (paint, paper) = colours::frame(area.frame);
            let (width, height) = found.size;
            rect(out, (place.0, place.1, width, height), paper, paint);
        }
        let colour = format!(" fill=\"{}\"", colours::frame(area.frame).0.line);
        let devices_from = found.names.len() - area.devices.len();
        for (line, name) in found.names.iter().enumerate() {
            let bold = if line < devices_from {
                " font-weight=\"bold\""
            } else {
                ""
            };
            let more = format!("{bold}{colour}");
            let at = (place.0 + PAD, place.1 + PAD + 8 + line * NAME.0);
            text(out, at, "11", &more, name);
        }
        let (x, y) = found.content(place);
        let within = room.saturating_sub(2 * PAD);
        for (inner, at) in area.inner.iter().zip(&found.inner.at) {
            self.area(out, inner, (x + at.0, y + at.1), within);
        }
        if area.inner.is_empty() {
            let grid = Grid::of(area, self.threads, within);
            for (at, (core, cpus)) in area.cores.iter().enumerate() {
                let place = grid.place(at);
                self.core(out, &grid, (x + place.0, y + place.1), *core, cpus);
            }
        }
    }

    fn core(
        &self,
        out: &mut String,
        grid: &Grid,
        (x, y): (usize, usize),
        core: CoreIdx,
        cpus: &[CpuId],
    ) {
        let kind = cpus.first().map_or(0, |cpu| kind(self.picture, *cpu));
        let frame = (x, y, grid.core.0, grid.core.1);
        rect(out, frame, colours::PAPER, colours::core(kind));
        let name = format!("core {core}");
        let size = match name.len() {
            ..=7 => "9.5",
            8 => "8.5",
            _ => "7",
        };
        let more = format!(" fill=\"{}\"", colours::FAINT);
        text(out, (x + 4, y + 10), size, &more, &name);
        for (thread, cpu) in cpus.iter().enumerate() {
            let place = (
                x + CORE_PAD + thread % grid.threads * CELL.0,
                y + CORE_HEAD + thread / grid.threads * CELL.1,
            );
            self.cell(out, place, *cpu);
        }
    }

    fn cell(&self, out: &mut String, (x, y): (usize, usize), cpu: CpuId) {
        let cell = self.picture.cell(cpu);
        let name = cell.text(cpu);
        let _ = write!(
            out,
            "<g class=\"cpu\"><title>{}</title>",
            colours::escaped(&colours::hint(cell, cpu))
        );
        let (width, height) = (CELL.0 - 2, CELL.1 - 2);
        let place = (x + 1, y + 1, width, height);
        rect(out, place, &colours::cell(cell), colours::cell_frame(cell));
        let size = match name.chars().count() {
            0..=4 => "12",
            5..=6 => "9",
            _ => "7",
        };
        let middle = x + CELL.0 / 2;
        let bold = " text-anchor=\"middle\" font-weight=\"bold\"";
        if cell.is_number() {
            text(out, (middle, y + 19), size, bold, &name);
        } else {
            text(out, (middle, y + 13), size, bold, &name);
            let small = " text-anchor=\"middle\"";
            text(out, (middle, y + 25), "10", small, &cpu.to_string());
        }
        out.push_str("</g>\n");
    }
}

/// How far a CPU's kind is from the fastest.
pub(super) fn kind(picture: &Picture<'_>, cpu: CpuId) -> usize {
    let kinds = picture.machine.kinds().len();
    let kind = picture.machine.kind_of(cpu);
    kind.map_or(0, |kind| kinds.saturating_sub(1).saturating_sub(kind))
}
