//! Takes a configuration's lines one after the other.
//! In: lines, as they are read. Out: [`Config`]. What is kept has a bound, whatever the lines hold.

use berth_placement::controller::select::ClusterNode;
use berth_placement::sets::limits::{MAX_CLUSTER_CORES, MAX_CLUSTER_NODES};

use super::nodes::{self, MOST_NAMES, Shaped};
use super::text::{ConfError, Line, MOST_BYTES};
use super::{Config, NodeSet, Usable, partitions, text};
use crate::node_lists::expand;

/// The most partitions, node sets, and lines of nodes that are down.
const MOST_PARTS: usize = 4096;

/// A configuration of which some lines were read.
#[derive(Default)]
pub(super) struct Reading {
    config: Config,
    /// The values of the lines `NodeName=DEFAULT`.
    node: Option<Line>,
    /// The values of the lines `PartitionName=DEFAULT`.
    part: Option<Line>,
    down: Vec<Line>,
    cores: u64,
    /// Bytes of lists that are kept as they are written.
    kept: usize,
}

impl Reading {
    /// Takes one line.
    pub(super) fn line(&mut self, line: Line) -> Result<(), ConfError> {
        let Some((key, name)) = line.pairs.first() else {
            return Ok(());
        };
        let is_default = name.eq_ignore_ascii_case("default");
        match key.as_str() {
            "nodename" if is_default => self.node = Some(text::merged(self.node.take(), line)?),
            "nodename" => self.add_nodes(&line)?,
            "partitionname" if is_default => {
                self.part = Some(text::merged(self.part.take(), line)?);
            }
            "partitionname" => self.add_partition(&line)?,
            "downnodes" => {
                self.keep(&line, line.value("downnodes").map_or(0, str::len))?;
                check_room(&line, self.down.len(), "lines of DownNodes")?;
                self.down.push(line);
            }
            "nodeset" => self.add_set(&line)?,
            _ => self.add_settings(&line)?,
        }
        Ok(())
    }

    /// The configuration, when all lines were read.
    pub(super) fn end(mut self) -> Result<Config, ConfError> {
        let mut names = 0;
        for line in std::mem::take(&mut self.down) {
            names += self.close(&line)?;
            if names > MAX_CLUSTER_NODES {
                let why = format!("DownNodes has more than {MAX_CLUSTER_NODES} names in all");
                return Err(line.place.error(&why));
            }
        }
        Ok(self.config)
    }

    fn keep(&mut self, line: &Line, bytes: usize) -> Result<(), ConfError> {
        self.kept = self.kept.saturating_add(bytes);
        match self.kept > MOST_BYTES {
            true => Err(line.place.error("more than 32 MiB of lists in all")),
            false => Ok(()),
        }
    }

    /// `DownNodes`: nodes that take no job, wherever they are described. Returns how many.
    fn close(&mut self, line: &Line) -> Result<usize, ConfError> {
        if !nodes::is_closed(line.value("state").unwrap_or("DOWN")) {
            return Ok(0);
        }
        let list = line.value("downnodes").unwrap_or_default();
        let names = expand(list, MOST_NAMES).map_err(|why| line.place.error(&why.to_string()))?;
        for name in &names {
            let at = self.config.by_name.get(name);
            let Some((_, usable)) = at.and_then(|at| self.config.nodes.get_mut(*at)) else {
                return Err(line.place.error(&format!("there is no node {name}")));
            };
            *usable = false;
        }
        Ok(names.len())
    }

