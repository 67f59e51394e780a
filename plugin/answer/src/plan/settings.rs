//! berth's settings on a cluster that is asked about: the line for task_berth.so in its
//! plugstack.conf, as slurmd reads it on a node.

use std::path::PathBuf;
use std::sync::Arc;

use berth_site::read_settings;
use berth_site::settings::Settings;
use berth_srun::host_list::{Most, expand};

use crate::question::Question;
use crate::world::World;
use berth_site::plugstack::PlugstackLine;

/// The settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSettings {
    /// Those in force.
    pub settings: Settings,
    /// The file in which they stand.
    pub path: PathBuf,
    /// The words that cannot be read, as slurmd complains of them.
    pub complaints: Vec<String>,
    /// The node, where the line has settings for some nodes alone.
    node: Option<String>,
}

impl Question {
    /// Reads the settings of the cluster that is asked about, if its plugstack.conf names berth.
    pub(crate) fn find_settings(&mut self, world: &dyn World) {
        let Some(line) = self.standing.plugstack.clone() else {
            return;
        };
        let node = is_by_node(&line).then(|| self.some_node()).flatten();
        self.site_settings = Some(Arc::new(read(&line, node)));
        self.find_cpusets_of_cluster(world);
    }

    /// A node of the request's partition: one that it names, or the first.
    pub(super) fn some_node(&self) -> Option<String> {
        let list = self.srun.nodelist.as_deref().unwrap_or_default();
        let named = expand(list, Most::COMMAND_LINE).unwrap_or_default();
        let named = named.into_iter().find(|name| !name.is_empty());
        named.or_else(|| {
            let names = self.config()?.names_of(self.partition().as_deref());
            names.into_iter().next()
        })
    }

    /// The note if the nodes of the job have other settings than those of the plan.
    pub(super) fn other_settings(&self, nodes: &[String]) -> Option<String> {
        let found = self.site_settings.as_ref()?;
        let node = found.node.as_ref()?;
        let line = self.standing.plugstack.as_ref()?;
        let mut others = nodes.iter().filter(|name| *name != node);
        let other = others.find(|name| {
            let other = read(line, Some((*name).clone()));
            other.settings != found.settings
        })?;
        Some(format!(
            "plugstack.conf has other settings for {other} than for {node} (nodes=); this is a plan \
             with those of {node}; name the node that you mean with -w"
        ))
    }
}

/// Whether some words hold on some nodes alone.
fn is_by_node(line: &PlugstackLine) -> bool {
    line.words.iter().any(|word| word.starts_with("nodes="))
}

fn read(line: &PlugstackLine, node: Option<String>) -> SiteSettings {
    let words: Vec<_> = line.words.iter().map(String::as_str).collect();
    let is_here = |list: &str| {
        let names = expand(list, Most::COMMAND_LINE).map_err(|why| why.to_string())?;
        Ok(names.iter().any(|name| Some(name) == node.as_ref()))
    };
    let (settings, complaints) = read_settings::read(&words, is_here);
    SiteSettings {
        settings,
        path: line.path.clone(),
        complaints: complaints.into_iter().map(|one| one.text).collect(),
        node,
    }
}
