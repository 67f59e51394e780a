//! The cluster that slurmctld's model is asked about: the one that `--cluster` names, the node with
//! berth on which the user is, or assumed idle nodes like the machine.
//!
//! A step inside the job in which the command runs: on the job's own cores, as slurmctld would give
//! them to the step while no other step runs.

use berth_placement::controller::select::{
    self, Cluster, ClusterNode, CoreSet, GrantedNode, JobGrant, JobRecord, LineOptions, Memory,
    Partition, Select, SlurmLine,
};
use berth_placement::sets::limits::MAX_CLUSTER_NODES;
use berth_placement::{CoreIdx, CpuSet, Node, counted};
use berth_srun::Release;
use berth_srun::conf::{Chosen, Config};
use berth_srun::node_lists::natural;
use berth_srun::reading::selection::Selection;

use super::{nodes, of_step};
use crate::lines::NoAnswer;
use crate::plan::owns::cores_of;
use crate::world::{OwnJob, Part};
use crate::{By, Fact, Question, world};

/// MiB of memory that no request asks for.
const MUCH: u64 = 1 << 40;

/// A cluster, and what is said of it.
pub(super) struct ClusterModel {
    pub cluster: Cluster,
    /// Its value is empty until the cores are known.
    pub fact: Fact,
    /// Whether its nodes are only assumed, as many as the request names.
    pub is_assumed: bool,
}

/// Finds it.
///
/// # Errors
/// [`NoAnswer`]: a configuration that cannot be read or has no such partition, and what is not
/// modelled.
pub(super) fn model(
    args: &Question,
    on: &Node,
    wanted: &Selection,
) -> Result<ClusterModel, NoAnswer> {
    let mut model = match &args.standing.cluster {
        Some(found) => named(args, found, wanted)?,
        None => assumed(args, on, wanted)?,
    };
    if args.gives_whole_nodes() {
        model.cluster.partition.whole_nodes = true;
    }
    Ok(model)
}

fn named(
    args: &Question,
    found: &world::ClusterConfig,
    wanted: &Selection,
) -> Result<ClusterModel, NoAnswer> {
    let config = found
        .as_ref()
        .map_err(|why| NoAnswer::Failed(format!("--cluster: {why}")))?;
    let chosen = choose(config, wanted, args.srun.release)?;
    let count = chosen.cluster.nodes.len();
    let text = args.cluster.as_deref().unwrap_or_default();
    let nodes = counted(count, "idle node");
    let source = format!(
        "slurmctld's choice on {nodes} of partition {}, --cluster {text}{}",
        chosen.partition,
        rules_of(args.srun.release)
    );
    Ok(ClusterModel {
        fact: Fact::new("allocation", String::new(), By::Found, source),
        cluster: chosen.cluster,
        is_assumed: false,
    })
}

/// The partition of the line, if everything about it is modelled.
fn choose(config: &Config, wanted: &Selection, release: Release) -> Result<Chosen, NoAnswer> {
    let partition = wanted.partition.as_deref();
    if partition.is_some_and(|names| names.contains(',')) {
        return Err(NoAnswer::NotModelled("-p with several partitions".into()));
    }
    let chosen = config.choose(partition, release.modelled());
    let chosen = chosen.map_err(|why| match why.why.strip_prefix("not modelled: ") {
        Some(what) => NoAnswer::NotModelled(what.into()),
        None => NoAnswer::Refused(format!("slurmctld refuses the job: {}", why.why)),
    })?;
    match chosen.unmodelled.as_slice() {
        [] => Ok(chosen),
        settings => Err(NoAnswer::NotModelled(format!(
            "{} of partition {}",
            settings.join(", "),
            chosen.partition
        ))),
    }
}

/// Idle nodes like the machine. On a node with berth slurm.conf says what slurmctld hands out.
fn assumed(args: &Question, on: &Node, wanted: &Selection) -> Result<ClusterModel, NoAnswer> {
    let node = args.standing.node.as_ref();
    let config = node.and(args.standing.config_of_node.as_ref());
    let (select, partition, how) = match (&args.select, config) {
        (Some(words), _) => (
            of_words(words, args.srun.release)?,
            Partition::default(),
            words.clone(),
        ),
        (None, Some(config)) => {
            let chosen = choose(config, wanted, args.srun.release)?;
            let how = format!("partition {} of slurm.conf", chosen.partition);
            (chosen.cluster.select, chosen.cluster.partition, how)
        }
        (None, None) => (Select::default(), Partition::default(), "CR_Core".into()),
    };
    let whole = if args.gives_whole_nodes() {
        ", jobs with whole nodes (--site exclusive)"
    } else {
        ""
    };
    let names = names(args, wanted, node.map(|node| node.name.as_str()));
    let nodes: Vec<_> = names.iter().map(|name| like(on, name)).collect();
    let count = match nodes.len() {
        1 => "one idle node".into(),
        several => format!("{several} idle nodes like it"),
    };
    let source = format!(
        "slurmctld's choice on {count} under {how}{whole}{}; --cores all is the whole node",
        rules_of(args.srun.release)
    );
    Ok(ClusterModel {
        cluster: Cluster {
            nodes,
            select: Select {
                block_by_default: select.block_by_default || on.rules().block_by_default,
                ..select
            },
            line: args.srun.release.modelled(),
            partition,
        },
        fact: Fact::new("allocation", String::new(), By::Assumed, source),
        is_assumed: true,
    })
}

/// An idle node like the machine, as slurmd counts it.
pub(super) fn like(on: &Node, name: &str) -> ClusterNode {
    let shape = on.shape();
    let (sockets, cores, threads) = (shape.sockets, shape.cores, shape.threads.max(1));
    let mut node = ClusterNode::idle(name, sockets, cores, threads);
    // Nobody said how much it has, and --mem is about another question than cores.
    node.memory = MUCH;
    if shape.cpus_are_cores {
        node.cpus = sockets * cores;
    }
    node
}

