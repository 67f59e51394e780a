//! Which nodes a job can use at all, and which it gets: all are taken to be idle, and those that can hold it are taken
//! by weight, then in slurm.conf's order. slurmctld may choose others, so the answer says where there was a choice. In:
//! the job's record, nodes, what each offers. Out: the taken nodes. Pure. Source: `_build_node_list`,
//! `common_mark_avail_cores`, and `_select_cores`, `_cpus_to_use` and `_get_rem_max_cpus` of cons_tres.

use std::cmp::Reverse;

use crate::controller::select::cluster::{
    Cluster, ClusterNode, CoreSet, Memory, Specialised, Unit,
};
use crate::controller::select::details::Details;
use crate::request::CoreSpec;

/// Whether the node's configuration suffices, whatever runs there.
pub(super) fn is_configured(job: &Details, node: &ClusterNode) -> bool {
    let by_tasks = job.per_core.map(|most| {
        let cores = node.cores();
        cores.saturating_mul(most).saturating_mul(job.each)
    });
    let cpus = by_tasks.map_or(node.cpus, |most| most.max(node.cpus));
    let (Memory::PerNode(memory) | Memory::PerCpu(memory)) = job.memory;
    let is_at_least =
        |found: u32, requested: Option<u32>| requested.is_none_or(|requested| requested <= found);
    job.node_cpus <= cpus
        && memory <= node.memory
        && is_at_least(node.sockets, job.sockets)
        && is_at_least(node.cores_per_socket, job.cores)
        && is_at_least(node.threads_per_core, job.threads)
}

/// Whether the node has memory for the job.
pub(super) fn has_memory(cluster: &Cluster, job: &Details, node: &ClusterNode) -> bool {
    let Memory::PerCpu(each) = job.memory else {
        return true;
    };
    let cpus = match cluster.select.unit {
        Unit::Node => node.cpus,
        _ => job.per_node.unwrap_or(0).max(job.node_cpus).max(job.each),
    };
    !cluster.select.memory || each.saturating_mul(cpus.into()) <= node.memory
}

/// The node's cores that the job may have; none for a node that has too few.
pub(super) fn unspecialised(cluster: &Cluster, job: &Details, node: &ClusterNode) -> CoreSet {
    let select = &cluster.select;
    let mut cores = CoreSet::first(node.cores());
    let requested = match job.core_spec {
        CoreSpec::None => None,
        CoreSpec::Cores(count) if count >= node.cores() => return CoreSet::new(),
        CoreSpec::Cores(count) => Some(count),
        CoreSpec::Threads(count) => (node.cpus == node.cores()).then_some(count),
    };
    if requested == Some(0) {
        return cores;
    }
    let special = specialised(node, select.spec_cores_first);
    let Some(requested) = requested else {
        cores = cores.difference(&special);
        return cores;
    };
    let mut left = requested;
    for core in special.iter().take(requested as usize) {
        cores.remove(core);
        left -= 1;
    }
    let more =
        specialisation_order(node, select.spec_cores_first).filter(|core| !special.contains(*core));
    more.take(left as usize).for_each(|core| cores.remove(core));
    cores
}

/// The node's specialised cores.
fn specialised(node: &ClusterNode, lowest_first: bool) -> CoreSet {
    match &node.specialised {
        Specialised::None => CoreSet::new(),
        Specialised::Cores(cores) => cores.clone(),
        Specialised::Count(count) => specialisation_order(node, lowest_first)
            .take(*count as usize)
            .collect(),
    }
}

/// The order in which Slurm specialises cores: the highest core of the last socket, the same of the
/// socket before, and so on, then the next lower core. Source: `_select_spec_cores` of slurmd.
fn specialisation_order(node: &ClusterNode, lowest_first: bool) -> impl Iterator<Item = u32> {
    let (sockets, each) = (node.sockets, node.cores_per_socket);
    (0..node.cores()).map(move |at| {
        let (core, socket) = (at / sockets, at % sockets);
        match lowest_first {
            true => socket * each + core,
            false => (sockets - 1 - socket) * each + (each - 1 - core),
        }
    })
}

/// The numbers of nodes that a job requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeCounts {
    pub least: u32,
    pub most: u32,
    pub best: u32,
}

/// The CPUs that each node offers the job, by its position in the cluster.
pub(super) struct Candidates<'a> {
    pub cluster: &'a Cluster,
    pub job: &'a Details,
    /// CPUs that the job may have on each node (`avail_cpus`); 0 where it may have none.
    pub offers: Vec<u32>,
}

/// The job's open needs while nodes are chosen.
#[derive(Clone, Copy, Debug)]
struct Due {
    pub cpus: i64,
    pub nodes: i64,
    pub least_nodes: i64,
    pub most_nodes: i64,
}

impl Due {
    fn new(job: &Details, node_counts: NodeCounts) -> Self {
        Self {
            cpus: job.min_cpus.into(),
            nodes: node_counts.least.max(node_counts.best).into(),
            least_nodes: node_counts.least.into(),
            most_nodes: node_counts.most.into(),
        }
    }

