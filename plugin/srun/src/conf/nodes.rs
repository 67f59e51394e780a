//! `NodeName` lines of slurm.conf, scontrol's lines of nodes, and how slurmd counts a node's cores and sockets:
//! `SlurmdParameters`, and from 25.11 on a node's `Parameters` as well.
//! In: a line and the defaults before it. Out: names, a node's shape, and what every node has of those words.
//! Source: `_parse_nodename`, `parse_slurmd_params`, `xcpuinfo_hwloc_topo_get`.

use std::collections::BTreeSet;
use std::ops::Range;

use berth_placement::controller::select::{ClusterNode, CoreSet, Specialised};
use berth_placement::sets::limits::{MAX_CLUSTER_NODES, MAX_CPUS};
use berth_placement::{CpuBind, SocketKind};

use super::text::{ConfError, Line};
use super::{Config, binds};
use crate::node_lists::{Most, expand};

/// Nodes of one line: their names, and the shape that they share.
pub(super) struct Shaped {
    pub names: Vec<String>,
    pub node: ClusterNode,
    /// As they are written, with commas between.
    pub features: Option<String>,
    pub cpu_bind: Option<CpuBind>,
    /// `Parameters`, where the line has them.
    pub parameters: Option<Counting>,
    /// Whether jobs can get it.
    pub usable: bool,
}

/// States in which a node takes no job.
const CLOSED: [&str; 9] = [
    "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "FUTURE", "MAINT", "ERROR",
];

/// The most names of one list.
pub(super) const MOST_NAMES: Most = Most {
    names: MAX_CLUSTER_NODES,
    bytes: 16 << 20,
};

/// Reads a line.
pub(super) fn read(line: &Line, default: Option<&Line>) -> Result<Shaped, ConfError> {
    let line = &line.after(default);
    let list = line.value("nodename").unwrap_or_default();
    let names = expand(list, MOST_NAMES).map_err(|why| line.place.error(&why.to_string()))?;
    let features = line.value("features").or_else(|| line.value("feature"));
    Ok(Shaped {
        names,
        node: shape(line)?,
        features: features.map(String::from),
        cpu_bind: binds::read(line)?,
        parameters: line.value("parameters").map(Counting::of),
        usable: !is_closed(line.value("state").unwrap_or_default()),
    })
}

/// Whether a node in this state takes no job; scontrol joins several words with `+`.
pub(super) fn is_closed(state: &str) -> bool {
    // The longest that scontrol prints is far shorter.
    let state = if state.len() > 256 { "" } else { state };
    state.to_ascii_uppercase().split('+').any(|word| {
        let plain = word.trim_end_matches(['*', '#', '~', '$', '@', '^', '!', '%', '-']);
        // A star behind a state is a node that does not answer.
        word.contains('*') || CLOSED.contains(&plain) || plain == "NOT_RESPONDING"
    })
}

fn shape(line: &Line) -> Result<ClusterNode, ConfError> {
    let one = |key| line.count(key);
    let boards = one("boards")?.unwrap_or(1);
    let cores = one("corespersocket")?.unwrap_or(1);
    let threads = one("threadspercore")?.unwrap_or(1);
    let cpus = match one("cpus")? {
        None => one("procs")?,
        cpus => cpus,
    };
    let per_board = one("socketsperboard")?;
    // Both at once: SocketsPerBoard counts.
    let sockets = match (per_board, one("sockets")?) {
        (Some(per_board), _) => boards.saturating_mul(per_board),
        (None, Some(sockets)) => sockets,
        (None, None) => {
            let of_socket = cores.saturating_mul(threads);
            let whole = cpus.filter(|cpus| cpus % of_socket == 0 && *cpus >= of_socket);
            whole.map_or(boards, |cpus| cpus / of_socket)
        }
    };
    let mut node = ClusterNode::idle("", sockets, cores, threads);
    let all = u64::from(sockets) * u64::from(cores) * u64::from(threads);
    if all > u64::from(MAX_CPUS) {
        let why = format!("{all} CPUs of one node; berth takes {MAX_CPUS} at most");
        return Err(line.place.error(&why));
    }
    // Slurm takes the number of sockets too. Any other number is replaced by all hardware threads.
    if let Some(cpus) = cpus.filter(|cpus| [sockets, node.cores()].contains(cpus)) {
        node.cpus = cpus;
    }
    node.weight = line.number("weight", u32::MAX.into())?.unwrap_or(1) as u32;
    let memory = line.number("realmemory", u64::MAX)?.unwrap_or(1);
    let special = line.number("memspeclimit", u64::MAX)?.unwrap_or(0);
    node.memory = memory.saturating_sub(special);
    node.specialised = specialised(line, &node)?;
    Ok(node)
}

