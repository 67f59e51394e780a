//! srun's request for a step (`_opt_verify`, `job_step_create_allocation`, `_set_ntasks`,
//! `_create_job_step_create_request`), and the job as its steps see it: the CPUs of each node, counted in slurmctld's
//! several ways (`build_job_resources_cpu_array`, `_step_alloc_lps`).
//! In: a line's options, and the job's grant. Out: the numbers of the message to slurmctld. Pure.

use crate::controller::JobCpus;
use crate::controller::select::answer::{
    ClientRefusal, Gap, GrantedNode, JobGrant, StepAnswer, StepRefusal,
};
use crate::controller::select::client::{NO_LIMIT, Sent, Variables};
use crate::controller::select::cluster::{
    Cluster, ClusterNode, Memory, SlurmLine, Specialised, Unit,
};
use crate::controller::select::options::{Client, LineOptions, NodeRange, Sharing};
use crate::request::distribution::{AcrossHosts, Distribution};

/// A job with its steps.
pub(in crate::controller::select) struct Job<'a> {
    pub cluster: &'a Cluster,
    pub grant: &'a JobGrant,
    pub nodes: &'a [GrantedNode],
    /// CPUs of each node as srun is told (`cpu_array_value`).
    pub values: Vec<u32>,
    /// All CPUs of the job (`total_cpus`).
    pub all_cpus: u32,
}

impl<'a> Job<'a> {
    pub(in crate::controller::select) fn new(cluster: &'a Cluster, grant: &'a JobGrant) -> Self {
        let count = grant.nodes.len();
        let mut job = Self {
            cluster,
            grant,
            nodes: &grant.nodes,
            values: Vec::with_capacity(count),
            all_cpus: 0,
        };
        job.values = (0..count).map(|at| job.value(at)).collect();
        job.all_cpus = (0..count).map(|at| job.total(at)).sum();
        job
    }

    pub(in crate::controller::select) fn node(&self, at: usize) -> &'a ClusterNode {
        &self.cluster.nodes[self.nodes[at].node]
    }

    /// Memory of the job on the node, in MiB, where slurmctld hands out memory per CPU.
    pub(in crate::controller::select) fn memory(&self, at: usize) -> u64 {
        match self.grant.record.memory {
            Memory::PerCpu(each) => each.saturating_mul(self.values[at].into()),
            Memory::PerNode(0) => self.node(at).memory,
            Memory::PerNode(memory) => memory,
        }
    }

    fn value(&self, at: usize) -> u32 {
        let (cpus, of_core) = (self.nodes[at].cpus, self.node(at).cpus_per_core());
        match self.grant.record.threads_per_core {
            Some(threads) if self.counts_cores() && threads < of_core => cpus / of_core * threads,
            _ => cpus,
        }
    }

    fn counts_cores(&self) -> bool {
        matches!(self.cluster.select.unit, Unit::Core | Unit::Socket)
    }

    fn total(&self, at: usize) -> u32 {
        let (granted, node) = (&self.nodes[at], self.node(at));
        let of_core = node.cpus_per_core();
        if self.grant.record.whole_nodes && self.cluster.select.unit != Unit::Node {
            let special = match &node.specialised {
                Specialised::None => 0,
                Specialised::Count(count) => *count,
                Specialised::Cores(cores) => cores.count() as u32,
            };
            return node.cpus.saturating_sub(special.saturating_mul(of_core));
        }
        if self.cluster.select.unit != Unit::Socket {
            return granted.cpus;
        }
        let each = node.cores_per_socket;
        let sockets = (0..node.sockets).filter(|at| {
            let range = at * each..(at + 1) * each;
            granted.cores.count_in(range) > 0
        });
        sockets.count() as u32 * each * of_core
    }
}

/// A step's request as slurmctld gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controller::select) struct StepRequest {
    pub tasks: u32,
    /// `cpu_count`.
    pub cpus: u32,
    pub min_nodes: u32,
    pub max_nodes: u32,
    /// Nodes of `-w`, by their position in the job.
    pub named_nodes: Vec<usize>,
    pub per_node: Option<u32>,
    /// Tasks of a core, where 24.11 or later knows a limit.
    pub per_core: Option<u32>,
    /// `-c`, also from the job's variables.
    pub each: Option<u32>,
    pub threads: Option<u32>,
    pub distribution: Distribution,
    pub memory: Option<Memory>,
    pub overcommit: bool,
    pub overlap: bool,
    /// Whether the step gets all that the job has on its nodes.
    pub whole: bool,
}

