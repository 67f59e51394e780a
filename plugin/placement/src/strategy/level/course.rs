//! The order in which a walk visits the hardware threads: Slurm's, or another within each socket
//! if the third level of `-m` requests it. Pure.

use crate::sets::ids::PuIdx;
use crate::topology::pu_table::PuTable;

/// The hardware threads in the order of a walk.
pub(crate) enum Course<'a> {
    /// In the order of their numbers.
    Plain(&'a PuTable),
    /// In this order within each socket, and one socket after the other.
    Ordered(Vec<Vec<PuIdx>>, Vec<PuIdx>),
}

impl<'a> Course<'a> {
    /// Slurm's order.
    pub(crate) fn plain(table: &'a PuTable) -> Self {
        Self::Plain(table)
    }

    /// `chunk` hardware threads of a core, then as many of the next, then round again.
    pub(crate) fn by_threads(table: &PuTable, chunk: u32) -> Self {
        let chunk = chunk.max(1) as usize;
        let of_socket = |socket: u32| -> Vec<PuIdx> {
            let cores: Vec<_> = table.cores_of_socket(socket).collect();
            let widest = cores.iter().map(|core| core.len()).max().unwrap_or(0);
            let turn = |first: usize| {
                let part = move |core: &&[PuIdx]| {
                    let first = first.min(core.len());
                    core[first..(first + chunk).min(core.len())].to_vec()
                };
                cores.iter().flat_map(part).collect::<Vec<_>>()
            };
            (0..widest).step_by(chunk).flat_map(turn).collect()
        };
        let sockets: Vec<_> = (0..table.sockets.len() as u32).map(of_socket).collect();
        let whole = sockets.concat();
        Self::Ordered(sockets, whole)
    }

    /// The hardware threads of a socket.
    pub(crate) fn socket(&self, socket: usize) -> &[PuIdx] {
        match self {
            Self::Plain(table) => table.sockets.members(socket as u32),
            Self::Ordered(sockets, _) => &sockets[socket],
        }
    }

    /// The hardware thread at a place of the whole walk; `None` past its end.
    pub(crate) fn whole(&self, place: u32) -> Option<PuIdx> {
        match self {
            Self::Plain(table) => (place < table.len() as u32).then_some(PuIdx(place)),
            Self::Ordered(_, whole) => whole.get(place as usize).copied(),
        }
    }
}
