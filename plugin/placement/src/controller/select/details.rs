//! The job's record in slurmctld: what it makes of the client's message (`validate_job_create_req`,
//! `_job_create`, `_validate_job_desc`, `_copy_job_desc_to_job_record`, `_set_multi_core_data`).
//! In: the options as given, and the cluster. Out: the record, or a refusal. Pure.

use std::collections::{BTreeSet, HashMap};

use crate::controller::select::answer::JobRefusal;
use crate::controller::select::client::{NO_LIMIT, Sent, Variables};
use crate::controller::select::cluster::{Cluster, Memory, SlurmLine, Unit};
use crate::controller::select::options::{Client, LineOptions, Sharing};
use crate::request::CoreSpec;
use crate::request::distribution::Distribution;

/// The parts of a job's record that selection reads (`job_details`, `multi_core_data`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Details {
    /// `min_cpus` as submitted: the partition's limits are held against it.
    pub submitted_cpus: u32,
    /// `min_cpus`.
    pub min_cpus: u32,
    pub min_nodes: u32,
    /// `max_nodes`; 0 is no limit.
    pub max_nodes: u32,
    /// `num_tasks`; 0 is not given.
    pub tasks: u32,
    pub client: Client,
    /// The number of tasks that the client sent.
    pub sent_tasks: Option<u32>,
    /// `cpus_per_task`, at least 1.
    pub each: u32,
    pub each_given: bool,
    /// `pn_min_cpus`, at least 1.
    pub node_cpus: u32,
    pub per_node: Option<u32>,
    pub per_socket: Option<u32>,
    /// `ntasks_per_core`, where it is a limit.
    pub per_core: Option<u32>,
    /// `--ntasks-per-core` as the client sent it, where it is a limit.
    pub sent_per_core: Option<u32>,
    /// `ntasks_per_core` as `_select_cores` sees it: a hint's "no limit" is none, and then the
    /// cluster's own limit holds.
    pub per_core_of_node: Option<u32>,
    pub sockets: Option<u32>,
    pub cores: Option<u32>,
    pub threads: Option<u32>,
    pub overcommit: bool,
    /// Whether the job takes whole nodes.
    pub whole: bool,
    pub spread: bool,
    pub use_min_nodes: bool,
    /// `--contiguous`.
    pub contiguous: bool,
    pub core_spec: CoreSpec,
    pub distribution: Distribution,
    /// `pn_min_memory`; 0 per node is all memory.
    pub memory: Memory,
    /// Nodes of `-w`, in slurm.conf's order.
    pub named_nodes: Vec<usize>,
    /// Nodes of `-x`, in slurm.conf's order.
    pub excluded: Vec<usize>,
}

impl Details {
    /// slurmctld's record of a line.
    pub(super) fn of(
        cluster: &Cluster,
        client: Client,
        options: &LineOptions,
    ) -> Result<Self, JobRefusal> {
        let sent = Sent::of(cluster.line, client, options, Variables::default());
        let sent = sent.map_err(JobRefusal::Client)?;
        let mut named_nodes = positions(cluster, &sent.names)?;
        let mut excluded = positions(cluster, &options.excluded_names)?;
        if options.contiguous {
            fill_gaps(&mut named_nodes);
        }
        let nodes = Nodes::of(cluster.line, &sent, named_nodes.len() as u32)?;
        if named_nodes
            .iter()
            .any(|node| excluded.binary_search(node).is_ok())
        {
            return Err(JobRefusal::WantedAndExcluded);
        }
        if cluster.line > SlurmLine::V22_05 && named_nodes.len() as u32 > nodes.least {
            // More nodes than are due: the job keeps to them, and need not have them all.
            let all = 0..cluster.nodes.len();
            excluded = all
                .filter(|at| named_nodes.binary_search(at).is_err())
                .collect();
            named_nodes.clear();
        }
        let mut details = Self::copied(cluster, options, &sent, nodes);
        details.client = client;
        details.named_nodes = named_nodes;
        details.excluded = excluded;
        details.derive(cluster);
        Ok(details)
    }

    fn copied(cluster: &Cluster, options: &LineOptions, sent: &Sent, nodes: Nodes) -> Self {
        let each = options.cpus_per_task.unwrap_or(1).max(1);
        let limit = |most: u32| (most > 0 && most != NO_LIMIT).then_some(most);
        let one_a_core = cluster.select.one_task_per_core.then_some(1);
        let per_core = sent.tasks_per_core.or(one_a_core).and_then(limit);
        let given = options.core_spec.is_given() && cluster.select.allow_spec_usage;
        Self {
            submitted_cpus: nodes.min_cpus,
            min_cpus: nodes.min_cpus,
            min_nodes: nodes.least,
            max_nodes: nodes.most,
            tasks: nodes.tasks.unwrap_or(0),
            client: Client::Salloc,
            sent_tasks: sent.tasks,
            each,
            each_given: options.cpus_per_task.is_some(),
            node_cpus: sent.cpus_per_node.unwrap_or(1).max(1),
            per_node: sent.tasks_per_node,
            per_socket: sent.tasks_per_socket,
            per_core,
            sent_per_core: sent.tasks_per_core.and_then(limit),
            per_core_of_node: per_core.or(one_a_core),
            sockets: sent.sockets,
            cores: sent.cores,
            threads: sent.threads,
            overcommit: options.overcommit,
            whole: options.sharing == Sharing::Exclusive || given,
            spread: options.spread,
            use_min_nodes: options.use_min_nodes,
            contiguous: options.contiguous,
            core_spec: if given {
                options.core_spec
            } else {
                CoreSpec::None
            },
            distribution: options.distribution,
            memory: memory(cluster, options),
            named_nodes: Vec::new(),
            excluded: Vec::new(),
        }
    }

