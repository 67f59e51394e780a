//! The site's rules for a request: each from its option, else from what slurmd announced on this node,
//! else assumed. It also puts into words which of the three holds.

use berth_placement::{CpuBind, CpuSet, Fixes, Level, Rules, SiteConfine, SocketKind};
use berth_site::rules::socket_name;
use berth_site::settings::Settings;
use berth_srun::conf::{BindFrom, Config};

use super::wishes::cpu_bind;
use crate::args::{SiteNodes, site_bind};
use crate::lines::job::by_variables;
use crate::question::{ByDefault, DefaultSource, Question};
use crate::{Failure, Premise, Provenance};

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

    /// What slurmd announced of its rules here.
    pub(super) fn announced(&self) -> Option<&berth_site::SiteRules> {
        self.context.node.as_ref()?.rules.as_ref()
    }

    /// What counts as a socket.
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
    pub fn site_cpu_bind(&self) -> Option<CpuBind> {
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
    pub fn effective_reserved(&self) -> CpuSet {
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

/// The rules by their source: those of options, those that were found, and those that are assumed. Behind them what
/// variables say.
pub(super) fn premises(args: &Question) -> Result<Vec<Premise>, Failure> {
    let (by, source) = source(args);
    let mut premises: Vec<Premise> = Vec::new();
    for word in words(args, &args.rules()?) {
        let (by, source) = match () {
            () if word.is_typed => (Provenance::Option, "options"),
            () if args.cluster.is_some() && !word.is_configured => (Provenance::Assumed, ""),
            () => (by.clone(), source.as_str()),
        };
        match premises.iter_mut().find(|premise| premise.by == by) {
            Some(premise) => premise.value = format!("{}, {}", premise.value, word.text),
            None => premises.push(Premise::new("site", word.text, by, source.into())),
        }
    }
    premises.extend(variables(args));
    Ok(premises)
}

/// A rule in words.
struct Word {
    is_typed: bool,
    /// Whether the configuration of a cluster says it.
    is_configured: bool,
    text: String,
}

/// Each rule in words. Rules that have Slurm's usual value are left out, but for the behaviour and
/// the release.
fn words(args: &Question, rules: &Rules) -> impl Iterator<Item = Word> {
    let levels = of_levels(args, rules).into_iter();
    levels.chain(of_others(args, rules)).flatten()
}

/// A rule that an option gives, or that is worth a word.
fn word(is_typed: bool, is_special: bool, text: String) -> Option<Word> {
    (is_typed || is_special).then_some(Word {
        is_typed,
        is_configured: true,
        text,
    })
}

fn of_levels(args: &Question, rules: &Rules) -> [Option<Word>; 4] {
    let bind = args.site_cpu_bind();
    let level = rules
        .autobind
        .map_or("none".into(), |level| level.to_string());
    let by_default = default_bind(args, bind.as_ref());
    let behaviour = args.compat.is_some() || args.fixes.is_some();
    let release = format!("Slurm {}", args.srun.release);
    [
        // slurm.conf says which plugin binds, and plugstack.conf has berth's settings.
        Some(Word {
            is_typed: behaviour,
            is_configured: rules.fixes == Fixes::NONE || args.site_settings.is_some(),
            text: format!("compat={}", rules.fixes),
        }),
        Some(Word {
            is_typed: args.slurm.is_some(),
            is_configured: args.context.release().is_some(),
            text: release,
        }),
        word(
            args.autobind.is_some(),
            rules.autobind.is_some(),
            format!("autobind={level}"),
        ),
        word(args.default_cpu_bind.is_some(), bind.is_some(), by_default),
    ]
}

/// `CpuBind=cores of partition main`
fn default_bind(args: &Question, bind: Option<&CpuBind>) -> String {
    let text = match bind {
        Some(bind) if *bind == CpuBind::default() => "off".into(),
        Some(bind) => bind.to_string(),
        None => String::new(),
    };
    let of_job = args.bind_of_job.as_ref();
    let of_job = of_job.filter(|_| args.default_cpu_bind.is_none());
    let whose = match of_job.map(|found| &found.from) {
        Some(BindFrom::Nodes) => " of the job's nodes".to_string(),
        Some(BindFrom::Partition(name)) => format!(" of partition {name}"),
        Some(BindFrom::Cluster) | None => String::new(),
    };
    format!("CpuBind={text}{whose}")
}

fn of_others(args: &Question, rules: &Rules) -> [Option<Word>; 6] {
    let kind = args.socket_kind();
    let requested = cpu_bind(args);
    let default = args
        .effective_binding(&requested)
        .filter(|_| args.binding.is_none());
    let fails = rules.refuse_failed_binding;
    let fail = if fails { "refuse" } else { "unbound" };
    let binding = default.as_ref().map_or(String::new(), ToString::to_string);
    [
        word(
            args.socket.is_some(),
            kind != SocketKind::default(),
            format!("socket={}", socket_name(kind)),
        ),
        word(
            args.block_by_default,
            rules.block_by_default,
            "CR_CORE_DEFAULT_DIST_BLOCK".into(),
        ),
        word(
            args.binding_fail.is_some(),
            fails && args.binding.is_some(),
            format!("binding_fail={fail}"),
        ),
        word(
            false,
            default.is_some(),
            format!("binding_default={binding}"),
        ),
        word(
            args.reserved.is_some(),
            !args.effective_reserved().is_empty(),
            format!("reserved={}", args.effective_reserved()),
        ),
        word(
            false,
            args.site_confine() != SiteConfine::Off,
            format!("confine={}", args.site_confine()),
        ),
    ]
}

/// The options that come from variables, and those of berth's own that a job's line passes on.
fn variables(args: &Question) -> Vec<Premise> {
    let mut pairs = by_variables(args.srun.options());
    let mut premises = Vec::new();
    for ByDefault { by, own, text } in &args.defaults {
        match by {
            DefaultSource::Variable(name) => pairs.push(format!("{name}={text}")),
            DefaultSource::Job => premises.push(Premise::new(
                "options",
                format!("--{}={text}", own.name),
                Provenance::Option,
                "the line of the job".into(),
            )),
        }
    }
    if !pairs.is_empty() {
        let source = "variables that srun reads".into();
        premises.push(Premise::new(
            "options",
            pairs.join(" "),
            Provenance::Found,
            source,
        ));
    }
    premises
}

/// Where rules without an option come from.
fn source(args: &Question) -> (Provenance, String) {
    if let (Some(config), Some(named)) = (args.config(), &args.cluster) {
        let list = config.task_plugin.as_deref().unwrap_or("none");
        let binds = ["berth", "affinity"].iter().any(|name| list.contains(name));
        let why = if binds { "" } else { ", which binds nothing" };
        let settings = args.site_settings.as_ref();
        let settings = settings.map(|site| format!(" with {}", site.path.display()));
        let settings = settings.unwrap_or_default();
        return (
            Provenance::Found,
            format!("TaskPlugin={list}{why}, --cluster {named}{settings}"),
        );
    }
    let Some(node) = args.context.node.as_ref() else {
        let why = match args.context.is_here {
            true => "no slurmd with berth announced itself here",
            false => "",
        };
        return (Provenance::Assumed, why.into());
    };
    let others = match node.others.as_slice() {
        [] => String::new(),
        others => format!("; this host also has {}", others.join(", ")),
    };
    match &node.rules {
        Some(rules) => {
            let unknown = match rules.unknown_fixes().as_slice() {
                [] => String::new(),
                names => format!(
                    "; without {}, which this berth does not know",
                    names.join(", ")
                ),
            };
            let by = format!("slurmd of {} announced it{unknown}{others}", node.name);
            (Provenance::Found, by)
        }
        None if node.words.is_task_plugin => {
            let release = &node.words.berth;
            let why = format!(
                "slurmd of {} runs berth {release}, which does not announce its rules{others}",
                node.name
            );
            (Provenance::Assumed, why)
        }
        None => {
            let why = format!("berth is not the task plugin of {}{others}", node.name);
            (Provenance::Assumed, why)
        }
    }
}
