//! Strategy `linear`: successive cores.
//! In: the host's cores, number of takers, amount. Out: positions for each taker, all or
//! nothing. Pure; greedy in task order, no backtracking. Source: Grid Engine's job-to-core
//! binding specification, sections 3.2.1 and 4.3; siblings pack.

use crate::request::grid_engine::Place;
use crate::strategy::grid_engine::cores::{Cores, Obstacle, State};

/// `linear:AMOUNT`: the cores are on an empty socket if one has enough, else Grid Engine's loop
/// finds them.
///
/// # Errors
/// [`Obstacle::TooFew`]
pub fn anywhere(cores: &Cores, takers: u32, amount: u32) -> Result<Vec<Vec<usize>>, Obstacle> {
    let amount = amount as usize;
    let wanted = (takers as usize).checked_mul(amount);
    if wanted.is_none_or(|wanted| wanted > cores.free_count()) {
        return Err(Obstacle::TooFew);
    }
    let mut left = Left::of(cores);
    (0..takers)
        .map(|_| left.take(amount).ok_or(Obstacle::TooFew))
        .collect()
}

/// `linear:AMOUNT:SOCKET,CORE`: the cores begin there and run on into the next socket; each
/// taker starts where the one before ended.
///
/// # Errors
/// The core that stands in the way, or the host's end.
pub fn from(
    cores: &Cores,
    takers: u32,
    amount: u32,
    start: Place,
) -> Result<Vec<Vec<usize>>, Obstacle> {
    let first = cores.find(start)?;
    let amount = amount as usize;
    let at = |taker: u32| {
        (taker as usize)
            .saturating_mul(amount)
            .saturating_add(first)
    };
    (0..takers)
        .map(|taker| cores.run(at(taker), amount, 1))
        .collect()
}

/// The cores that earlier takers have left.
struct Left<'a> {
    cores: &'a Cores,
    /// Free positions of each socket, ascending.
    sockets: Vec<Vec<usize>>,
    /// The socket of the previous taker.
    last: Option<usize>,
}

impl<'a> Left<'a> {
    fn of(cores: &'a Cores) -> Self {
        Self {
            cores,
            sockets: (0..cores.socket_count())
                .map(|socket| cores.free_of(socket))
                .collect(),
            last: None,
        }
    }

    fn take(&mut self, amount: usize) -> Option<Vec<usize>> {
        let holds = |socket: &usize| self.sockets[*socket].len() >= amount;
        let near = self.last.filter(holds);
        let empty = (0..self.sockets.len())
            .filter(|at| self.cores.is_empty_socket(*at) && holds(at))
            .min_by_key(|at| (self.window(*at, amount).1, self.window(*at, usize::MAX).1));
        let Some(socket) = near.or(empty) else {
            return self.spread(amount);
        };
        Some(self.take_from(socket, amount))
    }

    /// Grid Engine's loop: empty sockets first, then those with most free cores.
    fn spread(&mut self, amount: usize) -> Option<Vec<usize>> {
        let mut found = Vec::with_capacity(amount);
        while found.len() < amount {
            let fullest = |at: &usize| {
                let left = self.sockets[*at].len();
                let take = left.min(amount - found.len());
                let shared = std::cmp::Reverse(self.window(*at, take).1);
                let empty = self.cores.is_empty_socket(*at);
                (empty, left, shared, std::cmp::Reverse(*at))
            };
            let candidates = (0..self.sockets.len()).filter(|at| !self.sockets[*at].is_empty());
            let socket = candidates.max_by_key(fullest)?;
            let take = (amount - found.len()).min(self.sockets[socket].len());
            found.extend(self.take_from(socket, take));
        }
        Some(found)
    }

    /// The first of the socket's runs of free cores that shares fewest of them.
    fn window(&self, socket: usize, amount: usize) -> (usize, usize) {
        let free = &self.sockets[socket];
        let is_shared = |at: &&usize| {
            let state = self.cores.at(**at).map(|core| core.state);
            state == Some(State::Shared)
        };
        let amount = amount.min(free.len());
        let shared = |from: usize| {
            let run = free.get(from..from + amount).unwrap_or_default();
            run.iter().filter(is_shared).count()
        };
        let starts = 0..=free.len() - amount;
        starts
            .map(|from| (from, shared(from)))
            .min_by_key(|(_, shared)| *shared)
            .unwrap_or_default()
    }

    fn take_from(&mut self, socket: usize, amount: usize) -> Vec<usize> {
        self.last = Some(socket);
        let (from, _) = self.window(socket, amount);
        self.sockets[socket].drain(from..from + amount).collect()
    }
}
