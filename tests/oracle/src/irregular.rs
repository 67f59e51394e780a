//! Machines that are not sockets × cores × threads (siblings and cores offline, cores of two
//! kinds, holes in the numbering), and what slurmd makes of them: a shape by division, and a map
//! with gaps.
//! Source: `xcpuinfo_hwloc_topo_get`.

use berth_placement::{Core, Package};

use crate::harness::machines::{self, Sort};
use crate::machine::{Class, Machine};
use crate::random::Random;

/// Sockets, their cores, and the kernel's numbers of their hardware threads, in hwloc's order.
pub type Tree = Vec<Vec<Vec<u16>>>;

impl Machine {
    /// The machine that slurmd reports of a tree.
    #[must_use]
    pub fn counted(tree: Tree) -> Self {
        let cores: Vec<&Vec<u16>> = tree.iter().flatten().collect();
        let count = cores.iter().map(|core| core.len()).sum::<usize>() as u16;
        let sockets = tree.len() as u16;
        let threads = count / cores.len() as u16;
        let mut machine = Self {
            cpus: count,
            sockets,
            cores: cores.len() as u16 / sockets,
            threads,
            map: (0..count).collect(),
            domains: 1,
            tree: Vec::new(),
        };
        for (at, core) in cores.into_iter().enumerate() {
            for (thread, number) in core.iter().take(threads.into()).enumerate() {
                let place = at * usize::from(threads) + thread;
                if *number < count && place < usize::from(count) {
                    machine.map[place] = *number;
                }
            }
        }
        machine.tree = tree;
        machine
    }

    /// An irregular machine for a class. What slurm.conf has as `CPUs=` decides, once a process,
    /// whether task/affinity uses one thread of each core.
    pub fn irregular(class: Class, random: &mut Random) -> Self {
        loop {
            let mut machine = Self::counted(tree(random));
            let (cores, threads) = (machine.sockets * machine.cores, machine.cpus);
            machine.cpus = match class {
                Class::Cores => cores,
                Class::Threads => threads,
                _ => random.pick(&[threads, threads, cores, cores * machine.threads]),
            };
            if class != Class::Threads || machine.cpus != cores {
                return machine;
            }
        }
    }

    /// Cores that slurmd counts.
    fn counted_cores(&self) -> impl Iterator<Item = &Vec<u16>> {
        self.tree.iter().flatten().take(self.core_count() as usize)
    }

    /// Whether there are more cores than slurmd counts, or one has more or fewer hardware threads.
    #[must_use]
    pub fn has_other_cores(&self) -> bool {
        let mut cores = self.tree.iter().flatten();
        let threads = usize::from(self.threads);
        let count = self.core_count() as usize;
        let other = cores.clone().count() != count || cores.any(|core| core.len() != threads);
        !self.tree.is_empty() && other
    }

    /// Whether slurmd's map has another number for a hardware thread than the tree, has one that is
    /// not there, or has one twice.
    #[must_use]
    pub fn has_other_numbers(&self) -> bool {
        let mut cores = self
            .map
            .chunks(self.threads.into())
            .zip(self.counted_cores());
        let twice = |at: usize| self.map[..at].contains(&self.map[at]);
        cores.any(|(mapped, core)| !core.starts_with(mapped)) || (0..self.map.len()).any(twice)
    }

    /// Whether a socket has more or fewer cores than slurmd thinks.
    #[must_use]
    pub fn has_other_sockets(&self) -> bool {
        let cores = usize::from(self.cores);
        self.tree.iter().any(|socket| socket.len() != cores)
    }
}

/// A machine as hwloc shows it, which orders objects of a kind by their lowest number.
fn tree(random: &mut Random) -> Tree {
    let machine = machines::machine(random, Sort::Small);
    let core = |core: &Core| {
        let mut numbers: Vec<_> = core.pus.iter().map(|pu| pu.0 as u16).collect();
        numbers.sort_unstable();
        numbers
    };
    let socket = |package: &Package| {
        let mut cores: Vec<_> = package.cores.iter().map(core).collect();
        cores.sort();
        cores
    };
    let mut tree: Tree = machine.parts().packages.iter().map(socket).collect();
    tree.sort();
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `slurmd -C` counts `pack:2 core:4 pu:2` without its last hardware thread in this way.
    #[test]
    fn the_shape_is_by_division_and_the_rest_of_the_map_stays() {
        let core = |first: u16| vec![first, first + 1];
        let mut tree = vec![
            vec![core(0), core(2), core(4), core(6)],
            vec![core(8), core(10), core(12), vec![14]],
        ];
        let machine = Machine::counted(tree.clone());
        let shape = (
            machine.cpus,
            machine.sockets,
            machine.cores,
            machine.threads,
        );
        assert_eq!(shape, (15, 2, 4, 1));
        let map = [0, 2, 4, 6, 8, 10, 12, 14, 8, 9, 10, 11, 12, 13, 14];
        assert_eq!(machine.map, map);
        assert!(machine.has_other_cores() && machine.has_other_numbers());
        assert!(!machine.has_other_sockets());
        tree[1].truncate(2);
        let machine = Machine::counted(tree);
        assert_eq!((machine.cores, machine.threads), (3, 2));
        assert!(machine.has_other_sockets() && !machine.has_other_cores());
    }

    #[test]
    fn numbers_past_the_end_of_the_map_are_not_in_it() {
        let tree = vec![vec![vec![0, 16], vec![4, 20]]];
        let machine = Machine::counted(tree);
        assert_eq!(machine.map, [0, 1, 2, 3]);
        assert!(machine.has_other_numbers() && !machine.has_other_cores());
    }
}
