//! What the kernel keeps for itself is marked, in both forms of a picture.

use berth_placement::{Core, CpuSet, Package, Parts};

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