/// `--select`, as slurm.conf has it.
fn of_words(words: &str, release: Release) -> Result<Select, NoAnswer> {
    let (kind, words) = match words.trim_start_matches("select/") {
        "linear" => ("linear", String::new()),
        words => ("cons_tres", format!("SelectTypeParameters={words}\n")),
    };
    let text = format!(
        "SelectType=select/{kind}\n{words}NodeName=n Sockets=1 CoresPerSocket=1 ThreadsPerCore=1\n\
         PartitionName=p Nodes=n Default=YES\n"
    );
    let mut none = |_: &str| Err(String::new());
    let config = Config::read("--select", &text, &mut none);
    let chosen = config.and_then(|config| config.choose(None, release.modelled()));
    chosen
        .map(|chosen| chosen.cluster.select)
        .map_err(|why| NoAnswer::Failed(format!("--select: {}", why.why)))
}

/// The names of the assumed nodes: those of `-w`, and as many as `-N` asks for, else one.
fn names(args: &Question, wanted: &Selection, here: Option<&str>) -> Vec<String> {
    let mut names = match wanted.options.node_names.as_slice() {
        [] => here.map(String::from).into_iter().collect(),
        named => named.to_vec(),
    };
    names.sort_by_key(|name| natural(name));
    names.dedup();
    let nodes = wanted.options.nodes;
    let requested = nodes.map_or(1, |nodes| nodes.most.unwrap_or(nodes.least));
    let least = requested.max(args.assumed_nodes).max(1) as usize;
    // One too many is enough to say that they are too many.
    let more = least.min(MAX_CLUSTER_NODES + 1).saturating_sub(names.len());
    names.extend((0..more).map(|number| format!("node{number}")));
    names
}

/// Said where another line's rules stand for the release's.
fn rules_of(release: Release) -> String {
    let line = match release.modelled() {
        SlurmLine::V22_05 => Release::V22_05,
        SlurmLine::V24_11 => Release::V24_11,
        SlurmLine::V26_05 => Release::V26_05,
    };
    match line == release {
        true => String::new(),
        false => format!(", by the rules of Slurm {line}"),
    }
}

/// A node of the job with its cores.
type JobNode = (String, Vec<CoreIdx>);

/// Asks for the step.
///
/// # Errors
/// [`NoAnswer`], with what would happen instead of a start.
pub(super) fn granted(
    args: &Question,
    on: &Node,
    wanted: &Selection,
    job: &OwnJob,
) -> Result<nodes::Granted, NoAnswer> {
    let (nodes, fact) = nodes_of(args, on, job);
    let cluster = Cluster {
        nodes: nodes.iter().map(|(name, _)| like(on, name)).collect(),
        select: Select::default(),
        line: args.srun.release.modelled(),
        partition: Partition::default(),
    };
    let granted = |(node, (_, cores)): (usize, &JobNode)| {
        let mut set = CoreSet::new();
        cores.iter().for_each(|core| set.insert(core.0));
        GrantedNode {
            node,
            cores: set,
            cpus: cores.len() as u32 * cluster.nodes[node].cpus_per_core(),
        }
    };
    let grant = JobGrant {
        nodes: nodes.iter().enumerate().map(granted).collect(),
        nodes_assumed: false,
        tasks: wanted.options.tasks.unwrap_or(1),
        record: JobRecord {
            tasks_given: None,
            cpus_per_task: None,
            threads_per_core: None,
            tasks_per_node: None,
            tasks_per_core: None,
            whole_nodes: false,
            overcommit: false,
            memory: Memory::PerNode(0),
        },
    };
    // Options that sbatch passes on by variables are in the request already.
    let passed = LineOptions::default();
    let step = select::step_inside(&cluster, &passed, &grant, &wanted.options);
    let made = nodes::Made {
        cluster: &cluster,
        job: &grant,
        step: &of_step(step)?,
    };
    let is_named = nodes.len() > 1 || args.srun.nodelist.is_some();
    Ok(made.granted(on, is_named, fact))
}

/// The job's nodes with its cores. Where slurmctld did not answer, only this one is known.
fn nodes_of(args: &Question, on: &Node, job: &OwnJob) -> (Vec<JobNode>, Fact) {
    let threads = on.shape().threads.max(1);
    let fact = |value: String, by, how: String| Fact::new("allocation", value, by, how);
    if job.nodes.len() > 1 {
        let cores = |cpus: &CpuSet| Part::Abstract(cpus.clone()).cores(threads, |_| None);
        let nodes = job.nodes.iter();
        let nodes: Vec<_> = nodes
            .map(|node| (node.name.clone(), cores(&node.cpus)))
            .collect();
        let value = format!("cores of job {} on {} nodes", job.id, nodes.len());
        let how = format!(
            "scontrol show job -d {}; every node is assumed to be like this one",
            job.id
        );
        return (nodes, fact(value, By::Found, how));
    }
    let named = args.standing.variable("SLURMD_NODENAME");
    let here = named.unwrap_or_else(|| "node0".into());
    let (cores, fact) = match &job.part {
        Some((part, how)) => {
            let fact = fact(String::new(), By::Found, how.clone());
            (cores_of(part, on), fact)
        }
        None => {
            let all = (0..on.table().cores.len() as u32).map(CoreIdx).collect();
            let why = format!("job {} does not show its cores: {}", job.id, job.unknown);
            (all, fact("the whole node".into(), By::Assumed, why))
        }
    };
    (vec![(here, cores)], fact)
}
