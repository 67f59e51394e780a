//! The paper's graph: how many CPUs pool jobs asked for and got, drawn from the figures that were measured. One row for
//! each kernel, one panel for each load beside. Colours are literal, so that every viewer draws the same.

use std::fmt::Write;
use std::process::ExitCode;

/// The series: what it is called in the figures, on the picture, and its colour.
const SERIES: [(&str, &str, &str); 4] = [
    ("none", "no pool", "#8c959f"),
    ("weight", "weight", "#2b5fb8"),
    ("idle", "idle", "#2e7d4f"),
    ("realtime", "realtime", "#b35900"),
];
/// The loads.
const BESIDE: [(&str, &str); 3] = [
    ("Wide", "beside one wide job"),
    ("Serial", "beside a serial job on each CPU"),
    ("Nobody", "on a quiet node"),
];
const PANEL: (f64, f64) = (300.0, 200.0);
const LEFT: f64 = 54.0;
const TOP: f64 = 66.0;
const ROW: f64 = 262.0;
const BAR: f64 = 16.0;

/// What one machine measured.
struct Run {
    kernel: String,
    slurm: String,
    bars: Vec<Bar>,
}

struct Bar {
    class: String,
    beside: String,
    asked: f64,
    /// Of what was asked for; the first is unknown in older files.
    raw: Option<f64>,
    scaled: f64,
}

/// Prints the picture of some files, if the words ask for it.
pub(crate) fn run(words: &[String]) -> Option<ExitCode> {
    let (first, files) = words.split_first()?;
    if first != "--draw" {
        return None;
    }
    let mut runs = Vec::new();
    for file in files {
        match std::fs::read_to_string(file) {
            Ok(text) => runs.push(read(&text)),
            Err(why) => {
                eprintln!("berth-pools: {file}: {why}");
                return Some(ExitCode::FAILURE);
            }
        }
    }
    print!("{}", draw(&runs));
    Some(ExitCode::SUCCESS)
}

fn read(text: &str) -> Run {
    let named = |name: &str| {
        let mut lines = text.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or("unknown").to_owned()
    };
    let bars = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let [class, beside, asked, scaled, _, rest @ ..] = words.as_slice() else {
            return None;
        };
        BESIDE.iter().find(|one| one.0 == *beside)?;
        let raw = rest.first().and_then(|raw| raw.parse().ok());
        // On a quiet node what no job had is nobody's part.
        let quiet = raw.filter(|_| *beside == "Nobody");
        Some(Bar {
            class: (*class).to_owned(),
            beside: (*beside).to_owned(),
            asked: asked.parse().ok()?,
            raw,
            scaled: quiet.or_else(|| scaled.parse().ok())?,
        })
    });
    Run {
        kernel: named("kernel"),
        slurm: named("slurm"),
        bars: bars.collect(),
    }
}

