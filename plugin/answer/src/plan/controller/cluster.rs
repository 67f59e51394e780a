//! The cluster that slurmctld's model is asked about: the one that `--cluster` names, the node with
//! berth on which the user is, or assumed idle nodes like the machine.

use berth_placement::controller::select::{Cluster, ClusterNode, Partition, Select, SlurmLine};
use berth_placement::sets::limits::MAX_CLUSTER_NODES;
use berth_placement::{Node, counted};
use berth_srun::Release;
use berth_srun::conf::{Chosen, Config};
use berth_srun::node_lists::natural;
use berth_srun::reading::selection::Selection;

use crate::lines::NoAnswer;
use crate::plan::gpu_options::most_tasks;
use crate::world::ClusterConfig;
use crate::{Premise, Provenance, Question};

/// MiB of memory that no request asks for.
const MUCH: u64 = 1 << 40;

/// A cluster, and what is said of it.
pub(super) struct ClusterModel {
    pub cluster: Cluster,
    /// Its value is empty until the cores are known.
    pub premise: Premise,
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
    selection: &Selection,
) -> Result<ClusterModel, NoAnswer> {
    let mut model = match &args.context.cluster {
        Some(found) => named(args, found, selection)?,
        None => assumed(args, on, selection)?,
    };
    if args.gives_whole_nodes() {
        model.cluster.partition.whole_nodes = true;
    }
    Ok(model)
}

fn named(
    args: &Question,
    found: &ClusterConfig,
    selection: &Selection,
) -> Result<ClusterModel, NoAnswer> {
    let config = found
        .as_ref()
        .map_err(|why| NoAnswer::Failed(format!("--cluster: {why}")))?;
    let chosen = choose(config, selection, args.srun.release)?;
    let count = chosen.cluster.nodes.len();
    let text = args.cluster.as_deref().unwrap_or_default();
    let nodes = counted(count, "idle node");
    let source = format!(
        "slurmctld's choice on {nodes} of partition {}, --cluster {text}{}",
        chosen.partition,
        rules_of(args.srun.release)
    );
    Ok(ClusterModel {
        premise: Premise::new("allocation", String::new(), Provenance::Found, source),
        cluster: chosen.cluster,
        is_assumed: false,
    })
}

/// The partition of the line, if everything about it is modelled.
fn choose(config: &Config, selection: &Selection, release: Release) -> Result<Chosen, NoAnswer> {
    let partition = selection.partition.as_deref();
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
fn assumed(args: &Question, on: &Node, selection: &Selection) -> Result<ClusterModel, NoAnswer> {
    let node = args.context.node.as_ref();
    let config = node.and(args.context.config_of_node.as_ref());
    let (select, partition, how) = match (&args.select, config) {
        (Some(words), _) => (
            of_words(words, args.srun.release)?,
            Partition::default(),
            words.clone(),
        ),
        (None, Some(config)) => {
            let chosen = choose(config, selection, args.srun.release)?;
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
    let names = names(args, selection, node.map(|node| node.name.as_str()));
    let most_tasks = most_tasks(args, on);
    let like = |name: &String| ClusterNode {
        most_tasks,
        ..like(on, name)
    };
    let nodes: Vec<_> = names.iter().map(like).collect();
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
        premise: Premise::new("allocation", String::new(), Provenance::Assumed, source),
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
fn names(args: &Question, selection: &Selection, here: Option<&str>) -> Vec<String> {
    let mut names = match selection.options.node_names.as_slice() {
        [] => here.map(String::from).into_iter().collect(),
        named => named.to_vec(),
    };
    names.sort_by_key(|name| natural(name));
    names.dedup();
    let nodes = selection.options.nodes;
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
