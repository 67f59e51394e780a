//! Machines as pictures: boxes of sockets and cores with something in each CPU.
//! One description, drawn for the terminal by [`tree`] and for documents by [`svg`].

pub(crate) mod svg;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write, stdout};

use anstream::{AutoStream, ColorChoice as Choice};
use berth_placement::{CoreIdx, CpuId, CpuSet, Machine, NumaId, SocketKind};
use clap::ColorChoice;

use crate::parents::Parents;

/// The number of columns if nothing gives it.
const WIDTH: usize = 80;

/// The content of a CPU in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// A task's number.
    Task(u32),
    /// The lowest of several tasks.
    Several(u32),
    /// Every task of the node.
    All,
    /// No task has it.
    Free,
    /// The step does not own it.
    Outside,
    /// The CPU's own number, in a picture of the machine alone.
    Number(CpuId),
    /// The CPU's own number, if the kernel forbids it to us.
    Forbidden(CpuId),
    /// The CPU's own number, if the kernel keeps it for itself.
    Isolated(CpuId),
}

pub(crate) type Cells = BTreeMap<CpuId, Cell>;

/// A machine to be drawn.
pub(crate) struct Picture<'a> {
    pub name: Option<String>,
    pub sockets: Vec<SocketBox<'a>>,
    cells: Cells,
}

/// A socket: its cores by NUMA node.
pub(crate) struct SocketBox<'a> {
    pub number: usize,
    pub groups: Vec<Group<'a>>,
}

/// Successive cores near one NUMA node.
pub(crate) struct Group<'a> {
    pub numa: Option<NumaId>,
    pub cores: Vec<(CoreIdx, &'a [CpuId])>,
}

impl<'a> Picture<'a> {
    /// Sorts a machine's cores into boxes.
    pub(crate) fn new(
        machine: &'a Machine,
        kind: SocketKind,
        name: Option<String>,
        cells: Cells,
    ) -> Self {
        let parents = Parents::new(machine, kind);
        let sockets = parents.sockets.iter().enumerate().map(|(number, cores)| {
            let mut groups: Vec<Group<'a>> = Vec::new();
            for &core in cores {
                let (numa, cpus) = (parents.numa_of(core), parents.cpus_of(core));
                match groups.last_mut().filter(|last| last.numa == numa) {
                    Some(last) => last.cores.push((core, cpus)),
                    None => groups.push(Group {
                        numa,
                        cores: vec![(core, cpus)],
                    }),
                }
            }
            SocketBox { number, groups }
        });
        Self {
            name,
            sockets: sockets.collect(),
            cells,
        }
    }

    /// What a CPU shows.
    pub(crate) fn cell(&self, cpu: CpuId) -> &Cell {
        self.cells.get(&cpu).unwrap_or(&Cell::Outside)
    }
}

/// The marks that some pictures have, each with its meaning.
pub(crate) fn legend(pictures: &[Picture<'_>]) -> Vec<&'static str> {
    type Is = fn(&Cell) -> bool;
    let kinds: [(&str, Is); 8] = [
        ("N a CPU, by kernel number", |cell| {
            matches!(cell, Cell::Number(_))
        }),
        ("N a task", |cell| matches!(cell, Cell::Task(_))),
        ("N+ that task and others", |cell| {
            matches!(cell, Cell::Several(_))
        }),
        ("* every task of the node", |cell| *cell == Cell::All),
        (". free", |cell| *cell == Cell::Free),
        ("- not the step's", |cell| *cell == Cell::Outside),
        ("N! not allowed here", |cell| {
            matches!(cell, Cell::Forbidden(_))
        }),
        ("N~ isolated (isolcpus)", |cell| {
            matches!(cell, Cell::Isolated(_))
        }),
    ];
    let cells = || pictures.iter().flat_map(|picture| picture.cells.values());
    kinds
        .into_iter()
        .filter(|(_, is)| cells().any(is))
        .map(|(text, _)| text)
        .collect()
}

impl Cell {
    /// What stands in the CPU.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Task(task) => task.to_string(),
            Self::Several(task) => format!("{task}+"),
            Self::All => "*".into(),
            Self::Free => ".".into(),
            Self::Outside => "-".into(),
            Self::Number(cpu) => cpu.to_string(),
            Self::Forbidden(cpu) => format!("{cpu}!"),
            Self::Isolated(cpu) => format!("{cpu}~"),
        }
    }

    /// The task whose colour it has.
    pub(crate) fn task(&self) -> Option<u32> {
        match self {
            Self::Task(task) | Self::Several(task) => Some(*task),
            _ => None,
        }
    }
}

/// Each CPU of a machine by its own number.
pub(crate) fn numbers(machine: &Machine, isolated: &CpuSet) -> Cells {
    let cell = |cpu| match cpu {
        cpu if !machine.allowed().contains(cpu) => Cell::Forbidden(cpu),
        cpu if isolated.contains(cpu) => Cell::Isolated(cpu),
        cpu => Cell::Number(cpu),
    };
    machine.cpus().iter().map(|cpu| (cpu, cell(cpu))).collect()
}

/// Draws pictures for the terminal, below each other, with the meaning of their marks.
///
/// # Errors
/// Those of `out`.
pub(crate) fn show(
    out: &mut impl Write,
    pictures: &[Picture<'_>],
    columns: Option<usize>,
    colours: ColorChoice,
) -> io::Result<()> {
    let (width, choice) = (width(columns), choice(colours));
    for picture in pictures {
        let mut coloured = AutoStream::new(Vec::new(), choice);
        coloured.write_all(tree::draw(picture, width).as_bytes())?;
        out.write_all(&coloured.into_inner())?;
    }
    writeln!(out, "C[…] core C   {}", legend(pictures).join("   "))
}

/// How many columns a picture may have.
fn width(asked: Option<usize>) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(terminal).unwrap_or(WIDTH)
}

/// Whether to use colours: the option decides, else the terminal and `NO_COLOR`.
fn choice(asked: ColorChoice) -> Choice {
    match asked {
        ColorChoice::Always => Choice::AlwaysAnsi,
        ColorChoice::Never => Choice::Never,
        ColorChoice::Auto if !stdout().is_terminal() => Choice::Never,
        ColorChoice::Auto => match AutoStream::choice(&stdout()) {
            Choice::Never => Choice::Never,
            _ => Choice::AlwaysAnsi,
        },
    }
}

#[cfg(test)]
mod tests {
    use berth_placement::{Core, Package, Parts};

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
        let texts: Vec<_> = cells.values().map(Cell::text).collect();
        assert_eq!(texts, ["0", "1~", "2~", "3!"]);
        let picture = [Picture::new(&machine, SocketKind::Package, None, cells)];
        let tree = tree::draw(&picture[0], 80);
        assert!(tree.contains("0[ 0]  1[1~]"), "{tree}");
        assert_eq!(
            legend(&picture),
            [
                "N a CPU, by kernel number",
                "N! not allowed here",
                "N~ isolated (isolcpus)"
            ]
        );
        let svg = svg::draw(&picture, "a <node>", "");
        assert!(
            svg.contains("a &lt;node&gt;") && svg.contains(">1~</text>"),
            "{svg}"
        );
    }
}