fn draw(runs: &[Run]) -> String {
    let width = LEFT + 3.0 * PANEL.0 + 10.0;
    let height = TOP + ROW * runs.len() as f64;
    let title = "CPUs that pool jobs asked for and got";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <g font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" fill=\"#1b1f24\">\n"
    );
    text(
        &mut svg,
        (9.0, 22.0),
        "font-size=\"14\" font-weight=\"bold\"",
        title,
    );
    legend(&mut svg);
    for (row, run) in runs.iter().enumerate() {
        let top = TOP + row as f64 * ROW;
        let name = format!("Linux {}, Slurm {}", run.kernel, run.slurm);
        text(
            &mut svg,
            (9.0, top + 12.0),
            "font-size=\"12\" font-weight=\"bold\"",
            &name,
        );
        for (column, beside) in BESIDE.iter().enumerate() {
            let left = LEFT + column as f64 * PANEL.0;
            panel(&mut svg, run, (left, top + 40.0), *beside);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// What the colours and the dashed line are.
fn legend(svg: &mut String) {
    for (at, (_, name, colour)) in SERIES.iter().enumerate() {
        let left = LEFT + at as f64 * 110.0;
        rect(svg, (left, 34.0), (12.0, 12.0), colour);
        text(svg, (left + 17.0, 44.0), "font-size=\"11\"", name);
    }
    let left = LEFT + 440.0;
    let _ = writeln!(
        svg,
        "<path d=\"M{left} 40 h22\" stroke=\"#1b1f24\" stroke-width=\"1.5\" stroke-dasharray=\"4 2\" fill=\"none\"/>"
    );
    text(svg, (left + 28.0, 44.0), "font-size=\"11\"", "asked for");
    text(
        svg,
        (left + 106.0, 44.0),
        "font-size=\"11\" fill=\"#4a525b\"",
        "lighter: its part of the time that went to no job",
    );
}

/// One load: a group of bars for each number of CPUs that was asked for.
fn panel(svg: &mut String, run: &Run, (left, top): (f64, f64), (beside, name): (&str, &str)) {
    let most = run.bars.iter().map(|bar| bar.asked).fold(1.0, f64::max);
    let (tall, bottom) = (PANEL.1 - 40.0, top + PANEL.1 - 20.0);
    text(
        svg,
        (left + 4.0, top - 8.0),
        "font-size=\"11\" fill=\"#4a525b\"",
        name,
    );
    let end = left + PANEL.0 - 16.0;
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {:.1} V{bottom:.1} H{end:.1}\" stroke=\"#57606a\" stroke-width=\"1\" fill=\"none\"/>",
        bottom - tall - 6.0
    );
    let here: Vec<_> = run.bars.iter().filter(|bar| bar.beside == beside).collect();
    let mut all: Vec<_> = here.iter().map(|bar| bar.asked).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let mut at = left + 12.0;
    for asked in all {
        let of: Vec<_> = here
            .iter()
            .copied()
            .filter(|bar| bar.asked == asked)
            .collect();
        at = group(svg, &of, (at, bottom), tall / most) + 22.0;
    }
}

/// The bars of one number of CPUs, and a line at that number; returns where they end.
fn group(svg: &mut String, bars: &[&Bar], (start, bottom): (f64, f64), of_cpu: f64) -> f64 {
    let asked = bars.first().map_or(0.0, |bar| bar.asked);
    let line = bottom - asked * of_cpu;
    let mut at = start;
    for (class, _, colour) in SERIES {
        let Some(bar) = bars.iter().find(|bar| bar.class == class) else {
            continue;
        };
        // The lighter part at its end is the time of its CPUs that went to no job, as far as it is this job's part.
        let raw = bar.raw.unwrap_or(bar.scaled) * asked * of_cpu;
        let tall = raw.max(bar.scaled * asked * of_cpu);
        rect(svg, (at, bottom - raw), (BAR, raw), colour);
        if tall > raw {
            let lighter = format!("{colour}\" fill-opacity=\"0.4");
            rect(svg, (at, bottom - tall), (BAR, tall - raw), &lighter);
        }
        let percent = format!("{:.0}", bar.scaled * 100.0);
        let place = (at + BAR / 2.0, line.min(bottom - tall) - 4.0);
        text(
            svg,
            place,
            "font-size=\"9\" text-anchor=\"middle\"",
            &percent,
        );
        at += BAR + 4.0;
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{:.1} {line:.1} H{:.1}\" stroke=\"#1b1f24\" stroke-width=\"1.5\" stroke-dasharray=\"4 2\" fill=\"none\"/>",
        start - 3.0,
        at - 1.0
    );
    let middle = "font-size=\"11\" text-anchor=\"middle\"";
    let cpus = match asked == 1.0 {
        true => "1 CPU".to_owned(),
        false => format!("{asked} CPUs"),
    };
    text(
        svg,
        ((start + at) / 2.0 - 2.0, bottom + 15.0),
        middle,
        &cpus,
    );
    at
}

fn rect(svg: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), how: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {how}>{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_files_have_no_raw_figure() {
        let run = read(
            "kernel 6.12\n# weight Serial of words\nweight Serial 8 0.9680 0.0290\n\
             idle Serial 8 0.9680 0.0290 0.9500 0.1440 0.2560\n\
             realtime Nobody 8 1.0000 0.0000 0.9501 0.3993 -0.0000\nlate none 1 2 3 4 of 5\n",
        );
        let bars: Vec<_> = run.bars.iter().map(|bar| (bar.raw, bar.scaled)).collect();
        let quiet = (Some(0.9501), 0.9501);
        assert_eq!(bars, [(None, 0.968), (Some(0.95), 0.968), quiet]);
        assert_eq!(run.kernel, "6.12");
    }
}
