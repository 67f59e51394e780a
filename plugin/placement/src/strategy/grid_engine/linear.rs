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
    let mut left = FreeCores::of(cores);
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
struct FreeCores<'a> {
    cores: &'a Cores,
    /// Free positions of each socket, ascending.
    sockets: Vec<Vec<usize>>,
    /// Whether each socket was empty before.
    empty: Vec<bool>,
    /// Whether any core is shared.
    shares: bool,
    /// The socket of the previous taker.
    last: Option<usize>,
}

impl<'a> FreeCores<'a> {
    fn of(cores: &'a Cores) -> Self {
        let sockets = 0..cores.socket_count();
        let is_shared = |at| cores.at(at).is_some_and(|core| core.state == State::Shared);
        Self {
            cores,
            empty: sockets
                .clone()
                .map(|at| cores.is_empty_socket(at))
                .collect(),
            sockets: sockets.map(|at| cores.free_of(at)).collect(),
            shares: (0..cores.len()).any(is_shared),
            last: None,
        }
    }

    fn take(&mut self, amount: usize) -> Option<Vec<usize>> {
        let holds = |socket: &usize| self.sockets[*socket].len() >= amount;
        let near = self.last.filter(holds);
        let empty = || {
            (0..self.sockets.len())
                .filter(|at| self.empty[*at] && holds(at))
                .min_by_key(|at| (self.window(*at, amount).1, self.window(*at, usize::MAX).1))
        };
        let Some(socket) = near.or_else(empty) else {
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
                (self.empty[*at], left, shared, std::cmp::Reverse(*at))
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
        if !self.shares {
            return (0, 0);
        }
        let free = &self.sockets[socket];
        let amount = amount.min(free.len());
        let is_shared = |at: usize| {
            let state = self.cores.at(at).map(|core| core.state);
            usize::from(state == Some(State::Shared))
        };
        let mut shared = free[..amount].iter().map(|at| is_shared(*at)).sum();
        let mut best = (0, shared);
        // The run moves on by one core: one comes, one goes.
        for (from, (goes, comes)) in (1..).zip(free.iter().zip(&free[amount..])) {
            shared = shared + is_shared(*comes) - is_shared(*goes);
            if shared < best.1 {
                best = (from, shared);
            }
        }
        best
    }

    fn take_from(&mut self, socket: usize, amount: usize) -> Vec<usize> {
        self.last = Some(socket);
        let (from, _) = self.window(socket, amount);
        self.sockets[socket].drain(from..from + amount).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owned::Owned;
    use crate::request::Claims;
    use crate::{CpuId, CpuSet, Machine, Node, Numbering, Request, Rules, SocketKind};

    /// The test tries every set of shared cores on one socket of 12.
    #[test]
    fn the_run_that_shares_fewest_is_the_first_of_them() {
        let machine = Machine::regular(1, 12, 1, Numbering::Block).unwrap();
        let node = Node::of(machine, SocketKind::Package, Rules::default());
        let owned = Owned::of(&Request::default(), &node);
        for bits in 0..1_u64 << 12 {
            let claims = Claims {
                shared: CpuSet::from_words([bits]),
                ..Claims::default()
            };
            let left =
                FreeCores::of(&Cores::of(node.table(), &owned, &claims)).window_of_each_amount();
            for (amount, found) in (0..).zip(left) {
                let shared = |from: u32| {
                    let run = (from..from + amount).map(CpuId);
                    run.filter(|cpu| claims.shared.contains(*cpu)).count()
                };
                let runs = (0..=12 - amount).map(|from| (from as usize, shared(from)));
                assert_eq!(
                    Some(found),
                    runs.min_by_key(|(_, shared)| *shared),
                    "{bits:b}"
                );
            }
        }
    }

    impl FreeCores<'_> {
        fn window_of_each_amount(&self) -> Vec<(usize, usize)> {
            (0..=12).map(|amount| self.window(0, amount)).collect()
        }
    }
}
