//! The machine for documents and tickets: an SVG with literal colours and nothing from outside, for
//! browsers, librsvg, Inkscape and print. Numbers repeat what the colours say.

mod boxes;
mod colours;
mod layout;
mod legend;

use std::fmt::Write;

use super::Picture;
pub(crate) use colours::escaped;
use colours::{Paint, text, wrapped};
use layout::{GAP, PAD, flow, page, room};

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
    /// What was requested or drawn.
    pub title: String,
    /// Lines under the title.
    pub below: Vec<String>,
    /// What is wrong with the plan, each in a sentence or two.
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
    out.y = legend::draw(&mut out.body, pictures, (PAD, out.y), out.width);
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
