//! A cluster's configuration: slurm.conf, or what scontrol shows of a cluster that runs.
//! In: texts that anybody may have written; [`text::Files`] gives included files. Out: [`Config`], and
//! from it the [`Cluster`] of one partition. Pure; each error has its file and line.

mod nodes;
mod partitions;
mod select;
pub mod text;
mod values;

use std::collections::HashMap;

use berth_placement::controller::select::{Cluster, ClusterNode, Memory, SlurmLine};
use berth_placement::sets::limits::{MAX_CLUSTER_CORES, MAX_CLUSTER_NODES};

use crate::host_list::expand;
use nodes::{MOST_NAMES, Shaped};
use partitions::Part;
pub use text::{ConfError, Files};
use text::{Line, Place, lines};

/// The most partitions, and the most node sets.
const MOST_PARTS: usize = 4096;

/// A configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    nodes: Vec<(ClusterNode, bool)>,
    by_name: HashMap<String, usize>,
    /// Nodes of each feature.
    features: HashMap<String, Vec<usize>>,
    sets: HashMap<String, (Place, Option<String>, Option<String>)>,
    parts: Vec<Part>,
    cores: u64,
    /// Whether scontrol printed it.
    is_shown: bool,
    words: select::Words,
    memory: Option<Memory>,
    /// `TaskPlugin`, as it is written.
    pub task_plugin: Option<String>,
    /// `TaskPluginParam`, as it is written.
    pub task_plugin_param: Option<String>,
    /// The release of a cluster that runs, as `22.05.8`.
    pub version: Option<String>,
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
        let mut config = Self::default();
        config.add(lines(file, text, files)?)?;
        Ok(config)
    }

    /// Reads what scontrol shows: `show config`, `show nodes -o` and `show partition -o`.
    ///
    /// # Errors
    /// A line that scontrol would not print, or a bound.
    pub fn shown(config: &str, nodes: &str, partitions: &str) -> Result<Self, ConfError> {
        let mut found = Self {
            is_shown: true,
            ..Self::default()
        };
        found.add(select::shown("scontrol show config", config)?)?;
        found.add(select::shown("scontrol show nodes", nodes)?)?;
        found.add(select::shown("scontrol show partition", partitions)?)?;
        Ok(found)
    }

    fn add(&mut self, lines: Vec<Line>) -> Result<(), ConfError> {
        let (mut node, mut part) = (None, None);
        for line in lines {
            let first = line
                .pairs
                .first()
                .map(|(key, value)| (key.as_str(), value.as_str()));
            match first {
                Some(("nodename", name)) if name.eq_ignore_ascii_case("default") => {
                    node = Some(values::merged(node, line));
                }
                Some(("nodename", _)) => self.add_nodes(&line, node.as_ref())?,
                Some(("partitionname", name)) if name.eq_ignore_ascii_case("default") => {
                    part = Some(values::merged(part, line));
                }
                Some(("partitionname", _)) => self.add_partition(&line, part.as_ref())?,
                Some(("nodeset", _)) => self.add_set(&line)?,
                Some(_) => self.add_settings(&line)?,
                None => {}
            }
        }
        Ok(())
    }

    fn add_nodes(&mut self, line: &Line, default: Option<&Line>) -> Result<(), ConfError> {
        let Shaped {
            names,
            mut node,
            features,
            usable,
        } = nodes::read(line, default)?;
        // scontrol has one line for each node, and no word of the lines that slurmctld has read.
        let like_last = self.nodes.last().filter(|(last, _)| {
            let name = last.name.clone();
            self.is_shown
                && *last
                    == ClusterNode {
                        name,
                        configuration: last.configuration,
                        ..node.clone()
                    }
        });
        let last = self
            .nodes
            .last()
            .map_or(0, |(last, _)| last.configuration + 1);
        node.configuration = like_last.map_or(last, |(last, _)| last.configuration);
        for name in names {
            let at = self.nodes.len();
            self.cores += u64::from(node.cores());
            if at == MAX_CLUSTER_NODES || self.cores > MAX_CLUSTER_CORES {
                let why =
                    format!("more than {MAX_CLUSTER_NODES} nodes or {MAX_CLUSTER_CORES} cores");
                return Err(line.place.error(&why));
            }
            if self.by_name.insert(name.clone(), at).is_some() {
                return Err(line
                    .place
                    .error(&format!("the node {name} stands here a second time")));
            }
            for feature in &features {
                self.features.entry(feature.clone()).or_default().push(at);
            }
            self.nodes.push((
                ClusterNode {
                    name,
                    ..node.clone()
                },
                usable,
            ));
        }
        Ok(())
    }

    fn add_partition(&mut self, line: &Line, default: Option<&Line>) -> Result<(), ConfError> {
        let part = partitions::read(line, default)?;
        if self.parts.len() == MOST_PARTS {
            return Err(line.place.error("more than 4096 partitions"));
        }
        // Names of several partitions may stand on one line.
        for name in part.name.split(',') {
            self.parts.push(Part {
                name: name.into(),
                ..part.clone()
            });
        }
        Ok(())
    }

    fn add_set(&mut self, line: &Line) -> Result<(), ConfError> {
        if self.sets.len() == MOST_PARTS {
            return Err(line.place.error("more than 4096 node sets"));
        }
        let value = |key: &str| line.value(key).map(String::from);
        let name = value("nodeset").unwrap_or_default();
        self.sets
            .insert(name, (line.place.clone(), value("nodes"), value("feature")));
        Ok(())
    }

    fn add_settings(&mut self, line: &Line) -> Result<(), ConfError> {
        self.words.add(line)?;
        let value = |key: &str| line.value(key).map(String::from);
        self.task_plugin = value("taskplugin").or(self.task_plugin.take());
        self.task_plugin_param = value("taskpluginparam").or(self.task_plugin_param.take());
        self.version = value("slurm_version").or(self.version.take());
        self.memory = partitions::memory(line, None)?.or(self.memory);
        Ok(())
    }

    /// The partition of a name, or the one that jobs go to without `-p`, with its nodes.
    ///
    /// # Errors
    /// No such partition, or no default one; nodes of it that the configuration does not have; a
    /// SelectType that is not modelled.
    pub fn choose(&self, partition: Option<&str>, line: SlurmLine) -> Result<Chosen, ConfError> {
        let part = self.part(partition)?;
        let mut members = vec![false; self.nodes.len()];
        self.members(&part.nodes, &part.place, &mut members, 0)?;
        let nodes = self.nodes.iter().zip(members);
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
        members: &mut [bool],
        depth: usize,
    ) -> Result<(), ConfError> {
        if list.is_empty() {
            return Ok(());
        }
        let names = expand(list, MOST_NAMES).map_err(|why| place.error(&why.to_string()))?;
        for name in names.iter().filter(|name| !name.is_empty()) {
            if let Some(member) = self.by_name.get(name).and_then(|at| members.get_mut(*at)) {
                *member = true;
            } else if name.eq_ignore_ascii_case("all") {
                members.fill(true);
            } else if let Some((place, nodes, feature)) = self.sets.get(name).filter(|_| depth == 0)
            {
                self.members(nodes.as_deref().unwrap_or_default(), place, members, 1)?;
                let of_feature = feature
                    .as_ref()
                    .and_then(|feature| self.features.get(feature));
                for at in of_feature.into_iter().flatten() {
                    members[*at] = true;
                }
            } else {
                let why = format!("Nodes has {name}, which is neither a node nor a node set here");
                return Err(place.error(&why));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
