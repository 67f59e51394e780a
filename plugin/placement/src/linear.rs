//! Strategy `linear:AMOUNT`: successive cores, on an empty socket if one has them.
//! In: amount, number of takers, the step's whole cores. Out: cores of each taker.
//! Pure; greedy in task order, no backtracking. Source: Grid Engine's job-to-core
//! binding specification, section 4.3; siblings pack.

use crate::available::Available;
use crate::host::PuTable;

/// The step's cores by socket, with what is still free.
#[derive(Clone, Debug)]
pub struct FreeCores {
    /// Free cores of each socket, ascending.
    sockets: Vec<Vec<u32>>,
    /// The step owns every core of the socket, so no other step is bound there.
    empty: Vec<bool>,
}

impl FreeCores {
    /// Cores that the step owns whole; `threads` is how many hardware threads of
    /// a core steps may use. Cores owned in part count as taken.
    #[must_use]
    pub fn of(table: &PuTable, available: &Available, threads: u32) -> Self {
        let usable = threads.clamp(1, table.stride) as usize;
        let mut free = Self {
            sockets: Vec::new(),
            empty: Vec::new(),
        };
        for socket in &table.sockets {
            let cores = socket.chunks(table.stride as usize);
            let whole = |core: &&[u32]| available.among(core.iter().copied()).count() >= usable;
            let mine: Vec<u32> = cores
                .clone()
                .filter(whole)
                .filter_map(|core| core.first().map(|slot| slot / table.stride))
                .collect();
            free.empty.push(mine.len() == cores.len());
            free.sockets.push(mine);
        }
        free
    }

    /// Number of free cores.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sockets.iter().map(Vec::len).sum()
    }

    /// `amount` cores for each of `takers`, all or nothing.
    #[must_use]
    pub fn linear(mut self, takers: u32, amount: u32) -> Option<Vec<Vec<u32>>> {
        let amount = amount as usize;
        if (takers as usize).checked_mul(amount)? > self.count() {
            return None;
        }
        let mut last = None;
        (0..takers)
            .map(|_| {
                let holds = |socket: &usize| self.sockets[*socket].len() >= amount;
                let near = last.filter(holds);
                let empty = || (0..self.sockets.len()).find(|at| self.empty[*at] && holds(at));
                let Some(socket) = near.or_else(empty) else {
                    return self.spread(amount, &mut last);
                };
                last = Some(socket);
                Some(self.sockets[socket].drain(..amount).collect())
            })
            .collect()
    }

    /// Grid Engine's loop: empty sockets first, then those with most free cores.
    fn spread(&mut self, amount: usize, last: &mut Option<usize>) -> Option<Vec<u32>> {
        let mut cores = Vec::with_capacity(amount);
        while cores.len() < amount {
            let fullest = |at: &usize| {
                let left = self.sockets[*at].len();
                (self.empty[*at], left, std::cmp::Reverse(*at))
            };
            let candidates = (0..self.sockets.len()).filter(|at| !self.sockets[*at].is_empty());
            let socket = candidates.max_by_key(fullest)?;
            let take = (amount - cores.len()).min(self.sockets[socket].len());
            cores.extend(self.sockets[socket].drain(..take));
            *last = Some(socket);
        }
        Some(cores)
    }
}
