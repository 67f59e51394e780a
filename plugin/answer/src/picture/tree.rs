//! The machine for the terminal: a box is a socket, a bracket a core, a cell a hardware thread.
//! Boxes stand side by side if the width allows, and break their rows if it does not.
//! Colours repeat the information of the numbers.

use std::fmt::Write;

use anstyle::{Ansi256Color, Style};
use berth_placement::{CoreIdx, CpuId};

use super::areas::Area;
use super::{CpuState, Picture};

/// Colours that are told apart on light and dark terminals, with black letters on them.
const COLOURS: [u8; 12] = [114, 75, 215, 176, 80, 222, 110, 174, 150, 147, 209, 116];

/// Columns between two boxes.
const GAP: usize = 1;

/// A box as lines: the text with its colours, and how many columns it shows.
struct Block {
    lines: Vec<String>,
    width: usize,
}

/// Every node, beside each other while there is room.
pub fn draw(pictures: &[Picture<'_>], width: usize) -> String {
    let nodes: Vec<_> = pictures
        .iter()
        .map(|picture| node(picture, width))
        .collect();
    let mut text = String::new();
    for line in rows_of(&nodes, width) {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A node's sockets, under its name.
fn node(picture: &Picture<'_>, width: usize) -> Block {
    let blocks: Vec<_> = picture
        .sockets
        .iter()
        .map(|socket| block(picture, socket, width))
        .collect();
    let mut rest = blocks.as_slice();
    let name = picture.name.clone().unwrap_or_default();
    let mut widest = name.chars().count();
    while !rest.is_empty() {
        let row = fitting(rest, width);
        let used: usize = rest[..row].iter().map(|block| block.width + GAP).sum();
        widest = widest.max(used - GAP);
        rest = &rest[row..];
    }
    let mut lines = Vec::new();
    if !name.is_empty() {
        lines.push(format!("{name:widest$}"));
    }
    lines.extend(rows_of(&blocks, width));
    Block {
        lines,
        width: widest,
    }
}

/// The lines of boxes, as many beside each other as fit.
fn rows_of(blocks: &[Block], width: usize) -> Vec<String> {
    let (mut lines, mut rest) = (Vec::new(), blocks);
    while !rest.is_empty() {
        let row = fitting(rest, width);
        lines.extend(side_by_side(&rest[..row]));
        rest = &rest[row..];
    }
    lines
}

/// The number of boxes that fit beside each other: one at least.
fn fitting(blocks: &[Block], width: usize) -> usize {
    let mut used = 0;
    let fit = blocks.iter().take_while(|block| {
        used += block.width + GAP;
        used - GAP <= width
    });
    fit.count().max(1)
}

fn side_by_side(blocks: &[Block]) -> impl Iterator<Item = String> {
    let lines = blocks.iter().map(|block| block.lines.len());
    (0..lines.max().unwrap_or(0)).map(|at| {
        let line: Vec<_> = blocks
            .iter()
            .map(|block| match block.lines.get(at) {
                Some(line) => line.clone(),
                None => " ".repeat(block.width),
            })
            .collect();
        line.join(&" ".repeat(GAP))
    })
}

/// One socket with its frame.
fn block(picture: &Picture<'_>, socket: &Area<'_>, width: usize) -> Block {
    let sizes = Sizes::of(picture, socket);
    // The frame takes two columns on each side.
    let inner = width.saturating_sub(4);
    let per_row = sizes.per_row(inner);
    let title = format!(" {} ", socket.names.first().map_or("", String::as_str));
    let rows: Vec<(String, usize)> = rows(picture, socket, &sizes, (inner, per_row));
    let longest = rows.iter().map(|(_, width)| *width).max().unwrap_or(0);
    let inner = longest.max(title.len());
    let mut lines = vec![format!("┌─{title}{}┐", "─".repeat(inner + 1 - title.len()))];
    for (row, width) in rows {
        lines.push(format!("│ {row}{} │", " ".repeat(inner - width)));
    }
    lines.push(format!("└{}┘", "─".repeat(inner + 2)));
    Block {
        lines,
        width: inner + 4,
    }
}

/// The rows inside a frame, each with the columns it shows.
fn rows(
    picture: &Picture<'_>,
    socket: &Area<'_>,
    sizes: &Sizes,
    (inner, per_row): (usize, usize),
) -> Vec<(String, usize)> {
    let mut rows = Vec::new();
    for (names, devices, leaf) in socket.leaves() {
        // The first is the socket's own, and stands in the frame.
        let title = names.get(1..).unwrap_or_default().join(", ");
        let title = (!title.is_empty()).then_some(title);
        for line in title.into_iter().chain(devices) {
            let line: String = line.chars().take(inner).collect();
            let width = line.chars().count();
            rows.push((line, width));
        }
        rows.extend(
            leaf.cores
                .chunks(per_row)
                .map(|row| cores(picture, row, sizes)),
        );
    }
    rows
}

/// One row of cores.
fn cores(picture: &Picture<'_>, cores: &[(CoreIdx, &[CpuId])], sizes: &Sizes) -> (String, usize) {
    let (mut row, mut shown) = (String::new(), 0);
    for (at, (core, cpus)) in cores.iter().enumerate() {
        let blanks = if at > 0 { 2 } else { 0 };
        let _ = write!(row, "{:blanks$}{core:>1$}[", "", sizes.core);
        for (at, cpu) in cpus.iter().enumerate() {
            let (space, style) = (if at > 0 { " " } else { "" }, style(picture.cell(*cpu)));
            let (text, width) = (picture.text(*cpu), sizes.cell);
            let _ = write!(row, "{space}{style}{text:>width$}{style:#}");
        }
        row.push(']');
        shown += blanks + sizes.core + 2 + cpus.len() * (sizes.cell + 1) - 1;
    }
    (row, shown)
}

fn style(cell: CpuState) -> Style {
    let Some(task) = cell.task() else {
        return match cell {
            CpuState::All => Style::new().bold(),
            CpuState::Outside | CpuState::Forbidden | CpuState::Taken => Style::new().dimmed(),
            _ => Style::new(),
        };
    };
    let colour = COLOURS[task as usize % COLOURS.len()];
    Style::new()
        .bg_color(Some(Ansi256Color(colour).into()))
        .fg_color(Some(Ansi256Color(16).into()))
}

/// Columns of numbers, the same in the whole picture, so that its boxes are alike.
struct Sizes {
    core: usize,
    cell: usize,
    threads: usize,
    /// Cores of the largest area of this socket.
    cores: usize,
}

impl Sizes {
    fn of(picture: &Picture<'_>, socket: &Area<'_>) -> Self {
        let cores = || picture.sockets.iter().flat_map(|socket| &socket.cores);
        let cpus = cores().flat_map(|(_, cpus)| cpus.iter());
        let most = |numbers: &mut dyn Iterator<Item = usize>| numbers.max().unwrap_or(1);
        Self {
            core: most(&mut cores().map(|(core, _)| core.to_string().len())),
            cell: most(&mut cpus.map(|cpu| picture.text(*cpu).len())),
            threads: most(&mut cores().map(|(_, cpus)| cpus.len())),
            cores: most(&mut socket.leaves().iter().map(|(_, _, leaf)| leaf.cores.len())),
        }
    }

    /// Cores beside each other: all, or a number that is easily counted.
    fn per_row(&self, inner: usize) -> usize {
        let core = self.core + 2 + self.threads * (self.cell + 1) - 1;
        let fit = (inner + 2) / (core + 2);
        if self.cores <= fit {
            return self.cores;
        }
        let round = [64, 32, 16, 12, 8, 6, 4, 2];
        round.into_iter().find(|count| *count <= fit).unwrap_or(1)
    }
}
