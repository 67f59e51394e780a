//! The host's cores for `--binding`: by socket, and each is free, shared, taken or
//! not the step's.
//! In: PU table, what the step owns, what others are bound to. Out: [`Cores`]. Pure.

use std::ops::Range;

use crate::owned::Owned;
use crate::request::Claims;
use crate::request::grid_engine::Place;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::topology::pu_table::PuTable;

/// Whether a core may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The step owns it, and no other step is bound there.
    Free,
    /// The step owns it; others are bound there or in a pool there too, but they do not exclude this step.
    Shared,
    /// Another step is bound there, or a choice leaves it to others.
    Taken,
    /// The step does not own it, or owns only some of its hardware threads.
    Foreign,
}

/// One core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Its number in Slurm's abstract order.
    pub index: u32,
    /// Where it is, as `--binding` names it.
    pub place: Place,
    /// Whether it may be used.
    pub state: State,
    /// Who else uses it.
    pub others: Others,
}

/// Who uses a core that a step may use too, but spares if it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Others {
    /// Jobs in pools.
    pub pools: usize,
    /// Bindings, which do not exclude a job in a pool.
    pub bindings: usize,
}

impl Others {
    /// Whether anybody does.
    #[must_use]
    pub fn any(self) -> bool {
        self.pools > 0 || self.bindings > 0
    }
}

/// Every core of the host, socket after socket.
#[derive(Clone, Debug)]
pub struct Cores {
    list: Vec<Core>,
    sockets: Vec<Range<usize>>,
}

/// Why cores could not be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There are fewer free cores than requested.
    TooFew,
    /// There are enough free cores, but they do not have the requested distance.
    NoStart,
    /// The host has no such core.
    Absent(Place),
    /// The core must not be used.
    Occupied(Core),
    /// There are too few cores after the start.
    End,
}

impl Cores {
    /// The step does not own a core if it has fewer of its hardware threads than steps may use.
    #[must_use]
    pub fn of(table: &PuTable, owned: &Owned, claims: &Claims) -> Self {
        let others = |pus: &[PuIdx]| {
            let is_in =
                |set: &CpuSet| !set.is_empty() && table.cpus(pus.iter().copied()).intersects(set);
            let count = |set: &CpuSet, again: &[CpuSet]| {
                let further = || again.iter().take_while(|set| is_in(set)).count();
                if is_in(set) { 1 + further() } else { 0 }
            };
            Others {
                pools: count(&claims.pools, &claims.pools_again),
                bindings: count(&claims.bindings, &claims.bindings_again),
            }
        };
        let state = |pus: &[PuIdx], others: Others| {
            let cpus = || table.cpus(pus.iter().copied());
            let usable = pus.len().min(table.usable_threads() as usize).max(1);
            if owned.among(pus).count() < usable {
                State::Foreign
            } else if !claims.taken.is_empty() && cpus().intersects(&claims.taken) {
                State::Taken
            } else if others.any() || !claims.shared.is_empty() && cpus().intersects(&claims.shared)
            {
                State::Shared
            } else {
                State::Free
            }
        };
        let mut cores = Self {
            list: Vec::new(),
            sockets: Vec::new(),
        };
        for socket in 0..table.sockets.len() as u32 {
            let first = cores.list.len();
            for (core, pus) in (0..).zip(table.cores_of_socket(socket)) {
                let others = others(pus);
                cores.list.push(Core {
                    index: pus.first().map_or(0, |pu| table.cores.of(*pu)),
                    place: Place { socket, core },
                    state: state(pus, others),
                    others,
                });
            }
            cores.sockets.push(first..cores.list.len());
        }
        cores
    }

    /// These cores, with those at some positions left to others.
    #[must_use]
    pub fn without(&self, positions: &[usize]) -> Self {
        let mut cores = self.clone();
        for at in positions {
            if let Some(core) = cores.list.get_mut(*at) {
                core.state = State::Taken;
            }
        }
        cores
    }

    /// Number of cores of the host.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the host has no core.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A core by its position.
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&Core> {
        self.list.get(position)
    }

    /// Whether the core at a position may be used.
    #[must_use]
    pub fn is_free(&self, position: usize) -> bool {
        let state = self.list.get(position).map(|core| core.state);
        matches!(state, Some(State::Free | State::Shared))
    }

    /// Positions of a socket's cores that may be used, ascending.
    #[must_use]
    pub fn free_of(&self, socket: usize) -> Vec<usize> {
        let range = self.sockets.get(socket).cloned().unwrap_or_default();
        range.filter(|at| self.is_free(*at)).collect()
    }

    /// Number of sockets.
    #[must_use]
    pub fn socket_count(&self) -> usize {
        self.sockets.len()
    }

    /// Whether the step owns every core of the socket, and none is another step's or left to others.
    #[must_use]
    pub fn is_empty_socket(&self, socket: usize) -> bool {
        let range = self.sockets.get(socket).cloned().unwrap_or_default();
        range.into_iter().all(|at| self.is_free(at))
    }

    /// The number of cores that may be used.
    #[must_use]
    pub fn free_count(&self) -> usize {
        (0..self.len()).filter(|at| self.is_free(*at)).count()
    }

    /// The position of a core by its logical numbers.
    ///
    /// # Errors
    /// [`Obstacle::Absent`]
    pub fn find(&self, place: Place) -> Result<usize, Obstacle> {
        let range = self.sockets.get(place.socket as usize).cloned();
        let position = range.and_then(|mut range| range.nth(place.core as usize));
        position.ok_or(Obstacle::Absent(place))
    }

    /// The positions from `start` on, `step` apart, if all may be used.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn run(&self, start: usize, amount: usize, step: usize) -> Result<Vec<usize>, Obstacle> {
        let positions = (0..amount).map(|at| {
            let position = at.checked_mul(step).and_then(|far| far.checked_add(start));
            let core = position.and_then(|at| self.at(at)).ok_or(Obstacle::End)?;
            match core.state {
                State::Free | State::Shared => position.ok_or(Obstacle::End),
                State::Taken | State::Foreign => Err(Obstacle::Occupied(*core)),
            }
        });
        positions.collect()
    }

    /// Sockets and their cores, for a text: `sockets 0-1 with 4 cores each`.
    #[must_use]
    pub fn extent(&self) -> String {
        let counts: Vec<_> = self.sockets.iter().map(Range::len).collect();
        let last = counts.len().saturating_sub(1);
        match counts.split_first() {
            None => "no cores".into(),
            Some((one, [])) => format!("socket 0 with cores 0-{}", one.saturating_sub(1)),
            Some((one, rest)) if rest.iter().all(|other| other == one) => {
                format!(
                    "sockets 0-{last} with cores 0-{} each",
                    one.saturating_sub(1)
                )
            }
            Some(_) => {
                let counts: Vec<_> = counts.iter().map(ToString::to_string).collect();
                format!("sockets 0-{last} with {} cores", counts.join(", "))
            }
        }
    }
}