fn specialised(line: &Line, node: &ClusterNode) -> Result<Specialised, ConfError> {
    if let Some(cores) = line.number("corespeccount", u16::MAX.into())?
        && cores > 0
    {
        if cores >= u64::from(node.cores()) {
            let why = format!("CoreSpecCount={cores} leaves no core of {}", node.cores());
            return Err(line.place.error(&why));
        }
        return Ok(Specialised::Count(cores as u32));
    }
    let Some(list) = line.value("cpuspeclist") else {
        return Ok(Specialised::None);
    };
    let wrong = || {
        let cpus = node.cpus;
        line.place.error(&format!(
            "CpuSpecList={list} is no list of CPUs below {cpus}; write one"
        ))
    };
    let mut cores = CoreSet::new();
    let mut seen = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| wrong())?;
        let last: u32 = last.trim().parse().map_err(|_| wrong())?;
        if last >= node.cpus || first > last {
            return Err(wrong());
        }
        seen.extend((first..=last).map(|cpu| cpu / node.cpus_per_core()));
    }
    seen.into_iter().for_each(|core| cores.insert(core));
    Ok(Specialised::Cores(cores))
}

/// The words of some nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counting {
    allow_ecores: bool,
    l3_as_socket: bool,
    numa_as_socket: bool,
}

impl Counting {
    /// Slurm looks for each word anywhere in the text.
    pub(super) fn of(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        Self {
            allow_ecores: text.contains("allow_ecores"),
            l3_as_socket: text.contains("l3cache_as_socket"),
            numa_as_socket: text.contains("numa_node_as_socket"),
        }
    }

    fn both(self, other: Self) -> Self {
        Self {
            allow_ecores: self.allow_ecores && other.allow_ecores,
            l3_as_socket: self.l3_as_socket && other.l3_as_socket,
            numa_as_socket: self.numa_as_socket && other.numa_as_socket,
        }
    }
}

/// `Parameters` of nodes, by ranges of positions.
pub(super) type OfNodes = Vec<(Range<usize>, Counting)>;

impl Config {
    /// Whether slurmd counts efficiency cores: `allow_ecores`.
    #[must_use]
    pub fn allows_ecores(&self) -> bool {
        self.counts(|words| words.allow_ecores)
    }

    /// The object that slurmd calls a socket: with both words it is the L3 cache.
    #[must_use]
    pub fn socket_kind(&self) -> SocketKind {
        if self.counts(|words| words.l3_as_socket) {
            SocketKind::L3
        } else if self.counts(|words| words.numa_as_socket) {
            SocketKind::Numa
        } else {
            SocketKind::Package
        }
    }

    /// A word of the cluster, or of each of its nodes: one machine stands for all of them.
    fn counts(&self, has: impl Fn(Counting) -> bool) -> bool {
        let of_cluster = Counting::of(self.slurmd_parameters.as_deref().unwrap_or_default());
        let of_nodes: usize = self.parameters.iter().map(|(nodes, _)| nodes.len()).sum();
        let is_everywhere = of_nodes > 0 && of_nodes == self.nodes.len();
        let every = self.parameters.iter().map(|(_, words)| *words);
        let every = every.reduce(Counting::both).filter(|_| is_everywhere);
        has(of_cluster) || every.is_some_and(has)
    }
}
