//! Which of berth's own options hold for a request: what it names, the site's default, or nothing
//! where the node honours none of them.
//!
//! berth's settings on a cluster that is asked about: the line for task_berth.so in its
//! plugstack.conf, as slurmd reads it on a node.
//!
//! What a plan takes from srun's reading of its options: the binding with the site's default, and
//! which option chose the level.

use std::sync::Arc;

use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::{
    Binding, Confine, CpuBind, Machine, Mapping, Near, Plan, SiteConfine, SocketKind,
};
use berth_site::read_settings;
use berth_site::read_settings::PlugstackLine;
use berth_srun::node_lists::{Most, expand};
use berth_srun::reading::LevelFrom;
use berth_srun::{Own, Release, SrunRequest};

use crate::World;
use crate::question::{ByDefault, DefaultSource, Question, SiteSettings};

impl Question {
    /// The `--binding` that holds: the request's, else the site's default if the request's
    /// `--cpu-bind` asks nothing, and no other option of berth's own is given.
    pub fn effective_binding(&self, cpu_bind: &CpuBind) -> Option<Binding> {
        let asks = !cpu_bind.asks_nothing() || self.mapping.is_some() || self.near.is_some();
        let by_default = || {
            let announced = || self.announced()?.binding_default.as_deref()?.parse().ok();
            let of_cluster = || self.settings()?.binding_default.clone();
            let found = of_cluster().or_else(announced);
            found.filter(|_| !asks)
        };
        let is_off = self.is_binding_off();
        self.binding.clone().or_else(by_default).filter(|_| !is_off)
    }

    /// The mapping that holds.
    pub fn effective_mapping(&self) -> Option<Mapping> {
        let mapping = self.mapping.clone();
        mapping.filter(|_| !self.is_binding_off())
    }

    /// The `--near` that holds.
    pub fn effective_near(&self) -> Option<Near> {
        let near = self.near.clone().filter(Near::asks);
        near.filter(|_| !self.is_binding_off())
    }

    /// Whether it is the user's own default.
    pub fn is_near_by_default(&self) -> bool {
        let own = DefaultSource::Variable(Own::Near.variable);
        let found = |one: &ByDefault| one.own == Own::Near && one.by == own;
        self.defaults.iter().any(found)
    }

    /// The `--core-kind` that holds.
    pub fn effective_core_kind(&self) -> CoreKindWish {
        let kind = self.core_kind.filter(|_| !self.is_binding_off());
        kind.unwrap_or_default()
    }

    /// The `--confine` that holds.
    fn effective_confine(&self) -> Option<Confine> {
        self.confine.filter(|_| !self.is_binding_off())
    }

    /// The site's `confine=`: as slurmd announced it here, or of the cluster that is asked about.
    pub(super) fn site_confine(&self) -> SiteConfine {
        let announced = self.announced().map(berth_site::SiteRules::confine);
        let of_cluster = || Some(self.settings()?.confine);
        announced.or_else(of_cluster).unwrap_or_default()
    }

    /// Whether the tasks of a plan are confined to their CPUs.
    pub(super) fn confines(&self, plan: &Plan) -> bool {
        plan.is_bound() && self.site_confine().confines(self.effective_confine())
    }

    /// The note on a `--confine` that is not honoured.
    pub(super) fn confine_note(&self, is_bound: bool) -> Option<&'static str> {
        self.site_confine().note(self.effective_confine(), is_bound)
    }

    /// Whether the node honours none of berth's own options (`binding=off`).
    pub(super) fn is_binding_off(&self) -> bool {
        self.announced().is_some_and(|rules| rules.binding_off)
            || self.settings().is_some_and(|settings| !settings.binding)
    }
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

/// `--cpu-bind` as it arrives at slurmd. Source: `launch_p_step_launch`: any bit keeps the site's
/// default out, also those of the level that another option chose; in 22.05 also `verbose`.
pub(super) fn cpu_bind(args: &Question) -> CpuBind {
    let request = &args.srun.cpu_bind;
    match &args.site_cpu_bind() {
        Some(site) if takes_default(&args.srun) => CpuBind {
            verbose: request.verbose || site.verbose,
            ..site.clone()
        },
        _ => request.clone(),
    }
}

fn takes_default(request: &SrunRequest) -> bool {
    let bind = CpuBind {
        verbose: request.cpu_bind.verbose && request.release == Release::V22_05,
        ..request.cpu_bind.clone()
    };
    bind == CpuBind::default()
}

/// Which of the options chose the level.
pub(super) fn level_from(args: &Question) -> String {
    let implied = |option: &str| format!("{option} implies it");
    match args.srun.level_from {
        Some(LevelFrom::CpuBind) => match args.srun.cpu_bind.level {
            Some(level) => format!("--cpu-bind={level} asks for it"),
            None => "--cpu-bind asks for it".into(),
        },
        Some(LevelFrom::NodeInfo(fields)) => {
            let numbers = ["one number", "two numbers", "three numbers"];
            let fields = usize::from(fields).clamp(1, 3);
            format!("-B has {}", numbers[fields - 1])
        }
        Some(LevelFrom::ThreadsPerCore) => implied("--threads-per-core"),
        Some(LevelFrom::NtasksPerCore) => implied("--ntasks-per-core"),
        Some(LevelFrom::NtasksPerSocket) => implied("--ntasks-per-socket"),
        Some(LevelFrom::Hint) => "the hint asks for it".into(),
        // The request itself chose none.
        None if args.srun.cpu_bind.level.is_none() => "it is the site's default (CpuBind=)".into(),
        None => "the request asks for it".into(),
    }
}

/// Why slurmctld would not choose this node, if so.
pub(super) fn unmet(request: &SrunRequest, machine: &Machine, kind: SocketKind) -> Option<String> {
    let sockets = machine.sockets(kind);
    let cores = sockets.iter().map(Vec::len).max().unwrap_or(0);
    let all = sockets.iter().flatten();
    let threads = all
        .map(|core| machine.pus_of(*core).len())
        .max()
        .unwrap_or(0);
    let found = [sockets.len(), cores, threads];
    let names = ["sockets", "cores per socket", "threads per core"];
    let options = [
        "--sockets-per-node",
        "--cores-per-socket",
        "--threads-per-core",
    ];
    let parts = request
        .node
        .iter()
        .zip(found)
        .zip(names.iter().zip(options));
    parts
        .filter_map(|((wanted, found), (name, option))| Some(((*wanted)?, found, name, option)))
        .find(|(wanted, found, ..)| *wanted as usize > *found)
        .map(|(least, found, name, option)| {
            let option = if request.by_node_info { "-B" } else { option };
            format!("{option} asks for {least} {name}; this machine has {found}; ask for no more")
        })
}