impl StepRequest {
    /// The step that srun starts in its own job.
    pub(in crate::controller::select) fn own(
        cluster: &Cluster,
        options: &LineOptions,
        job: &Job<'_>,
    ) -> Result<Self, StepAnswer> {
        let count = job.nodes.len() as u32;
        let sent = sent(cluster, options, Variables::default())?;
        let distribution = distribution(cluster, options.distribution);
        let (tasks, given) = tasks(&sent, options, job, count)?;
        let cpus = match (options.cpus_per_task, given) {
            (Some(each), _) => tasks.saturating_mul(each),
            (None, true) if !options.overcommit => tasks,
            (None, _) => job.values.iter().sum(),
        };
        let whole = !is_exact(options);
        // Later lines know that the job has these nodes.
        let named_nodes = match cluster.line {
            SlurmLine::V22_05 => named_nodes(cluster, &sent, job)?,
            _ => Vec::new(),
        };
        Ok(Self {
            tasks,
            cpus,
            per_core: per_core(cluster, sent.tasks_per_core),
            each: options.cpus_per_task,
            min_nodes: count,
            max_nodes: count,
            named_nodes,
            per_node: sent.tasks_per_node,
            threads: sent.threads,
            distribution,
            memory: options.memory.or(cluster.partition.default_memory),
            overcommit: options.overcommit,
            overlap: options.overlap,
            whole,
        })
    }

    /// A step inside a job of salloc or sbatch, which pass some options on as variables.
    pub(in crate::controller::select) fn inside(
        cluster: &Cluster,
        job_options: &LineOptions,
        grant: &JobGrant,
        options: &LineOptions,
        job: &Job<'_>,
    ) -> Result<Self, StepAnswer> {
        if !options.excluded_names.is_empty() {
            return Err(StepAnswer::NotModelled(Gap::StepExcludes));
        }
        let variables = Variables {
            step: true,
            tasks: options.tasks.is_none() && grant.record.tasks_given.is_some(),
            nodes: options.nodes.is_none(),
        };
        let of_job = grant.record.tasks_per_core;
        let limit = options.tasks_per_core.or(of_job);
        let options = inherited(cluster, job_options, grant, options);
        let sent = sent(cluster, &options, variables)?;
        if per_core(cluster, limit)
            .zip(sent.threads)
            .is_some_and(|(tasks, threads)| tasks > threads)
        {
            let why = StepRefusal::Client(ClientRefusal::TasksPerCore);
            return Err(StepAnswer::Refused(why));
        }
        let count = job.nodes.len() as u32;
        let (least, most) = sent.nodes.unwrap_or((count, count));
        let most = if most == 0 { least } else { most };
        let nodes = most.min(count);
        if least > nodes {
            return Err(StepAnswer::Refused(StepRefusal::TooManyNodes));
        }
        let (tasks, _) = tasks(&sent, &options, job, nodes)?;
        let min_nodes = if least > 0 { least.min(nodes) } else { nodes };
        let cpus = match (options.overcommit, options.cpus_per_task) {
            (true, _) => min_nodes,
            (false, Some(each)) => tasks.saturating_mul(each),
            (false, None) => tasks,
        };
        let named_nodes = named_nodes(cluster, &sent, job)?;
        Ok(Self {
            tasks,
            cpus,
            per_core: per_core(cluster, limit),
            each: options.cpus_per_task,
            min_nodes,
            max_nodes: nodes,
            named_nodes,
            per_node: sent.tasks_per_node,
            threads: sent.threads,
            distribution: options.distribution,
            memory: options.memory,
            overcommit: options.overcommit,
            overlap: options.overlap,
            whole: !is_exact(&options),
        })
    }
}

/// `-c` makes a step exact too, unless `-O` does not let srun look at it.
fn is_exact(options: &LineOptions) -> bool {
    let by_count = options.cpus_per_task.is_some() && !options.overcommit;
    options.exact || options.sharing == Sharing::Exclusive || by_count
}

fn per_core(cluster: &Cluster, limit: Option<u32>) -> Option<u32> {
    limit.filter(|most| cluster.line > SlurmLine::V22_05 && *most < NO_LIMIT)
}

fn sent(
    cluster: &Cluster,
    options: &LineOptions,
    variables: Variables,
) -> Result<Sent, StepAnswer> {
    Sent::of(cluster.line, Client::Srun, options, variables)
        .map_err(|why| StepAnswer::Refused(StepRefusal::Client(why)))
}

