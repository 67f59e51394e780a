//! The machine for documents and tickets: an SVG that carries its own colours for light and dark,
//! and needs nothing else. Task colours are pale, so that black letters are read on them anywhere.

use std::fmt::Write;

use super::{Cell, Group, Picture, SocketBox};

/// Sizes in pixels.
const THREAD: (usize, usize) = (30, 22);
/// A core is wide enough for its name.
const NARROWEST_CORE: usize = 54;
const CORE_GAP: usize = 8;
const LABEL: usize = 14;
const PAD: usize = 12;
const LINE: usize = 20;
/// Hardware threads beside each other in a core; more go below.
const THREADS_A_ROW: usize = 4;
/// Pixels a row of cores may have: two such sockets stand beside each other.
const ROW: usize = 590;
/// Where sockets beside each other end, in pixels.
const WIDEST: usize = 1260;
/// Letters of a line of text.
const LONGEST_TEXT: usize = 120;
/// Hue from task to task: neighbours are far apart on the wheel.
const GOLDEN_ANGLE: f64 = 137.508;

const STYLE: &str = "\
svg { font: 12px system-ui, sans-serif; --ink: #1b1f24; --paper: #ffffff; --line: #8c959f; --soft: #eaeef2; --panel: #f6f8fa; }
@media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --paper: #0d1117; --line: #6e7681; --soft: #21262d; --panel: #161b22; } }
.paper { fill: var(--paper); } .panel { fill: var(--panel); stroke: var(--line); }
.core { fill: var(--paper); stroke: var(--line); } .free { fill: var(--soft); } .outside { fill: none; }
.all { fill: var(--line); }
text { fill: var(--ink); } .small { font-size: 10px; opacity: .8; } .title { font-weight: 600; }
.cell { text-anchor: middle; font-variant-numeric: tabular-nums; } .on { fill: #111; }";

/// One document for one or several nodes, below each other; `below` stands under the title.
pub(crate) fn draw(pictures: &[Picture<'_>], title: &str, below: &str) -> String {
    let (title, below) = (&shortened(title), &shortened(below));
    let longest = title.chars().count().max(below.chars().count());
    let mut page = Page {
        body: String::new(),
        width: 320.max(longest * 8),
        y: PAD,
    };
    page.text("title", title);
    if !below.is_empty() {
        page.text("small", below);
    }
    for picture in pictures {
        if let Some(name) = &picture.name {
            page.text("title", name);
        }
        page.sockets(picture);
    }
    let legend = super::legend(pictures).join(" \u{a0}·\u{a0} ");
    page.text("small", &legend);
    let Page { body, width, y } = page;
    let height = y + PAD / 2;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <style>\n{STYLE}\n</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n",
        escaped(title)
    )
}

/// A document under way: the drawing so far, and its height.
struct Page {
    body: String,
    width: usize,
    y: usize,
}

impl Page {
    fn text(&mut self, class: &str, text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{PAD}\" y=\"{}\">{}</text>",
            self.y + 12,
            escaped(text)
        );
        self.y += LINE;
    }

    /// A machine's sockets, beside each other while there is room.
    fn sockets(&mut self, picture: &Picture<'_>) {
        let (mut x, mut bottom) = (PAD, self.y);
        for socket in &picture.sockets {
            let mut drawn = Drawn::at(x, self.y, picture, socket);
            if x > PAD && drawn.right > WIDEST {
                self.y = bottom + PAD;
                drawn = Drawn::at(PAD, self.y, picture, socket);
            }
            self.body.push_str(&drawn.text);
            self.width = self.width.max(drawn.right + PAD);
            bottom = bottom.max(drawn.bottom);
            x = drawn.right + PAD;
        }
        self.y = bottom + PAD;
    }
}

/// A socket, and where it ends.
struct Drawn {
    text: String,
    right: usize,
    bottom: usize,
}

