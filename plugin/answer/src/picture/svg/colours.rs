//! Colours and text of SVG pictures. Every colour is written out at the shape that has it, because
//! librsvg and Inkscape know no CSS variables and no media queries.

use std::fmt::Write;

use berth_placement::CpuId;

use crate::picture::areas::Frame;
use crate::picture::cpu_state::CpuState;

pub(super) const PAPER: &str = "#ffffff";
pub(super) const TEXT: &str = "#1b1f24";
pub(super) const FAINT: &str = "#4a525b";
pub(super) const LINE: &str = "#8c959f";
pub(super) const WARNING: &str = "#c62828";
pub(super) const WARNING_PAPER: &str = "#fff4ce";

/// Hue from task to task: neighbours are far apart on the wheel.
const GOLDEN_ANGLE: f64 = 137.508;

/// How a shape is painted.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    pub line: &'static str,
    pub width: &'static str,
    pub dashes: &'static str,
}

const fn paint(line: &'static str, width: &'static str, dashes: &'static str) -> Paint {
    Paint {
        line,
        width,
        dashes,
    }
}

/// The frame of an area, and the paper within it.
pub(super) fn frame(frame: Frame) -> (Paint, &'static str) {
    match frame {
        Frame::Socket => (paint("#57606a", "1.5", ""), "#f6f8fa"),
        Frame::Numa => (paint("#2e7d4f", "1.5", ""), "#f1f8f3"),
        Frame::L3 => (paint("#2b5fb8", "1.5", "6 3"), PAPER),
    }
}

/// The frame of a core: each further kind of cores has its own dashes.
pub(super) fn core(kind: usize) -> Paint {
    let dashes = ["", "3 2", "1 2", "6 2 1 2"];
    paint(LINE, "1", dashes[kind % dashes.len()])
}

/// The frame of a CPU.
pub(super) fn cell_frame(cell: CpuState) -> Paint {
    match cell {
        CpuState::TaskShort(_) | CpuState::SeveralShort(_) => paint(WARNING, "2.5", ""),
        CpuState::Several(_) => paint("#1b1f24", "1.5", ""),
        _ => paint(LINE, "0.75", ""),
    }
}

/// The colour of a CPU.
pub(super) fn cell(cell: CpuState) -> String {
    match cell {
        CpuState::All => "#b6c8dc".into(),
        CpuState::Outside | CpuState::Forbidden => "#d4d7db".into(),
        CpuState::Taken => "#d9b99b".into(),
        CpuState::Free | CpuState::Number => "#ffffff".into(),
        CpuState::Isolated => "#fbe7a8".into(),
        CpuState::Task(task)
        | CpuState::Several(task)
        | CpuState::TaskShort(task)
        | CpuState::SeveralShort(task) => task_colour(task),
    }
}

/// A colour that is pale enough for black letters, also where it is printed in grey.
fn task_colour(task: u32) -> String {
    let hue = (f64::from(task) * GOLDEN_ANGLE) % 360.0;
    let light = [0.80, 0.72, 0.87][task as usize / 8 % 3];
    // From hue, saturation and lightness, as CSS has them.
    let part = |shift: f64| {
        let place = (shift + hue / 30.0) % 12.0;
        let strength = 0.7 * f64::min(light, 1.0 - light);
        let value = light - strength * (place - 3.0).min(9.0 - place).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0.0), part(8.0), part(4.0))
}

/// The text that a mouse over a CPU shows.
pub(super) fn hint(cell: CpuState, cpu: CpuId) -> String {
    match cell {
        CpuState::Task(task) => format!("CPU {cpu}: task {task}"),
        CpuState::Several(task) => format!("CPU {cpu}: task {task} and others"),
        CpuState::TaskShort(task) => {
            format!("CPU {cpu}: task {task}, which has less than it requests")
        }
        CpuState::SeveralShort(task) => {
            format!("CPU {cpu}: task {task} and others, although each requests its own")
        }
        CpuState::All => format!("CPU {cpu}: every task of the node"),
        CpuState::Free => format!("CPU {cpu}: free"),
        CpuState::Taken => format!("CPU {cpu}: another step is bound to it"),
        CpuState::Outside => format!("CPU {cpu}: not the step's"),
        CpuState::Number => format!("CPU {cpu}"),
        CpuState::Forbidden => format!("CPU {cpu}: not allowed here"),
        CpuState::Isolated => format!("CPU {cpu}: isolated"),
    }
}

/// A rectangle.
pub(super) fn rect(
    out: &mut String,
    (x, y, width, height): (usize, usize, usize, usize),
    fill: &str,
    paint: Paint,
) {
    let _ = write!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\" fill=\"{fill}\" \
         stroke=\"{}\" stroke-width=\"{}\"",
        paint.line, paint.width
    );
    if !paint.dashes.is_empty() {
        let _ = write!(out, " stroke-dasharray=\"{}\"", paint.dashes);
    }
    out.push_str("/>\n");
}

/// A line of text; `more` are further attributes.
pub(super) fn text(out: &mut String, (x, y): (usize, usize), size: &str, more: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{more}>{}</text>",
        escaped(text)
    );
}

/// Lines of at most so many letters, broken at blanks where there are any. Nothing is left out.
pub(super) fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > letters {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for letter in word.chars() {
            if line.chars().count() >= letters.max(1) {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_and_complete() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("SCCCSCCC x", 4), ["SCCC", "SCCC", "x"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn tasks_beside_each_other_have_other_colours() {
        assert_eq!(task_colour(0), "#f0a8a8");
        for task in 0..500 {
            assert_ne!(task_colour(task), task_colour(task + 1));
            assert_ne!(task_colour(task), task_colour(task + 2));
        }
    }
}
