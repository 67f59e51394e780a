//! A cluster's configuration: slurm.conf, or what scontrol shows of a cluster that runs.
//! In: texts that anybody may have written; [`text::Files`] gives included files. Out: [`Config`], and
//! from it the [`Cluster`] of one partition. Pure; each error has its file and line.

mod binds;
mod nodes;
mod partitions;
mod reading;
mod select;
pub mod text;

use std::collections::HashMap;
use std::ops::Range;

use berth_placement::CpuBind;
use berth_placement::controller::select::{Cluster, ClusterNode, Memory, SlurmLine};
use berth_placement::sets::limits::MAX_CLUSTER_NODES;

use crate::node_lists::expand;
pub use binds::{BindFrom, DefaultBind};
use nodes::MOST_NAMES;
use partitions::Part;
use reading::{Reading, constrain_cores};
pub use text::{ConfError, Files};
use text::{Place, lines};

/// Whether jobs can get a node.
type Usable = bool;

/// A `NodeSet` line.
#[derive(Clone, Debug)]
struct NodeSet {
    place: Place,
    nodes: String,
    feature: Option<String>,
}

/// Nodes of which a partition's list has been read.
struct Members {
    is_in: Vec<bool>,
    /// Names that may still be looked at: node sets can name every node again and again.
    left: usize,
}

/// A configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    nodes: Vec<(ClusterNode, Usable)>,
    by_name: HashMap<String, usize>,
    /// The features of nodes, by ranges of positions.
    features: Vec<(Range<usize>, String)>,
    /// The default bindings of nodes, by ranges of positions.
    binds: Vec<(Range<usize>, CpuBind)>,
    /// `Parameters` of nodes.
    parameters: nodes::OfNodes,
    sets: HashMap<String, NodeSet>,
    parts: Vec<Part>,
    words: select::Words,
    memory: Option<Memory>,
    /// `MaxMemPerCPU` for all partitions.
    limits_memory: bool,
    cpus_per_gpu: Option<String>,
    /// A plugin of Slurm's own names all partitions for jobs that name none (`job_submit/all_partitions`).
    changes_partitions: bool,
    /// `TaskPlugin`, as it is written.
    pub task_plugin: Option<String>,
    /// `TaskPluginParam`, as it is written.
    pub task_plugin_param: Option<String>,
    /// `SlurmdParameters`, as it is written.
    slurmd_parameters: Option<String>,
    /// `ConstrainCores=yes` in cgroup.conf.
    constrain_cores: bool,
    /// `PreemptType`, as it is written.
    pub preempt_type: Option<String>,
    /// `PreemptMode`, as it is written.
    pub preempt_mode: Option<String>,
    /// `AccountingStorageEnforce`, as it is written.
    pub accounting_enforce: Option<String>,
    /// `JobAcctGatherType`, as it is written.
    pub job_acct_gather_type: Option<String>,
    /// `PlugStackConfig`, as it is written.
    pub plug_stack_config: Option<String>,
    /// The slurm.conf that slurmctld reads, of a cluster that runs.
    pub slurm_conf: Option<String>,
    /// The release of a cluster that runs, as `22.05.8`.
    pub version: Option<String>,
}

/// A partition that has a certain node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// `OverSubscribe=FORCE:N`: its jobs may get cores that jobs of other partitions have, and N of its own jobs may
    /// share a core. `FORCE` alone is `FORCE:4`.
    pub forced: Option<u32>,
    /// `PriorityTier`.
    pub tier: u32,
    /// `MaxCPUsPerNode`.
    pub max_cpus_per_node: Option<u32>,
    /// Whether a job has whole cores there, and slurmctld counts only the CPUs of them that it asked for (`CR_CPU`).
    pub counts_cpus: bool,
}

/// One partition with its nodes, as the model takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The partition's name.
    pub partition: String,
    /// Its nodes that take jobs, idle.
    pub cluster: Cluster,
    /// Settings that would change an answer and that the model does not have.
    pub unmodelled: Vec<String>,
}

impl Config {
    /// Reads a slurm.conf. `file` names it in errors.
    ///
    /// # Errors
    /// A line that Slurm would not take, or a bound.
    pub fn read(file: &str, text: &str, files: &mut Files<'_>) -> Result<Self, ConfError> {
        let mut reading = Reading::default();
        lines(file, text, files, &mut |line| reading.line(line))?;
        reading.end()
    }