impl Drawn {
    fn at(x: usize, top: usize, picture: &Picture<'_>, socket: &SocketBox<'_>) -> Self {
        let mut inside = String::new();
        let (mut y, mut right) = (top + LINE, x + 150);
        for group in &socket.groups {
            if let Some(numa) = group.numa {
                let _ = writeln!(
                    inside,
                    "<text class=\"small\" x=\"{}\" y=\"{}\">NUMA node {numa}</text>",
                    x + PAD,
                    y + 10
                );
                y += LABEL + 2;
            }
            let (end, bottom) = cores(&mut inside, picture, group, x + PAD, y);
            right = right.max(end + CORE_GAP);
            y = bottom;
        }
        let bottom = y + 4;
        let text = format!(
            "<rect class=\"panel\" x=\"{x}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n\
             <text x=\"{}\" y=\"{}\">socket {}</text>\n{inside}",
            right - x,
            bottom - top,
            x + PAD,
            top + 15,
            socket.number
        );
        Self {
            text,
            right,
            bottom,
        }
    }
}

fn cores(
    inside: &mut String,
    picture: &Picture<'_>,
    group: &Group<'_>,
    left: usize,
    top: usize,
) -> (usize, usize) {
    let threads = group
        .cores
        .iter()
        .map(|(_, cpus)| cpus.len())
        .max()
        .unwrap_or(1);
    let (columns, lines) = (threads.min(THREADS_A_ROW), threads.div_ceil(THREADS_A_ROW));
    let width = (columns * THREAD.0 + 6).max(NARROWEST_CORE);
    let thread_width = (width - 6) / columns;
    let height = LABEL + lines * THREAD.1 + 6;
    let fit = (ROW + CORE_GAP) / (width + CORE_GAP);
    let round = [64, 32, 16, 8, 4, 2, 1]
        .into_iter()
        .find(|count| *count <= fit)
        .unwrap_or(1);
    let per_row = group.cores.len().min(round);
    for (at, (core, cpus)) in group.cores.iter().enumerate() {
        let x = left + at % per_row * (width + CORE_GAP);
        let y = top + at / per_row * (height + CORE_GAP);
        let _ = writeln!(
            inside,
            "<rect class=\"core\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>\
             <text class=\"small\" x=\"{}\" y=\"{}\">core {core}</text>",
            x + 4,
            y + 11
        );
        for (thread, cpu) in cpus.iter().enumerate() {
            let x = x + 3 + thread % columns * thread_width;
            let y = y + LABEL + 3 + thread / columns * THREAD.1;
            cell(inside, picture.cell(*cpu), cpu.0, (x, y, thread_width));
        }
    }
    let rows = group.cores.len().div_ceil(per_row);
    (
        left + per_row * (width + CORE_GAP) - CORE_GAP,
        top + rows * (height + CORE_GAP),
    )
}

fn cell(inside: &mut String, cell: &Cell, cpu: u32, (x, y, width): (usize, usize, usize)) {
    let (class, fill) = match cell {
        Cell::All => ("all", String::new()),
        Cell::Outside | Cell::Forbidden(_) => ("outside", String::new()),
        Cell::Task(task) | Cell::Several(task) => ("", format!(" fill=\"{}\"", colour(*task))),
        Cell::Free | Cell::Number(_) | Cell::Isolated(_) => ("free", String::new()),
    };
    let on = if cell.task().is_some() { " on" } else { "" };
    let (middle, width, height) = (x + width / 2, width - 2, THREAD.1 - 2);
    let _ = writeln!(
        inside,
        "<g><title>CPU {cpu}</title><rect class=\"{class}\"{fill} x=\"{}\" y=\"{y}\" width=\"{width}\" \
         height=\"{height}\" rx=\"3\"/><text class=\"cell{on}\" x=\"{}\" y=\"{}\">{}</text></g>",
        x + 1,
        middle,
        y + 14,
        escaped(&cell.text())
    );
}

fn colour(task: u32) -> String {
    let hue = (f64::from(task) * GOLDEN_ANGLE) % 360.0;
    let light = [78, 68, 86][task as usize / 8 % 3];
    format!("hsl({hue:.0} 70% {light}%)")
}

/// A topology string of a large node is longer than its picture is wide.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
