//! The event loop of `berth node`. It wakes when a ledger changes, when Slurm freezes or thaws a step in a cpuset, when
//! a signal ends it, and every few seconds, and then looks at everything.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use berth_host::cgroup::{Mounts, Place, scopes};
use berth_host::{Ledger, LedgerError, StateDir, StateError};
use berth_placement::CpuSet;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::choice::online;
use crate::faults::Faults;
use crate::memory::Mover;
use crate::node::{self, Around, ServedNode};
use crate::node_state::Cgroups;

/// A CPU that goes offline or comes back, and a node that is new, are seen within this time.
const BETWEEN_LOOKS: Duration = Duration::from_secs(4);
/// The time between two rounds of other work, such as writing a file of metrics.
const BETWEEN_CHORES: Duration = Duration::from_secs(15);

/// The options of a service.
pub struct Options<'a> {
    /// The directory for the state of all nodes of this host.
    pub base: PathBuf,
    /// The names of the nodes that keep state there now.
    pub nodes: &'a dyn Fn() -> Vec<String>,
    /// A folder that looks like a mount of cgroups, for a trial without the kernel's.
    pub cgroups: Option<PathBuf>,
    /// Other work, every few seconds.
    pub chore: &'a dyn Fn(),
}

/// A service that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Another one serves a node.
    #[error("another berth node serves {0} already; stop that one first")]
    Served(String),
    /// A node's state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A node's ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A system call failed.
    #[error("{action} failed: {why}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        why: io::Error,
    },
}

impl Options<'_> {
    fn tops(&self) -> Result<Vec<Place>, ServiceError> {
        if let Some(top) = &self.cgroups {
            return Ok(vec![Place::made_up(top)]);
        }
        let mounts = Mounts::read().map_err(|why| {
            failed(
                "looking for the mounts of cgroups",
                io::Error::other(why.to_string()),
            )
        })?;
        Ok(scopes::unified(&mounts))
    }
}

/// Serves all nodes of this host until SIGTERM or SIGINT comes. Nothing stays frozen then.
///
/// # Errors
/// [`ServiceError`]
pub fn run(options: &Options<'_>) -> Result<(), ServiceError> {
    let mut service = Service::new(options)?;
    let ended = service.serve();
    service.nodes.iter().for_each(|(_, node)| node.end());
    ended
}

/// Thaws what a service has frozen that was killed, on every node of this host that none serves.
///
/// # Errors
/// [`ServiceError`]
pub fn release(options: &Options<'_>) -> Result<(), ServiceError> {
    for name in (options.nodes)() {
        let ledger = Ledger::open(&StateDir::new(&options.base, &name)?)?;
        if ledger.has_service() {
            return Err(ServiceError::Served(name));
        }
        let cgroups = Cgroups {
            tops: options.tops()?,
            node: name,
        };
        node::release(&ledger, &cgroups)?;
    }
    Ok(())
}

struct Service<'a> {
    options: &'a Options<'a>,
    signals: SignalFd,
    changes: Inotify,
    mover: Mover,
    nodes: Vec<(String, ServedNode)>,
    faults: Faults,
}

impl<'a> Service<'a> {
    fn new(options: &'a Options<'a>) -> Result<Self, ServiceError> {
        let system = |action| move |why: nix::Error| failed(action, why.into());
        let ends: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
        // The thread that moves memory inherits it.
        ends.thread_block().map_err(system("blocking signals"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&ends, flags).map_err(system("opening a signalfd"))?;
        let flags = InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK;
        let mut service = Self {
            options,
            signals,
            changes: Inotify::init(flags).map_err(system("opening inotify"))?,
            mover: Mover::start().map_err(|why| failed("starting a thread", why))?,
            nodes: Vec::new(),
            faults: Faults::default(),
        };
        service.find_nodes()?;
        log::info!("berth node serves {}", service.names());
        Ok(service)
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.nodes.iter().map(|(name, _)| name.as_str()).collect();
        match names.is_empty() {
            true => format!(
                "no node yet: none keeps state in {}",
                self.options.base.display()
            ),
            false => names.join(", "),
        }
    }

    /// Nodes that have begun to keep state are served too. One whose state cannot be used keeps no other from that.
    fn find_nodes(&mut self) -> Result<(), ServiceError> {
        let mut faults = BTreeSet::new();
        for name in (self.options.nodes)() {
            if self.nodes.iter().any(|(known, _)| *known == name) {
                continue;
            }
            match self.node(&name) {
                Ok(node) => self.nodes.push((name, node)),
                Err(why @ ServiceError::Served(_)) => return Err(why),
                Err(why) => {
                    faults.insert(format!("{name} is not served: {why}"));
                }
            }
        }
        self.faults.log(faults);
        Ok(())
    }

    fn node(&self, name: &str) -> Result<ServedNode, ServiceError> {
        let dir = StateDir::new(&self.options.base, name)?;
        let served = ServedNode::serve(dir, name, self.options.tops()?)?;
        served.ok_or_else(|| ServiceError::Served(name.into()))
    }

    fn serve(&mut self) -> Result<(), ServiceError> {
        let mut known = CpuSet::new();
        let mut chores = Instant::now();
        loop {
            self.find_nodes()?;
            known = online().unwrap_or(known);
            let around = Around {
                online: &known,
                mover: &self.mover,
            };
            let pauses = self.nodes.iter_mut();
            let pauses = pauses.filter_map(|(_, node)| node.pass(around));
            let pause = pauses
                .min()
                .map_or(BETWEEN_LOOKS, |pause| pause.min(BETWEEN_LOOKS));
            if chores <= Instant::now() {
                (self.options.chore)();
                chores = Instant::now() + BETWEEN_CHORES;
            }
            self.watch();
            if self.wait(pause)? {
                return Ok(());
            }
        }
    }

    /// The folders of entries, also those that are new. A folder that is watched already stays so.
    fn watch(&self) {
        let flags = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_DELETE;
        for (name, node) in &self.nodes {
            if let Err(why) = self.changes.add_watch(&node.steps(), flags) {
                log::debug!("{name}: its ledger is not watched: {why}");
            }
        }
    }

    /// Waits for news; whether it is the end.
    fn wait(&self, pause: Duration) -> Result<bool, ServiceError> {
        let mut all = vec![
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.changes.as_fd(), PollFlags::POLLIN),
        ];
        let events = self.nodes.iter().flat_map(|(_, node)| node.events());
        all.extend(events.map(|events| PollFd::new(events, PollFlags::POLLPRI)));
        let pause = PollTimeout::try_from(pause).unwrap_or(PollTimeout::ZERO);
        match poll(&mut all, pause) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(why) => return Err(failed("poll", why.into())),
        }
        let is_over = all
            .first()
            .is_some_and(|signals| signals.any() == Some(true));
        // Every node is looked at anyway, whatever has changed.
        while self
            .changes
            .read_events()
            .is_ok_and(|events| !events.is_empty())
        {}
        Ok(is_over)
    }
}

fn failed(action: &'static str, why: io::Error) -> ServiceError {
    ServiceError::System { action, why }
}
