//! How much of a node's objects a step owns whole and in part.
//! In: its usable hardware threads. Out: [`Counts`]. Pure. Source: `_get_avail_map`.

use crate::sets::cpuset::PuSet;
use crate::sets::ids::PuIdx;
use crate::topology::pu_table::PuTable;

/// Objects owned whole and in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Every CPU of the node.
    pub whole_node: bool,
    /// Sockets owned whole.
    pub sockets: u32,
    /// Sockets owned in part.
    pub part_sockets: u32,
    /// Cores owned whole.
    pub cores: u32,
    /// Cores owned in part.
    pub part_cores: u32,
    /// Hardware threads.
    pub threads: u32,
}

impl Counts {
    pub(super) fn of(usable: &PuSet, table: &PuTable, known_cores: u32) -> Self {
        if table.all().is_some() && usable.count() == table.len() {
            return Self {
                whole_node: true,
                sockets: table.sockets.len() as u32,
                cores: table.cores.len() as u32,
                threads: table.len() as u32,
                ..Self::default()
            };
        }
        let mut counts = Self {
            whole_node: true,
            ..Self::default()
        };
        for socket in 0..table.sockets.len() as u32 {
            let (mut hit, mut miss) = (false, false);
            for core in table.cores_of_socket(socket) {
                let mine = core.iter().filter(|pu| usable.contains(**pu)).count();
                counts.threads += mine as u32;
                match mine {
                    0 => {}
                    all if all == core.len() => counts.cores += 1,
                    _ => counts.part_cores += 1,
                }
                hit |= mine > 0;
                miss |= mine < core.len();
                let is_known = |pu: &&PuIdx| table.cores.of(**pu) < known_cores;
                counts.whole_node &= core.iter().filter(is_known).all(|pu| usable.contains(*pu));
            }
            counts.sockets += u32::from(!miss);
            counts.part_sockets += u32::from(hit && miss);
        }
        counts
    }
}
