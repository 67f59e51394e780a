//! The site's rules for a request: each from its option, else from what slurmd announced on this node,
//! else assumed. It also puts into words which of the three holds.

use berth_host::site_rules::socket_name;
use berth_placement::{Binding, CpuBind, Fixes, Level, Rules, SocketKind};

use crate::Failure;
use crate::args::{Autobind, BindingFail, CompatArg, Kept, PlanArgs, Socket, site_bind};
use crate::here::{By, Fact};

impl PlanArgs {
    /// What slurmd announced of its rules here.
    fn announced(&self) -> Option<&'static berth_host::SiteRules> {
        self.standing.node?.rules.as_ref()
    }

    /// What counts as a socket.
    pub(crate) fn socket_kind(&self) -> SocketKind {
        let announced = self.announced().map(berth_host::SiteRules::socket);
        self.socket
            .map(socket_kind)
            .or(announced)
            .unwrap_or_default()
    }

    /// `CpuBind=` of the site, for requests that say nothing.
    pub(crate) fn site_cpu_bind(&self) -> Option<CpuBind> {
        let announced = || site_bind(self.announced()?.cpu_bind.as_deref()?).ok();
        self.default_cpu_bind.clone().or_else(announced)
    }

    /// The `--binding` that holds: the request's, else the site's default.
    pub(crate) fn asked_binding(&self) -> Option<Binding> {
        let announced = || self.announced()?.binding_default.as_deref()?.parse().ok();
        let is_off = self.announced().is_some_and(|rules| rules.binding_off);
        self.binding.clone().or_else(announced).filter(|_| !is_off)
    }

    /// The planner's rules.
    ///
    /// # Errors
    /// A fix that is not known.
    pub(crate) fn rules(&self) -> Result<Rules, Failure> {
        let site = self.announced().map(berth_host::SiteRules::rules);
        let site = site.unwrap_or(Rules {
            fixes: self.unannounced_fixes(),
            ..Rules::default()
        });
        let base = match self.compat {
            Some(CompatArg::Berth) => Fixes::ALL,
            Some(CompatArg::Affinity) => Fixes::NONE,
            None => site.fixes,
        };
        let words = self.fixes.as_deref().unwrap_or_default();
        Ok(Rules {
            fixes: base.apply(words).map_err(|why| format!("--fixes: {why}"))?,
            refuse_failed_binding: match self.binding_fail {
                Some(what) => what == BindingFail::Refuse,
                None => site.refuse_failed_binding,
            },
            block_by_default: self.block_by_default || site.block_by_default,
            autobind: match self.autobind {
                Some(typed) => level(typed),
                None => site.autobind,
            },
        })
    }

    /// Where another plugin binds, its masks are those of task/affinity.
    fn unannounced_fixes(&self) -> Fixes {
        let is_aside = self
            .standing
            .node
            .is_some_and(|node| !node.words.is_task_plugin);
        if is_aside { Fixes::NONE } else { Fixes::ALL }
    }
}

pub(crate) fn socket_kind(socket: Socket) -> SocketKind {
    match socket {
        Socket::Package => SocketKind::Package,
        Socket::Numa => SocketKind::Numa,
        Socket::L3 => SocketKind::L3,
    }
}

fn level(site: Autobind) -> Option<Level> {
    match site {
        Autobind::None => None,
        Autobind::Threads => Some(Level::Threads),
        Autobind::Cores => Some(Level::Cores),
        Autobind::Sockets => Some(Level::Sockets),
    }
}

/// The rules by their source: those of options, and those that were found or are assumed.
pub(super) fn facts(args: &PlanArgs) -> Result<Vec<Fact>, Failure> {
    let words = words(args, &args.rules()?);
    let of = |typed: bool| {
        let words = words.iter().filter(|(by, _)| *by == typed);
        let words: Vec<_> = words.map(|(_, word)| word.as_str()).collect();
        words.join(", ")
    };
    let (by_options, others) = (of(true), of(false));
    let mut facts = Vec::new();
    if !by_options.is_empty() {
        facts.push(Fact::new("site", by_options, By::Option, "options".into()));
    }
    if !others.is_empty() {
        let (by, source) = source(args);
        facts.push(Fact::new("site", others, by, source));
    }
    Ok(facts)
}

