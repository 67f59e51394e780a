//! Pictures as librsvg draws them: each CPU has the colour that the legend gives it, tasks are told
//! apart, frames are visible, letters are dark on pale, and nothing is a black box.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use berth_tests::{command, skip};

/// What is drawn. Machines are synthetic, or files of `tests/topologies`.
const DRAWN: &[&str] = &[
    "plan|pack:2 core:32 pu:2|--cores all -n 16 -c 8 --cpu-bind=cores",
    "plan|pack:2 core:32 pu:2|-n 100 --cpu-bind=threads --cores 0-55",
    "plan|pack:2 numa:1 core:8 pu:1|--cores all -n 8 -c 2 --cpu-bind=cores",
    "plan|pack:2 numa:2 l3:2 core:4 pu:2|--cores all -n 5 -c 3 --cpu-bind=threads -m block:block",
    "plan|pack:2 core:4 pu:2|--cores all -n 2 --binding=linear:3 --occupied 1,5",
    "plan|pack:2 core:4 pu:2|--cores all -n 2 --binding=linear:2 --occupied 1,5",
    "plan|pack:2 core:4 pu:2|--cores all -n 12 --hint=nomultithread",
    "plan|pack:1 core:4 pu:1|--cores all -n 3 -c 2 --cpu-bind=cores",
    "plan|pack:2 core:4 pu:2|--cores all -n 3 --cpu-bind=sockets",
    "plan|pack:4 core:2 pu:1|--cores all -N 4 -n 32 --cpu-bind=cores -m plane=4",
    "plan|hybrid-2x6.xml|--cores all -n 4 -c 3 --cpu-bind=threads",
    "plan|l3-groups.xml|--cores all -n 4 --cpu-bind=cores",
    "plan|four-sockets.xml|--cores all -n 4",
    "topo|smt8.xml|",
    "topo|numa-in-socket.xml|",
    "topo|pack:8 numa:1 core:16 pu:2|",
];

type Colour = [u8; 3];

/// The picture's points.
struct Points {
    width: usize,
    colours: Vec<u8>,
}

impl Points {
    fn at(&self, (x, y): (usize, usize)) -> Colour {
        let at = 3 * (y * self.width + x);
        [self.colours[at], self.colours[at + 1], self.colours[at + 2]]
    }
}

/// A rectangle of the document: its place, and the fill and line that it names.
#[derive(Clone, Debug)]
struct Rect {
    place: (usize, usize),
    size: (usize, usize),
    fill: String,
    line: String,
}

impl Rect {
    /// Near its left upper corner, where no letter stands.
    fn corner(&self) -> (usize, usize) {
        (self.place.0 + 4, self.place.1 + 4)
    }

    fn points(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (x, y) = self.place;
        (y + 3..y + self.size.1 - 3)
            .flat_map(move |row| (x + 3..x + self.size.0 - 3).map(move |column| (column, row)))
    }
}

fn berth(what: &str) -> String {
    let [subcommand, machine, options] = what.split('|').collect::<Vec<_>>()[..] else {
        panic!("{what}")
    };
    let known = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("topologies")
        .join(machine);
    let machine = if known.exists() {
        known.to_string_lossy().into()
    } else {
        machine.to_string()
    };
    let done = Command::new(command())
        .args([subcommand, "--machine", &machine, "--format", "svg"])
        .args(options.split(' ').filter(|word| !word.is_empty()))
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

/// As librsvg draws a document.
fn rendered(svg: &str) -> Points {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.svg"), svg).unwrap();
    let done = Command::new("rsvg-convert")
        .arg(path("a.svg"))
        .arg("-o")
        .arg(path("a.png"))
        .status()
        .unwrap();
    assert!(done.success());
    let ppm = Command::new("pngtopnm")
        .arg(path("a.png"))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let head: Vec<_> = ppm
        .stdout
        .splitn(4, |byte| byte.is_ascii_whitespace())
        .collect();
    assert_eq!(head[0], b"P6");
    let (_, colours) =
        head[3].split_at(head[3].iter().position(|byte| *byte == b'\n').unwrap() + 1);
    Points {
        width: std::str::from_utf8(head[1]).unwrap().parse().unwrap(),
        colours: colours.to_vec(),
    }
}

fn attribute(text: &str, name: &str) -> String {
    let begin = format!(" {name}=\"");
    let from = text
        .find(&begin)
        .unwrap_or_else(|| panic!("{name}: {text}"))
        + begin.len();
    text[from..].split('"').next().unwrap().to_string()
}

fn rect(text: &str) -> Rect {
    let number = |name| attribute(text, name).parse().unwrap();
    Rect {
        place: (number("x"), number("y")),
        size: (number("width"), number("height")),
        fill: attribute(text, "fill"),
        line: attribute(text, "stroke"),
    }
}

/// The groups of a class: the text between a mark and the end that follows it, and the rectangle.
fn groups<'a>(svg: &'a str, class: &str, from: &str) -> Vec<(&'a str, Rect)> {
    let begin = format!("<g class=\"{class}\">");
    let parts = svg.split(&begin).skip(1);
    let group = |part: &'a str| {
        let part = part.split("</g>").next().unwrap();
        let text = part.split(from).nth(1).unwrap();
        let text = text
            .trim_start_matches(|letter| letter != '>')
            .trim_start_matches('>');
        (text.split('<').next().unwrap(), rect(part))
    };
    parts.map(group).collect()
}

fn brightness([red, green, blue]: Colour) -> u32 {
    (u32::from(red) * 3 + u32::from(green) * 6 + u32::from(blue)) / 10
}