    fn add_nodes(&mut self, line: &Line) -> Result<(), ConfError> {
        let Shaped {
            names,
            node,
            features,
            cpu_bind,
            parameters,
            usable,
        } = nodes::read(line, self.node.as_ref())?;
        let first = self.config.nodes.len();
        for name in names {
            let at = self.config.nodes.len();
            self.cores += u64::from(node.cores());
            if at == MAX_CLUSTER_NODES || self.cores > MAX_CLUSTER_CORES {
                let why =
                    format!("more than {MAX_CLUSTER_NODES} nodes or {MAX_CLUSTER_CORES} cores");
                return Err(line.place.error(&why));
            }
            if self.config.by_name.insert(name.clone(), at).is_some() {
                let why = format!("the node {name} stands here a second time");
                return Err(line.place.error(&why));
            }
            let node = ClusterNode {
                name,
                ..node.clone()
            };
            self.config.nodes.push((node, usable as Usable));
        }
        let added = first..self.config.nodes.len();
        if let Some(bind) = cpu_bind.filter(|_| !added.is_empty()) {
            self.config.binds.push((added.clone(), bind));
        }
        if let Some(words) = parameters.filter(|_| !added.is_empty()) {
            self.config.parameters.push((added, words));
        }
        if let Some(features) = features {
            self.keep(line, features.len())?;
            let nodes = first..self.config.nodes.len();
            self.config.features.push((nodes, features));
        }
        Ok(())
    }

    fn add_partition(&mut self, line: &Line) -> Result<(), ConfError> {
        let part = partitions::read(line, self.part.as_ref())?;
        self.keep(line, part.nodes.len())?;
        check_room(line, self.config.parts.len(), "partitions")?;
        self.config.parts.push(part);
        Ok(())
    }

    fn add_set(&mut self, line: &Line) -> Result<(), ConfError> {
        let value = |key: &str| line.value(key).map(String::from);
        check_room(line, self.config.sets.len(), "node sets")?;
        let set = NodeSet {
            place: line.place.clone(),
            nodes: value("nodes").unwrap_or_default(),
            feature: value("feature"),
        };
        self.keep(line, set.nodes.len())?;
        let name = value("nodeset").unwrap_or_default();
        self.config.sets.insert(name, set);
        Ok(())
    }

    fn add_settings(&mut self, line: &Line) -> Result<(), ConfError> {
        let config = &mut self.config;
        config.words.add(line)?;
        let kept = [
            ("taskplugin", &mut config.task_plugin),
            ("taskpluginparam", &mut config.task_plugin_param),
            ("slurmdparameters", &mut config.slurmd_parameters),
            ("preempttype", &mut config.preempt_type),
            ("preemptmode", &mut config.preempt_mode),
            ("accountingstorageenforce", &mut config.accounting_enforce),
            ("jobacctgathertype", &mut config.job_acct_gather_type),
            ("plugstackconfig", &mut config.plug_stack_config),
            ("slurm_conf", &mut config.slurm_conf),
            ("slurm_version", &mut config.version),
        ];
        for (key, kept) in kept {
            *kept = line.value(key).map(String::from).or(kept.take());
        }
        // Only what scontrol shows has it here.
        config.constrain_cores = constrain_cores(line).unwrap_or(config.constrain_cores);
        config.memory = partitions::memory(line)?.or(config.memory);
        if let Some(plugins) = line.value("jobsubmitplugins") {
            config.changes_partitions =
                plugins.split(',').any(|one| one.trim() == "all_partitions");
        }
        config.cpus_per_gpu = partitions::cpus_per_gpu(line).or(config.cpus_per_gpu.take());
        config.limits_memory = partitions::limits_memory(line).unwrap_or(config.limits_memory);
        Ok(())
    }
}

/// `ConstrainCores` of a line, if it is there. Source: `s_p_get_boolean`.
pub(super) fn constrain_cores(line: &Line) -> Option<bool> {
    let text = line.value("constraincores")?.to_ascii_lowercase();
    Some(["yes", "up", "true", "1"].contains(&text.as_str()))
}

fn check_room(line: &Line, count: usize, what: &str) -> Result<(), ConfError> {
    match count == MOST_PARTS {
        true => Err(line.place.error(&format!("more than {MOST_PARTS} {what}"))),
        false => Ok(()),
    }
}
