//! Distances between NUMA nodes are found in files, and their absence is no error.

use berth_discover::{Source, discover};
use berth_placement::{Distances, Machine, Node, Rules, SocketKind};

fn found(text: &str) -> Machine {
    discover(&Source::parse(text).unwrap()).unwrap().machine
}

fn radii(machine: Machine) -> Vec<Vec<u32>> {
    let node = Node::of(machine, SocketKind::Package, Rules::default());
    let here: &Distances = node.distances();
    let row = |one| {
        (0..here.len())
            .map(|other| here.radius(one, other))
            .collect()
    };
    (0..here.len()).map(row).collect()
}

#[test]
fn a_files_matrix_is_read() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/topologies/vm-2x4x2-numa4.xml"
    );
    let machine = found(file);
    let distances = &machine.parts().numa_distances;
    assert_eq!(distances.len(), 4);
    assert!((0..4).all(|at| distances[at][at] == 10), "{distances:?}");
    assert_eq!(distances[0].len(), 4);
    let radii = radii(machine);
    assert!(
        radii.iter().flatten().any(|radius| *radius == 1),
        "{radii:?}"
    );
}

#[test]
fn a_machine_without_one_counts_packages() {
    let machine = found("pack:2 numa:2 core:2 pu:1");
    assert!(machine.parts().numa_distances.is_empty());
    let rows = [[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]];
    assert_eq!(radii(machine), rows.map(Vec::from));
}