/// The words of the legend for what a CPU's own text says.
const MEANINGS: [(&str, &str); 8] = [
    ("although each requests", "tasks share this CPU although"),
    ("has less than it requests", "has less than it requests"),
    ("and others", "and others share this CPU"),
    ("every task of the node", "every task of the node"),
    (": free", "and free"),
    ("another step", "another step"),
    ("not the step's", "not the step's"),
    (": task", "each task has a colour"),
];

/// Checks a picture; the text says what is wrong.
fn check(svg: &str, points: &Points) {
    let legend = groups(svg, "legend cpu-legend", "<text");
    let cpus = groups(svg, "cpu", "<title");
    assert!(!legend.is_empty() && !cpus.is_empty());
    let mut tasks: BTreeMap<&str, Colour> = BTreeMap::new();
    for (text, cpu) in &cpus {
        let colour = points.at(cpu.corner());
        assert!(brightness(colour) > 130, "{text}: dark {colour:?}");
        let ink = cpu
            .points()
            .filter(|place| brightness(points.at(*place)) < 90)
            .count();
        assert!(ink >= 4, "{text}: no letters, {ink} dark points");
        let task = text
            .split(": task ")
            .nth(1)
            .map(|rest| rest.split(' ').next().unwrap());
        if let Some(task) = task {
            let task = task.trim_end_matches(',');
            assert_eq!(*tasks.entry(task).or_insert(colour), colour, "{text}");
        }
        let meaning = MEANINGS.iter().find(|(is, _)| text.contains(is));
        let words = meaning.map_or("a CPU, by the kernel's number", |(_, words)| words);
        let (_, example) = legend
            .iter()
            .find(|(entry, _)| entry.contains(words))
            .unwrap_or_else(|| panic!("the legend has no word for {text}: {legend:?}"));
        assert_eq!(example.line, cpu.line, "{text}");
        if task.is_none() {
            assert_eq!(points.at(example.corner()), colour, "{text}");
        } else {
            let same = |(_, cpu): &&(&str, Rect)| cpu.fill == example.fill;
            let (_, first) = cpus.iter().find(same).unwrap();
            assert_eq!(
                points.at(example.corner()),
                points.at(first.corner()),
                "{text}"
            );
        }
    }
    told_apart(&tasks);
}

/// Tasks of successive numbers have colours of their own.
fn told_apart(tasks: &BTreeMap<&str, Colour>) {
    let number = |(task, colour): (&&str, &Colour)| (task.parse::<u32>().unwrap(), *colour);
    let mut numbered: Vec<_> = tasks.iter().map(number).collect();
    numbered.sort_unstable();
    for pair in numbered.windows(2) {
        assert_ne!(
            pair[0].1, pair[1].1,
            "tasks {} and {}",
            pair[0].0, pair[1].0
        );
    }
}

/// Whether librsvg is here, and a program that reads what it draws.
fn can_draw() -> bool {
    let is_there = |name: &str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok()
    };
    let all = ["rsvg-convert", "pngtopnm"].into_iter().all(is_there);
    if !all {
        skip("rsvg-convert and pngtopnm are not installed (ci/setup installs them)");
    }
    all
}

#[test]
fn the_colours_of_the_legend_are_where_the_cpus_are() {
    if !can_draw() {
        return;
    }
    for what in DRAWN {
        let svg = berth(what);
        eprintln!("{what}");
        let points = rendered(&svg);
        check(&svg, &points);
        let all = points.colours.chunks(3);
        let dark = all
            .clone()
            .filter(|point| brightness([point[0], point[1], point[2]]) < 90);
        let (dark, all) = (dark.count(), all.len());
        assert!(dark * 8 < all, "{dark} of {all} points are dark");
    }
}

/// The check above sees what it is for.
#[test]
fn a_picture_that_is_black_or_wrong_is_seen() {
    if !can_draw() {
        return;
    }
    let svg = berth(DRAWN[1]);
    let fails = |svg: &str| {
        let points = rendered(svg);
        std::panic::catch_unwind(|| check(svg, &points)).is_err()
    };
    assert!(!fails(&svg));
    assert!(fails(
        &svg.replace("fill=\"#f0a8a8\"", "fill=\"var(--task)\"")
    ));
    assert!(fails(&svg.replacen(
        "fill=\"#d4d7db\"",
        "fill=\"#ffffff\"",
        1
    )));
    assert!(fails(&svg.replace("fill=\"#1b1f24\"", "fill=\"#ffffff\"")));
}

#[test]
fn sockets_numa_nodes_and_caches_have_frames() {
    if !can_draw() {
        return;
    }
    let svg = berth("plan|pack:2 numa:2 l3:2 core:4 pu:2|-n 4");
    let points = rendered(&svg);
    for (line, count) in [("#57606a", 2), ("#2e7d4f", 4), ("#2b5fb8", 8)] {
        let rects = svg.split("<rect ").skip(1).map(|text| format!(" {text}"));
        let framed = rects.filter(|text| text.contains(&format!("stroke=\"{line}\"")));
        let large: Vec<_> = framed
            .map(|text| rect(&text))
            .filter(|rect| rect.size.1 > 30)
            .collect();
        assert_eq!(large.len(), count, "{line}");
        for frame in large {
            // Dashes are interrupted, so the whole left side is looked at.
            let side = frame.place.1..frame.place.1 + frame.size.1;
            let seen = side
                .filter(|y| brightness(points.at((frame.place.0, *y))) < 190)
                .count();
            assert!(seen * 3 > frame.size.1, "{line}: {frame:?}, {seen}");
        }
    }
}

#[test]
fn nothing_is_left_to_style_sheets() {
    let svg = berth(DRAWN[0]);
    assert!(svg.contains("srun -n 16 -c 8 --cpu-bind=cores"), "{svg}");
    for word in ["var(", "<style", "hsl(", "currentColor", "@media", "href"] {
        assert!(!svg.contains(word), "{word}");
    }
}