    /// Derives numbers from others of the record.
    fn derive(&mut self, cluster: &Cluster) {
        let linear = cluster.select.unit == Unit::Node;
        self.whole |= cluster.partition.whole_nodes || linear;
        if let Some(each) = self.per_node.filter(|_| !self.overcommit && self.tasks > 1) {
            self.node_cpus = self.node_cpus.max(self.each.saturating_mul(each));
        }
        self.node_cpus = self.node_cpus.max(self.each);
        if self.spread && self.max_nodes == 0 && self.tasks > 0 {
            self.max_nodes = self.tasks.min(cluster.nodes.len() as u32);
        } else if cluster.line == SlurmLine::V26_05 && self.max_nodes == 0 {
            self.max_nodes = self.tasks;
            self.use_min_nodes |= self.tasks > 0;
        }
        // `_job_test`: with -O the CPUs are only the nodes, and each shape that is asked for.
        if self.overcommit && self.min_cpus == self.min_nodes && !linear {
            let shape = [self.threads, self.cores, self.sockets];
            for count in shape.into_iter().flatten() {
                self.min_cpus = self.min_cpus.saturating_mul(count.max(1));
            }
        }
    }

    /// CPUs that the job may use on each core of a node (`common_cpus_per_core`).
    pub(super) fn cpus_per_core(&self, of_node: u32) -> u32 {
        let by_tasks = self.per_core.map(|most| most.saturating_mul(self.each));
        let most = by_tasks.into_iter().chain(self.threads).min();
        most.map_or(of_node, |most| most.min(of_node)).max(1)
    }

    /// Cores that a task has for itself, where one task a core needs more than one.
    pub(super) fn cores_of_task(&self, cpus_per_core: u32) -> Option<u32> {
        let several = self.per_core == Some(1) && self.each > cpus_per_core;
        several.then(|| self.each.div_ceil(cpus_per_core))
    }

    /// Whether `--core-spec` or `--thread-spec` holds.
    pub(super) fn has_core_spec(&self) -> bool {
        self.core_spec.is_given()
    }
}

/// Counts of nodes, tasks and CPUs while slurmctld derives them.
struct Nodes {
    tasks: Option<u32>,
    min_cpus: u32,
    least: u32,
    most: u32,
}

impl Nodes {
    fn of(line: SlurmLine, sent: &Sent, named_nodes: u32) -> Result<Self, JobRefusal> {
        let is_newer = line > SlurmLine::V22_05;
        let names = sent.names.len() as u32;
        let (mut least, most) = match sent.nodes {
            Some(range) if is_newer => (Some(range.0), range.1),
            None if is_newer => (Some(names.max(1)), 0),
            Some((least, most)) => (Some(least.max(names)), most),
            None => ((names > 0).then_some(names), 0),
        };
        let by_node = sent.tasks_per_node.zip(least);
        let tasks = sent
            .tasks
            .or(by_node.map(|(each, least)| each.saturating_mul(least)));
        let mut min_cpus = sent.min_cpus;
        if let Some(tasks) = tasks.filter(|tasks| !sent.overcommit && *tasks > min_cpus) {
            min_cpus = tasks.saturating_mul(sent.each.unwrap_or(1));
        }
        if named_nodes > 0 && !is_newer {
            least = least.map(|least| least.max(named_nodes));
            min_cpus = min_cpus.max(named_nodes);
        }
        let least = least.unwrap_or(1);
        if least == 0 || (most > 0 && least > most) {
            return Err(JobRefusal::NodeCount);
        }
        Ok(Self {
            tasks,
            min_cpus,
            least,
            most,
        })
    }
}

/// Positions of the nodes of these names, in slurm.conf's order, each once.
fn positions(cluster: &Cluster, names: &[String]) -> Result<Vec<usize>, JobRefusal> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let numbered = cluster.nodes.iter().enumerate();
    let known: HashMap<&str, usize> = numbered
        .map(|(at, node)| (node.name.as_str(), at))
        .collect();
    let position = |name: &String| known.get(name.as_str()).copied();
    let found: Result<BTreeSet<_>, _> = names
        .iter()
        .map(|name| position(name).ok_or_else(|| JobRefusal::UnknownNode(name.clone())))
        .collect();
    Ok(found?.into_iter().collect())
}

fn memory(cluster: &Cluster, options: &LineOptions) -> Memory {
    let requested = options.memory.or(cluster.partition.default_memory);
    match requested.unwrap_or(Memory::PerNode(0)) {
        Memory::PerCpu(0) => Memory::PerNode(0),
        other => other,
    }
}

/// `--contiguous`: all nodes between those of `-w` are wanted too.
fn fill_gaps(named_nodes: &mut Vec<usize>) {
    if let (Some(&first), Some(&last)) = (named_nodes.first(), named_nodes.last()) {
        *named_nodes = (first..=last).collect();
    }
}
