//! The legend of an SVG picture: what each colour, frame and mark means, in words, beside an example.

use std::fmt::Write;

use super::colours::{self, Paint, rect, text};
use super::layout::flow;
use crate::picture::Picture;
use crate::picture::areas::Frame;
use crate::picture::cell::marks;

/// The example beside the words.
const EXAMPLE: (usize, usize) = (20, 14);
const GAP: usize = 10;
const LETTER: usize = 7;
const LINE: usize = 18;

/// A line of the legend.
struct Entry {
    class: &'static str,
    fill: String,
    paint: Paint,
    words: String,
}

/// Draws it, and says where it ends.
pub(super) fn draw(
    out: &mut String,
    pictures: &[Picture<'_>],
    (left, top): (usize, usize),
    width: usize,
) -> usize {
    let all: Vec<_> = cells(pictures)
        .into_iter()
        .chain(frames(pictures))
        .chain(kinds(pictures))
        .collect();
    let sizes: Vec<_> = all
        .iter()
        .map(|entry| {
            (
                EXAMPLE.0 + 6 + entry.words.chars().count() * LETTER,
                LINE - GAP,
            )
        })
        .collect();
    let places = flow(&sizes, width, GAP);
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
