//! Machines as pictures: boxes of sockets, NUMA nodes, L3 caches and cores with something in each CPU.
//! One description, drawn for the terminal by [`tree`] and for documents by [`svg`].

mod areas;
mod cpu_state;
pub mod svg;
mod tree;

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use berth_placement::{CpuId, CpuSet, Device, DeviceKind, Machine, SocketKind, counted};

use crate::parents::Parents;
use areas::Area;

pub use cpu_state::{Cells, CpuState, numbers};

/// A machine to be drawn.
pub struct Picture<'a> {
    /// The name of its node, where there are several.
    pub name: Option<String>,
    machine: &'a Machine,
    sockets: Vec<Area<'a>>,
    cells: Cells,
    /// Devices that no socket is next to.
    nowhere: Vec<String>,
}

impl<'a> Picture<'a> {
    /// Sorts a machine's cores into boxes.
    pub fn new(machine: &'a Machine, kind: SocketKind, name: Option<String>, cells: Cells) -> Self {
        Self {
            name,
            machine,
            sockets: areas::sockets(machine, &Parents::new(machine, kind)),
            cells,
            nowhere: Vec::new(),
        }
    }

    /// This picture with devices beside their cores.
    pub fn with<'d>(mut self, devices: impl Iterator<Item = &'d Device>) -> Self {
        self.nowhere = place_devices(&mut self.sockets, self.machine, devices);
        self
    }

    /// Devices that no socket is next to, as a line for people.
    pub fn nowhere(&self) -> Option<String> {
        let text = self.nowhere.join(", ");
        (!text.is_empty()).then(|| format!("next to no socket: {text}"))
    }

    /// The state that a CPU shows.
    fn cell(&self, cpu: CpuId) -> CpuState {
        self.cells.get(&cpu).copied().unwrap_or(CpuState::Outside)
    }

    /// Its text.
    fn text(&self, cpu: CpuId) -> String {
        self.cell(cpu).text(cpu)
    }
}

/// The size and colours of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Letters in a line.
    pub width: usize,
    /// Whether it shows colours.
    pub has_colours: bool,
}

/// Draws pictures for the terminal, with the meaning of their marks.
///
/// # Errors
/// Those of `out`.
pub fn show(out: &mut impl Write, pictures: &[Picture<'_>], screen: Screen) -> io::Result<()> {
    let choice = match screen.has_colours {
        true => ColorChoice::AlwaysAnsi,
        false => ColorChoice::Never,
    };
    let width = screen.width;
    let mut coloured = AutoStream::new(Vec::new(), choice);
    coloured.write_all(tree::draw(pictures, width).as_bytes())?;
    out.write_all(&coloured.into_inner())?;
    let marks = cpu_state::marks(pictures.iter().map(|picture| &picture.cells));
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

/// Writes devices into the areas next to them, and gives those that have no place of their own.
fn place_devices<'d>(
    sockets: &mut [Area<'_>],
    machine: &Machine,
    devices: impl Iterator<Item = &'d Device>,
) -> Vec<String> {
    let mut nowhere = Vec::new();
    let mut disks: Vec<(CpuSet, u32)> = Vec::new();
    for device in devices {
        let cpus = device.cpus.intersection(machine.cpus());
        match device.kind {
            DeviceKind::Gpu | DeviceKind::Network => {
                let line = format!("{} {}", device.kind.name(), device.label());
                put(sockets, &cpus, line, &mut nowhere);
            }
            DeviceKind::Storage => match disks.iter_mut().find(|(known, _)| *known == cpus) {
                Some((_, count)) => *count += 1,
                None => disks.push((cpus, 1)),
            },
            DeviceKind::Other => {}
        }
    }
    for (cpus, count) in disks {
        put(
            sockets,
            &cpus,
            counted(count, "disk controller"),
            &mut nowhere,
        );
    }
    nowhere
}

fn put(sockets: &mut [Area<'_>], cpus: &CpuSet, line: String, nowhere: &mut Vec<String>) {
    let mut around = sockets.iter_mut().filter_map(|socket| socket.around(cpus));
    match around.next().filter(|_| !cpus.is_empty()) {
        Some(area) => area.devices.push(line),
        None => nowhere.push(line),
    }
}

#[cfg(test)]
mod tests {
    use berth_placement::{Core, Package, Parts};

    use super::svg::Caption;
    use super::*;

    /// One package of four cores of one thread; CPU 3 is not allowed.
    fn machine() -> Machine {
        let core = |cpu| Core {
            pus: vec![CpuId(cpu)],
        };
        Machine::new(Parts {
            packages: vec![Package {
                cores: (0..4).map(core).collect(),
            }],
            allowed: CpuSet::from_list("0-2").unwrap(),
            ..Parts::default()
        })
        .unwrap()
    }

    #[test]
    fn what_the_kernel_keeps_is_marked() {
        let machine = machine();
        let cells = numbers(&machine, &CpuSet::from_list("1-2").unwrap());
        let texts: Vec<_> = cells.iter().map(|(cpu, cell)| cell.text(*cpu)).collect();
        assert_eq!(texts, ["0", "1~", "2~", "3!"]);
        let picture = [Picture::new(&machine, SocketKind::Package, None, cells)];
        let tree = tree::draw(&picture, 80);
        assert!(tree.contains("0[ 0]  1[1~]"), "{tree}");
        let marks = cpu_state::marks(picture.iter().map(|picture| &picture.cells));
        let marks: Vec<_> = marks.into_iter().map(|(_, mark, _)| mark).collect();
        assert_eq!(
            marks,
            [
                "N a CPU, by kernel number",
                "N! not allowed here",
                "N~ isolated (isolcpus)"
            ]
        );
        let caption = Caption {
            title: "a <node>".into(),
            below: Vec::new(),
            warnings: Vec::new(),
        };
        let svg = svg::draw(&picture, &caption);
        assert!(
            svg.contains("a &lt;node&gt;") && svg.contains(">1~</text>"),
            "{svg}"
        );
    }
}
