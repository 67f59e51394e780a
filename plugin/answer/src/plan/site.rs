//! The site's rules for a request: each from its option, else from what slurmd announced on this node, else from berth's
//! settings on the cluster that is asked about, else assumed. Those settings stand in the line for task_berth.so in the
//! cluster's plugstack.conf, read as slurmd reads it on a node.

use std::sync::Arc;

use berth_placement::{CpuBind, CpuSet, Fixes, Level, Rules, SocketKind};
use berth_site::read_settings::{self, PlugstackLine};
use berth_site::settings::Settings;
use berth_srun::conf::Config;
use berth_srun::node_lists::{self, Most, expand};

use crate::args::{SiteNodes, site_bind};
use crate::question::{Question, SiteSettings};
use crate::{Failure, World};

impl Question {
    /// Whether the user says that jobs of the site get whole nodes. The configuration of a cluster knows
    /// it itself.
    #[must_use]
    pub fn gives_whole_nodes(&self) -> bool {
        self.site == Some(SiteNodes::Exclusive) && self.cluster.is_none()
    }

    /// The configuration of the cluster that is asked about.
    pub fn config(&self) -> Option<&Config> {
        self.context.cluster.as_ref()?.as_deref().ok()
    }

    /// berth's settings on the cluster that is asked about.
    pub(super) fn settings(&self) -> Option<&Settings> {
        Some(&self.site_settings.as_ref()?.settings)
    }

    /// The rules that slurmd announced here.
    pub(super) fn announced(&self) -> Option<&berth_site::SiteRules> {
        self.context.node.as_ref()?.rules.as_ref()
    }

    /// The object that counts as a socket.
    #[must_use]
    pub fn socket_kind(&self) -> SocketKind {
        let announced = self.announced().map(berth_site::SiteRules::socket);
        self.socket
            .or(announced)
            .or_else(|| Some(self.config()?.socket_kind()))
            .unwrap_or_default()
    }

    /// `CpuBind=` of the site, for requests that say nothing: of the job's nodes and partition, then
    /// of `TaskPluginParam`, which slurmd has announced here.
    pub(crate) fn site_cpu_bind(&self) -> Option<CpuBind> {
        let announced = || site_bind(self.announced()?.cpu_bind.as_deref()?).ok();
        let found = self.default_cpu_bind.clone();
        let found = found.or_else(|| Some(self.bind_of_job.as_ref()?.bind.clone()));
        found.or_else(announced)
    }

    /// The planner's rules.
    ///
    /// # Errors
    /// A fix that is not known.
    pub fn rules(&self) -> Result<Rules, Failure> {
        let site = self.announced().map(berth_site::SiteRules::rules);
        let site = site.unwrap_or(Rules {
            fixes: self.unannounced_fixes(),
            autobind: self.cluster_autobind(),
            block_by_default: self.config().is_some_and(Config::is_block_by_default),
            constrain_cores: self.config().is_some_and(Config::constrains_cores),
            refuse_failed_binding: self.settings().is_some_and(|one| one.refuse_failed_binding),
            cpuset_first_fit: self.settings().is_some_and(|one| !one.cpuset_best),
            cpuset_fail: self
                .settings()
                .map(|one| one.cpuset_fail)
                .unwrap_or_default(),
        });
        let base = self.compat.unwrap_or(site.fixes);
        let words = self.fixes.as_deref().unwrap_or_default();
        Ok(Rules {
            fixes: base.apply(words).map_err(|why| format!("--fixes: {why}"))?,
            refuse_failed_binding: self.binding_fail.unwrap_or(site.refuse_failed_binding),
            block_by_default: self.block_by_default || site.block_by_default,
            constrain_cores: self.constrain_cores || site.constrain_cores,
            autobind: self.autobind.unwrap_or(site.autobind),
            cpuset_first_fit: !self.cpuset_best.unwrap_or(!site.cpuset_first_fit),
            cpuset_fail: self.cpuset_fail.unwrap_or(site.cpuset_fail),
        })
    }

    /// The CPUs that the site keeps free: of the option, else of `reserved=` here or in the cluster's
    /// plugstack.conf.
    pub(crate) fn effective_reserved(&self) -> CpuSet {
        let announced = || Some(self.announced()?.reserved());
        let of_cluster = || Some(self.settings()?.reserved.clone());
        let found = self.reserved.clone().or_else(announced).or_else(of_cluster);
        found.unwrap_or_default()
    }

    /// Where another plugin binds, its masks are those of task/affinity.
    fn unannounced_fixes(&self) -> Fixes {
        let node = self.context.node.as_ref();
        let mut is_aside = node.is_some_and(|node| !node.words.is_task_plugin);
        let list = self
            .config()
            .and_then(|config| config.task_plugin.as_deref());
        is_aside |= list.is_some_and(|list| list.contains("affinity"));
        match self.settings() {
            _ if is_aside => Fixes::NONE,
            Some(settings) => settings.fixes,
            None => Fixes::ALL,
        }
    }

    /// `autobind=` of the cluster that is asked about.
    fn cluster_autobind(&self) -> Option<Level> {
        let words = self.config()?.task_plugin_param.as_deref()?;
        let words = words.to_ascii_lowercase();
        let mut words = words.split(',').map(str::trim);
        let word = words.find_map(|word| word.strip_prefix("autobind="))?;
        let mut levels = [Level::Threads, Level::Cores, Level::Sockets].into_iter();
        levels.find(|level| level.to_string() == word)
    }
}

impl Question {
    /// Reads the settings of the cluster that is asked about, if its plugstack.conf names berth.
    pub(crate) fn find_settings(&mut self, world: &dyn World) {
        let Some(line) = self.context.plugstack.clone() else {
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
        let line = self.context.plugstack.as_ref()?;
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

/// The settings of a line for a node.
fn read(line: &PlugstackLine, node: Option<String>) -> SiteSettings {
    let words: Vec<_> = line.words.iter().map(String::as_str).collect();
    let is_here = |list: &str| node_lists::has(list, node.as_deref());
    let (settings, complaints) = read_settings::read(&words, is_here);
    SiteSettings {
        settings,
        path: line.path.clone(),
        complaints: complaints.into_iter().map(|one| one.text).collect(),
        node,
    }
}