    /// Reads what scontrol shows: `show config`, `show nodes -o` and `show partition -o`.
    ///
    /// # Errors
    /// A line that scontrol would not print, or a bound.
    pub fn shown(config: &str, nodes: &str, partitions: &str) -> Result<Self, ConfError> {
        let mut reading = Reading::default();
        for (command, text) in [
            ("scontrol show config", config),
            ("scontrol show nodes", nodes),
            ("scontrol show partition", partitions),
        ] {
            select::shown(command, text, &mut |line| reading.line(line))?;
        }
        reading.end()
    }

    /// Adds a cgroup.conf, of which only `ConstrainCores` counts. `file` names it in errors.
    ///
    /// # Errors
    /// A line that Slurm would not take.
    pub fn add_cgroup_conf(&mut self, file: &str, text: &str) -> Result<(), ConfError> {
        let mut found = self.constrain_cores;
        lines(file, text, &mut |_: &str| Ok(String::new()), &mut |line| {
            found = constrain_cores(&line).unwrap_or(found);
            Ok(())
        })?;
        self.constrain_cores = found;
        Ok(())
    }

    /// Whether a step's cgroup has only the CPUs that slurmd counts: task/cgroup with
    /// `ConstrainCores=yes`.
    #[must_use]
    pub fn constrains_cores(&self) -> bool {
        let list = self.task_plugin.as_deref().unwrap_or_default();
        let mut names = list.split(',').map(str::trim);
        self.constrain_cores && names.any(|name| name == "cgroup" || name == "task/cgroup")
    }

    /// Whether slurmctld checks that a user has the account of a job. Source: `_validate_accounting_storage_enforce`.
    #[must_use]
    pub fn checks_accounts(&self) -> bool {
        const WORDS: [&str; 8] = [
            "1",
            "2",
            "associations",
            "limits",
            "safe",
            "wckeys",
            "qos",
            "all",
        ];
        self.enforces(&WORDS)
    }

    /// Whether slurmctld checks that a user has the QOS of a job.
    #[must_use]
    pub fn checks_qos(&self) -> bool {
        self.enforces(&["qos", "all"])
    }

    fn enforces(&self, any: &[&str]) -> bool {
        let list = self.accounting_enforce.as_deref().unwrap_or_default();
        let mut words = list.split(',').map(str::trim);
        words.any(|word| any.iter().any(|known| word.eq_ignore_ascii_case(known)))
    }

    /// `AllowSpecResourcesUsage=yes`: without it slurmctld ignores `--core-spec` and `--thread-spec`.
    #[must_use]
    pub fn allows_spec_usage(&self) -> bool {
        self.words.allow_spec_usage
    }

    /// `SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK`.
    #[must_use]
    pub fn is_block_by_default(&self) -> bool {
        self.words.is_block_by_default()
    }

    /// The names of a partition's nodes that take jobs.
    #[must_use]
    pub fn names_of(&self, partition: Option<&str>) -> Vec<String> {
        let chosen = self.choose(partition, SlurmLine::V22_05);
        let nodes = chosen.map_or(Vec::new(), |chosen| chosen.cluster.nodes);
        nodes.into_iter().map(|node| node.name).collect()
    }

    /// Whether there is a partition of this name.
    #[must_use]
    pub fn has_partition(&self, name: &str) -> bool {
        self.part(Some(name)).is_ok()
    }

