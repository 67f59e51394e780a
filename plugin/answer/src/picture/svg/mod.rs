//! The machine for documents and tickets: an SVG with literal colours and nothing from outside, for
//! browsers, librsvg, Inkscape and print. Numbers repeat what the colours say.

mod boxes;
mod colours;
mod layout;

use std::fmt::Write;

use super::Picture;
use super::areas::Frame;
use super::cpu_state::marks;
use colours::{Paint, rect, text, wrapped};
use layout::{GAP, PAD, flow, page, room};

pub(crate) use colours::escaped;

/// The narrowest page: a legend's longest line has room.
const NARROWEST: usize = 560;
/// About the width of a letter of the title.
const TITLE_LETTER: usize = 9;
/// The height of a line.
const LINE: usize = 18;

/// About the width of a letter in other lines: topology strings are capitals.
fn letter(text: &str) -> usize {
    if text.contains(' ') { 7 } else { 8 }
}

/// The text around the pictures of a page.
pub struct Caption {
    /// The request or the machine that is drawn.
    pub title: String,
    /// Lines under the title.
    pub below: Vec<String>,
    /// Warnings about the plan, each in a sentence or two.
    pub warnings: Vec<String>,
}

/// One document for one or several nodes, beside each other while there is room.
pub fn draw(pictures: &[Picture<'_>], caption: &Caption) -> String {
    let each = room(pictures.len(), page());
    let sizes: Vec<_> = pictures
        .iter()
        .map(|picture| boxes::size(picture, each))
        .collect();
    let nodes = flow(&sizes, page(), GAP);
    let mut out = Page {
        body: String::new(),
        width: nodes.size.0.max(NARROWEST),
        y: PAD,
    };
    out.head(caption);
    for (picture, (x, y)) in pictures.iter().zip(&nodes.at) {
        boxes::draw(&mut out.body, picture, (PAD + x, out.y + y), each);
    }
    out.y += nodes.size.1 + GAP;
    out.y = legend(&mut out.body, pictures, (PAD, out.y), out.width);
    let (width, height) = (out.width + 2 * PAD, out.y + PAD);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n\
         <g font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" fill=\"{}\">\n{}</g>\n</svg>\n",
        escaped(&caption.title),
        colours::PAPER,
        colours::TEXT,
        out.body
    )
}

/// A document under way: the drawing so far, its width and height.
struct Page {
    body: String,
    width: usize,
    y: usize,
}

impl Page {
    fn head(&mut self, caption: &Caption) {
        for line in wrapped(&caption.title, self.width / TITLE_LETTER) {
            self.line("14", " font-weight=\"bold\"", &line);
        }
        let faint = format!(" fill=\"{}\"", colours::FAINT);
        for below in &caption.below {
            for line in wrapped(below, self.width / letter(below)) {
                self.line("11", &faint, &line);
            }
        }
        for warning in &caption.warnings {
            self.warning(warning);
        }
        self.y += GAP;
    }

    fn line(&mut self, size: &str, more: &str, line: &str) {
        text(&mut self.body, (PAD, self.y + 13), size, more, line);
        self.y += LINE;
    }

    /// A warning in a box that nobody overlooks.
    fn warning(&mut self, warning: &str) {
        let lines = wrapped(warning, (self.width - 2 * PAD) / letter(warning));
        let height = lines.len() * LINE + 6;
        let red = Paint {
            line: colours::WARNING,
            width: "1.5",
            dashes: "",
        };
        let place = (PAD, self.y + 4, self.width, height);
        let _ = write!(self.body, "<g class=\"warning\">");
        colours::rect(&mut self.body, place, colours::WARNING_PAPER, red);
        self.y += 7;
        for line in lines {
            let place = (2 * PAD, self.y + 13);
            text(&mut self.body, place, "11", "", &line);
            self.y += LINE;
        }
        let _ = writeln!(self.body, "</g>");
        self.y += 5;
    }
}

/// The example beside the words.
const EXAMPLE: (usize, usize) = (20, 14);
const LETTER: usize = 7;

/// A line of the legend.
#[derive(Clone)]
struct Entry {
    class: &'static str,
    fill: String,
    paint: Paint,
    words: String,
}

/// Draws what each colour, frame and mark means, in words, beside an example; says where it ends.
fn legend(
    out: &mut String,
    pictures: &[Picture<'_>],
    (left, top): (usize, usize),
    width: usize,
) -> usize {
    let all = [cells(pictures), frames(pictures), kinds(pictures)].concat();
    let width_of = |words: &str| EXAMPLE.0 + 6 + words.chars().count() * LETTER;
    let sizes = all.iter().map(|entry| (width_of(&entry.words), LINE - GAP));
    let places = flow(&sizes.collect::<Vec<_>>(), width, GAP);
    for (entry, (x, y)) in all.iter().zip(&places.at) {
        let (x, y) = (left + x, top + y);
        let _ = write!(out, "<g class=\"{}\">", entry.class);
        let place = (x, y, EXAMPLE.0, EXAMPLE.1);
        rect(out, place, &entry.fill, entry.paint);
        text(out, (x + EXAMPLE.0 + 6, y + 11), "11", "", &entry.words);
        out.push_str("</g>\n");
    }
    top + places.size.1 + GAP
}

fn cells(pictures: &[Picture<'_>]) -> Vec<Entry> {
    let all = pictures.iter().map(|picture| &picture.cells);
    marks(all)
        .into_iter()
        .map(|(example, _, words)| Entry {
            class: "legend cpu-legend",
            fill: colours::cell(example),
            paint: colours::cell_frame(example),
            words: words.into(),
        })
        .collect()
}

fn frames(pictures: &[Picture<'_>]) -> Vec<Entry> {
    let names = [
        (Frame::Socket, "grey frame: a socket"),
        (Frame::Numa, "green frame: a NUMA node"),
        (Frame::L3, "blue dashes: an L3 cache"),
    ];
    let sockets = || pictures.iter().flat_map(|picture| &picture.sockets);
    let found = names.into_iter();
    found
        .filter(|(frame, _)| sockets().any(|socket| socket.has(*frame)))
        .map(|(frame, words)| {
            let (paint, fill) = colours::frame(frame);
            Entry {
                class: "legend",
                fill: fill.into(),
                paint,
                words: words.into(),
            }
        })
        .collect()
}

/// The kinds of cores, where there are several: the fastest has a plain frame.
fn kinds(pictures: &[Picture<'_>]) -> Vec<Entry> {
    let Some(picture) = pictures.first() else {
        return Vec::new();
    };
    let kinds = picture.machine.kinds();
    let several = kinds.iter().rev().enumerate().filter(|_| kinds.len() > 1);
    several
        .map(|(at, kind)| {
            let name = kind.info("CoreType").map_or_else(
                || format!("CPUs {}", kind.cpus),
                |name| format!("{name}, CPUs {}", kind.cpus),
            );
            let frame = if at == 0 { "plain" } else { "dashed" };
            Entry {
                class: "legend",
                fill: colours::PAPER.into(),
                paint: colours::core(at),
                words: format!("core with a {frame} frame: {name}"),
            }
        })
        .collect()
}