    /// Whether nothing is due any more.
    fn is_served(&self) -> bool {
        self.nodes <= 0 && self.cpus <= 0
    }
}

impl Candidates<'_> {
    fn weight(&self, at: usize) -> u32 {
        self.cluster.nodes[at].weight
    }

    /// CPUs of the node that the job's tasks can use; 0 where a node's tasks do not fit.
    fn usable(&self, at: usize) -> u32 {
        let job = self.job;
        let cpus = self.offers[at];
        let tasks = job
            .per_node
            .or(job.per_socket.filter(|tasks| *tasks > 0))
            .or(job.per_core_of_node)
            .unwrap_or(match job.max_nodes == 1 {
                true => job.tasks.max(1),
                false => 1,
            });
        let counts_tasks = !job.overcommit && self.cluster.select.unit != Unit::Node;
        match counts_tasks && cpus / job.each < tasks {
            true => 0,
            false => cpus,
        }
    }

    /// Takes the node; the CPUs that the job takes of it. One core's CPUs are kept back for each node still due.
    fn take(&self, at: usize, due: &mut Due) -> u32 {
        let job = self.job;
        let node = &self.cluster.nodes[at];
        let unit = match self.cluster.select.unit {
            Unit::Socket => node.cores_per_socket,
            _ => 1,
        };
        let each = i64::from(job.cpus_per_core(node.cpus_per_core())) * i64::from(unit);
        let left = due.cpus - (due.least_nodes - 1).max(0) * each;
        let mut cpus = self.usable(at);
        if !job.whole && i64::from(cpus) > left {
            cpus = left.max(job.node_cpus.into()) as u32;
        }
        due.cpus -= i64::from(cpus);
        due.nodes -= 1;
        due.least_nodes -= 1;
        due.most_nodes -= 1;
        cpus
    }
}

/// The nodes of a job.
pub(super) struct Chosen {
    /// Positions, each with the CPUs that the job takes there.
    pub nodes: Vec<(usize, u32)>,
    /// Whether other nodes could hold it as well.
    pub is_assumed: bool,
}

/// The nodes, in slurm.conf's order, or `None`.
pub(super) fn choose(from: &Candidates<'_>, node_counts: NodeCounts) -> Option<Chosen> {
    let job = from.job;
    let most = match job.tasks {
        0 => node_counts.most,
        tasks => node_counts.most.min(tasks.max(node_counts.least)),
    };
    let node_counts = NodeCounts {
        most,
        ..node_counts
    };
    let is_named = |at: &usize| job.named_nodes.binary_search(at).is_ok();
    let all = 0..from.offers.len();
    let others: Vec<usize> = all
        .filter(|at| from.usable(*at) > 0 && !is_named(at))
        .collect();
    let are_neighbours = |one: &usize, next: &usize| !job.contiguous || one + 1 == *next;
    let mut runs: Vec<&[usize]> = others.chunk_by(are_neighbours).collect();
    if runs.is_empty() {
        runs.push(&[]);
    }
    let mut nodes = runs
        .into_iter()
        .find_map(|run| among(from, node_counts, run.to_vec()))?;
    nodes.sort_unstable();
    let open = nodes.len() - job.named_nodes.len();
    Some(Chosen {
        is_assumed: open > 0 && open < others.len(),
        nodes,
    })
}

/// Nodes of these: the lightest, or the largest where those do not hold the job.
fn among(
    from: &Candidates<'_>,
    node_counts: NodeCounts,
    mut nodes: Vec<usize>,
) -> Option<Vec<(usize, u32)>> {
    nodes.sort_by_key(|at| from.weight(*at));
    in_order(from, node_counts, &nodes).or_else(|| {
        nodes.sort_by_key(|at| Reverse(from.usable(*at)));
        in_order(from, node_counts, &nodes)
    })
}

/// Takes the nodes of `-w`, and then the others as they stand until nothing is due. Among nodes of one weight, the
/// first that holds all that is due goes before several.
fn in_order(
    from: &Candidates<'_>,
    node_counts: NodeCounts,
    others: &[usize],
) -> Option<Vec<(usize, u32)>> {
    let mut due = Due::new(from.job, node_counts);
    let mut taken = Vec::new();
    for &at in &from.job.named_nodes {
        if due.most_nodes <= 0 || from.usable(at) == 0 {
            return None;
        }
        taken.push((at, from.take(at, &mut due)));
    }
    for group in others.chunk_by(|one, other| from.weight(*one) == from.weight(*other)) {
        let holds_all = |at: &usize| i64::from(from.usable(*at)) >= due.cpus;
        let single = group.iter().copied().find(holds_all);
        let single = single.filter(|_| due.nodes <= 1);
        for &at in group {
            if due.most_nodes <= 0 || due.is_served() {
                break;
            }
            let is_short = due.most_nodes == 1 && i64::from(from.usable(at)) < due.cpus;
            if !is_short && single.is_none_or(|single| single == at) {
                taken.push((at, from.take(at, &mut due)));
            }
        }
    }
    (due.cpus <= 0 && due.least_nodes <= 0).then_some(taken)
}