    /// The partitions that have a node. Of those whose nodes cannot be read it is not said.
    #[must_use]
    pub fn partitions_of(&self, node: &str) -> Vec<OnNode<'_>> {
        let Some(at) = self.by_name.get(node) else {
            return Vec::new();
        };
        let has = |part: &&Part| {
            let mut members = self.nobody();
            let read = self.members(&part.nodes, &part.place, &mut members, 0);
            read.is_ok() && members.is_in.get(*at) == Some(&true)
        };
        let found = self.parts.iter().filter(has);
        found
            .map(|part| OnNode {
                name: &part.name,
                forced: part.forced,
                tier: part.tier,
                max_cpus_per_node: part.rules.max_cpus_per_node,
                // A partition's own word is CR_Core or CR_Socket.
                counts_cpus: part.select.is_none() && self.words.counts_cpus(),
            })
            .collect()
    }

    fn nobody(&self) -> Members {
        Members {
            is_in: vec![false; self.nodes.len()],
            left: 4 * MAX_CLUSTER_NODES,
        }
    }

    /// The node of a name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&ClusterNode> {
        let at = *self.by_name.get(name)?;
        self.nodes.get(at).map(|(node, _)| node)
    }

    /// The name of the partition that jobs go to without `-p`.
    #[must_use]
    pub fn default_partition(&self) -> Option<&str> {
        self.part(None).ok().map(|part| part.name.as_str())
    }

    /// The partition of a name, or the one that jobs go to without `-p`, with its nodes.
    ///
    /// # Errors
    /// No such partition, or no default one; nodes of it that the configuration does not have; a
    /// SelectType that is not modelled.
    pub fn choose(&self, partition: Option<&str>, line: SlurmLine) -> Result<Chosen, ConfError> {
        let part = self.part(partition)?;
        let mut members = self.nobody();
        self.members(&part.nodes, &part.place, &mut members, 0)?;
        let nodes = self.nodes.iter().zip(members.is_in);
        let nodes = nodes.filter(|((_, usable), member)| *usable && *member);
        let mut select = self.words.select(line, &part.place)?;
        if let Some((unit, memory)) = part.select {
            (select.unit, select.memory) = (unit, memory);
        }
        let mut rules = part.rules;
        rules.default_memory = rules.default_memory.or(self.memory);
        Ok(Chosen {
            partition: part.name.clone(),
            cluster: Cluster {
                nodes: nodes.map(|((node, _), _)| node.clone()).collect(),
                select,
                line,
                partition: rules,
            },
            unmodelled: part.unmodelled.clone(),
        })
    }

    /// Whether jobs get whole nodes: in a partition with `OverSubscribe=EXCLUSIVE`, or by
    /// `select/linear`. Of several partitions, as `-p a,b` names them, each must give them.
    #[must_use]
    pub fn gives_whole_nodes(&self, partitions: Option<&str>, line: SlurmLine) -> bool {
        if self.words.is_linear(line) {
            return true;
        }
        let is_whole = |name| {
            let part = self.part(name);
            part.is_ok_and(|part| part.rules.whole_nodes)
        };
        match partitions {
            None => is_whole(None),
            Some(names) => names.split(',').all(|name| is_whole(Some(name))),
        }
    }

    fn part(&self, name: Option<&str>) -> Result<&Part, ConfError> {
        let found = match name {
            Some(name) => self.parts.iter().rfind(|part| part.name == name),
            None => self.parts.iter().rfind(|part| part.is_default),
        };
        found.ok_or_else(|| {
            let known: Vec<_> = self
                .parts
                .iter()
                .take(20)
                .map(|part| part.name.as_str())
                .collect();
            let known = known.join(", ");
            let place = Place {
                file: "the cluster".into(),
                line: 0,
            };
            place.error(&match name {
                Some(name) => format!("there is no partition {name}; there are: {known}"),
                None => format!("no partition has Default=YES; give one with -p: {known}"),
            })
        })
    }

    /// Marks the nodes of a list, which may have names of node sets, and `ALL`.
    fn members(
        &self,
        list: &str,
        place: &Place,
        members: &mut Members,
        depth: usize,
    ) -> Result<(), ConfError> {
        if list.is_empty() {
            return Ok(());
        }
        let names = expand(list, MOST_NAMES).map_err(|why| place.error(&why.to_string()))?;
        for name in names.iter().filter(|name| !name.is_empty()) {
            members.left = members.left.checked_sub(1).ok_or_else(|| {
                place.error("the partition's nodes and node sets have more names than berth takes")
            })?;
            let at = self.by_name.get(name);
            if let Some(is_in) = at.and_then(|at| members.is_in.get_mut(*at)) {
                *is_in = true;
            } else if name.eq_ignore_ascii_case("all") {
                members.is_in.fill(true);
                // One `ALL` is enough.
                members.left = members.left.saturating_sub(self.nodes.len());
            } else if let Some(set) = self.sets.get(name).filter(|_| depth == 0) {
                self.members(&set.nodes, &set.place, members, 1)?;
                self.with_feature(set.feature.as_deref(), members);
            } else {
                let why = format!("Nodes has {name}, which is neither a node nor a node set here");
                return Err(place.error(&why));
            }
        }
        Ok(())
    }

    fn with_feature(&self, feature: Option<&str>, members: &mut Members) {
        let Some(feature) = feature else {
            return;
        };
        for (nodes, features) in &self.features {
            members.left = members.left.saturating_sub(1 + features.len() / 64);
            if features.split(',').any(|known| known.trim() == feature)
                && let Some(nodes) = members.is_in.get_mut(nodes.clone())
            {
                nodes.fill(true);
            }
        }
    }
}

#[cfg(test)]
mod tests;