/// `CR_Pack_Nodes` packs blocks.
fn distribution(cluster: &Cluster, requested: Distribution) -> Distribution {
    let blocks = matches!(requested.hosts, AcrossHosts::Block | AcrossHosts::Unknown);
    let pack = cluster.select.pack_nodes && blocks && requested.pack.is_none();
    Distribution {
        pack: if pack { Some(true) } else { requested.pack },
        ..requested
    }
}

/// The step's options with what the job's variables add: `SLURM_NTASKS`, `SLURM_JOB_NUM_NODES`,
/// `SLURM_NTASKS_PER_NODE`, `SLURM_DISTRIBUTION`, `SLURM_THREADS_PER_CORE`, `SLURM_OVERCOMMIT`,
/// `SLURM_MEM_PER_…`, and since 23.11 `SLURM_CPUS_PER_TASK`.
fn inherited(
    cluster: &Cluster,
    job_options: &LineOptions,
    grant: &JobGrant,
    options: &LineOptions,
) -> LineOptions {
    let record = &grant.record;
    let mut all = options.clone();
    let is_default = options.distribution == Distribution::default();
    let from = if is_default { job_options } else { options };
    all.distribution = distribution(cluster, from.distribution);
    let count = grant.nodes.len() as u32;
    let by_variable = NodeRange {
        least: if all.distribution.pack == Some(true) {
            1
        } else {
            count
        },
        most: Some(count),
    };
    all.nodes = options.nodes.or(Some(by_variable));
    all.tasks = options.tasks.or(record.tasks_given);
    all.tasks_per_node = options.tasks_per_node.or(record.tasks_per_node);
    if cluster.line > SlurmLine::V22_05 {
        all.cpus_per_task = options.cpus_per_task.or(record.cpus_per_task);
    }
    if !options.hinted {
        all.threads_per_core = options.threads_per_core.or(record.threads_per_core);
    }
    all.overcommit |= record.overcommit;
    let of_job = job_options.memory.or(cluster.partition.default_memory);
    all.memory = options.memory.or(of_job);
    all
}

/// The number of tasks, and whether it is given or follows from options.
fn tasks(
    sent: &Sent,
    options: &LineOptions,
    job: &Job<'_>,
    nodes: u32,
) -> Result<(u32, bool), StepAnswer> {
    let is_newer = job.cluster.line > SlurmLine::V22_05;
    let settled = !is_newer || sent.tasks_given || sent.tasks_per_node.is_none();
    if let Some(tasks) = sent.tasks.filter(|_| settled) {
        return Ok((tasks, true));
    }
    let (count, given) = match (sent.tasks_per_node, options.cpus_per_task) {
        (Some(each), _) => (nodes.saturating_mul(each), true),
        (None, Some(each)) if is_newer => {
            return match most_tasks(sent, job, each, nodes) {
                0 => Err(StepAnswer::Refused(StepRefusal::TooManyCpus)),
                tasks => Ok((tasks, true)),
            };
        }
        (None, Some(each)) => {
            let nodes = (0..).zip(&job.values);
            let tasks = nodes.map(|(at, cpus)| job_cpus(job, at, *cpus).tasks(each, None));
            (tasks.sum(), true)
        }
        (None, None) => (0, false),
    };
    Ok((count.max(nodes), given))
}

/// The most tasks that the nodes of the step can hold; 24.11 and later let slurmctld count them.
fn most_tasks(sent: &Sent, job: &Job<'_>, each: u32, nodes: u32) -> u32 {
    let threads = sent.threads.or(job.grant.record.threads_per_core);
    let of_node = |at| job_cpus(job, at, job.nodes[at].cpus).tasks(each, threads);
    let mut tasks: Vec<u32> = (0..job.nodes.len()).map(of_node).collect();
    tasks.sort_unstable_by_key(|tasks| std::cmp::Reverse(*tasks));
    tasks.iter().take(nodes as usize).sum()
}

fn job_cpus(job: &Job<'_>, at: usize, cpus: u32) -> JobCpus {
    JobCpus {
        cpus,
        of_core: job.node(at).cpus_per_core(),
    }
}

fn named_nodes(cluster: &Cluster, sent: &Sent, job: &Job<'_>) -> Result<Vec<usize>, StepAnswer> {
    let position = |name: &String| {
        let names = job.nodes.iter().map(|node| &cluster.nodes[node.node].name);
        names.into_iter().position(|known| known == name)
    };
    let found: Option<Vec<_>> = sent.names.iter().map(position).collect();
    let mut found = found.ok_or(StepAnswer::Refused(StepRefusal::NodeConfiguration))?;
    found.sort_unstable();
    Ok(found)
}