/// A rule in words: whether an option gives it, whether it is worth a word, and the word.
type Word = (bool, bool, String);

/// Each rule in words, and whether an option gives it. Rules that have Slurm's usual value are left
/// out, but for the behaviour and the release.
fn words(args: &PlanArgs, rules: &Rules) -> Vec<(bool, String)> {
    let all = of_levels(args, rules)
        .into_iter()
        .chain(of_others(args, rules));
    let shown = all.filter(|(typed, differs, _)| *typed || *differs);
    shown.map(|(typed, _, word)| (typed, word)).collect()
}

fn of_levels(args: &PlanArgs, rules: &Rules) -> [Word; 4] {
    let bind = args.site_cpu_bind();
    let level = rules
        .autobind
        .map_or("none".into(), |level| level.to_string());
    let by_default = bind.as_ref().map_or(String::new(), ToString::to_string);
    [
        (
            args.compat.is_some() || args.fixes.is_some(),
            true,
            compat(rules.fixes),
        ),
        (
            args.slurm.is_some(),
            true,
            format!("Slurm {}", args.srun.release),
        ),
        (
            args.autobind.is_some(),
            rules.autobind.is_some(),
            format!("autobind={level}"),
        ),
        (
            args.default_cpu_bind.is_some(),
            bind.is_some(),
            format!("CpuBind={by_default}"),
        ),
    ]
}

fn of_others(args: &PlanArgs, rules: &Rules) -> [Word; 4] {
    let kind = args.socket_kind();
    let default = args.asked_binding().filter(|_| args.binding.is_none());
    let fails = rules.refuse_failed_binding;
    let fail = if fails { "refuse" } else { "unbound" };
    let binding = default.as_ref().map_or(String::new(), ToString::to_string);
    [
        (
            args.socket.is_some(),
            kind != SocketKind::default(),
            format!("socket={}", socket_name(kind)),
        ),
        (
            args.block_by_default,
            rules.block_by_default,
            "CR_CORE_DEFAULT_DIST_BLOCK".into(),
        ),
        (
            args.binding_fail.is_some(),
            fails && args.binding.is_some(),
            format!("binding_fail={fail}"),
        ),
        (
            false,
            default.is_some(),
            format!("binding_default={binding}"),
        ),
    ]
}

/// The options that srun takes from variables.
pub(super) fn variables(args: &PlanArgs) -> Option<Fact> {
    let pair = |kept: &Kept| {
        let value = kept.value.as_deref().unwrap_or_default();
        Some(format!("{}={value}", kept.variable.as_ref()?))
    };
    let pairs: Vec<_> = args.srun.kept().iter().filter_map(pair).collect();
    let source = "variables that srun reads".into();
    (!pairs.is_empty()).then(|| Fact::new("options", pairs.join(" "), By::Found, source))
}

/// Where rules without an option come from.
fn source(args: &PlanArgs) -> (By, String) {
    let Some(node) = args.standing.node else {
        let why = match args.standing.is_here() {
            true => "no slurmd with berth announced itself here",
            false => "",
        };
        return (By::Assumed, why.into());
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
            (By::Found, by)
        }
        None if node.words.is_task_plugin => {
            let release = &node.words.berth;
            let why = format!(
                "slurmd of {} runs berth {release}, which does not announce its rules{others}",
                node.name
            );
            (By::Assumed, why)
        }
        None => {
            let why = format!("berth is not the task plugin of {}{others}", node.name);
            (By::Assumed, why)
        }
    }
}

fn compat(fixes: Fixes) -> String {
    match fixes {
        Fixes::ALL => "compat=berth".into(),
        Fixes::NONE => "compat=affinity".into(),
        some => format!("compat=affinity with {some:?}"),
    }
}
