//! The premises of an answer: the site's rules in words, and the options that come from elsewhere, each with its source.

use berth_placement::{CpuBind, Fixes, Rules, SiteConfine, SocketKind};
use berth_site::rules::socket_name;
use berth_srun::conf::BindFrom;

use super::effective_options::cpu_bind;
use crate::lines::job::by_variables;
use crate::question::{ByDefault, DefaultSource, Question};
use crate::{Failure, Premise, Provenance};

/// The rules by their source: those of options, those that were found, and those that are assumed. Behind them what
/// variables say.
pub(super) fn of(args: &Question) -> Result<Vec<Premise>, Failure> {
    let (by, source) = source(args);
    let mut premises: Vec<Premise> = Vec::new();
    for word in words(args, &args.rules()?) {
        let (by, source) = word.source.unwrap_or((by.clone(), source.as_str()));
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
    /// Where it comes from, if that is not where the others come from.
    source: Option<(Provenance, &'static str)>,
    text: String,
}

impl Word {
    /// A rule that an option may give, or else perhaps the configuration of a cluster.
    fn of(args: &Question, is_typed: bool, is_configured: bool, text: String) -> Self {
        let is_assumed = args.cluster.is_some() && !is_configured;
        let source = match () {
            () if is_typed => Some((Provenance::Option, "options")),
            () if is_assumed => Some((Provenance::Assumed, "")),
            () => None,
        };
        Self { source, text }
    }
}

/// Each rule in words. Rules that have Slurm's usual value are left out, but for the behaviour and
/// the release.
fn words(args: &Question, rules: &Rules) -> impl Iterator<Item = Word> {
    let levels = of_levels(args, rules).into_iter();
    levels.chain(of_others(args, rules)).flatten()
}

/// A rule that an option gives, or that is worth a word.
fn word(is_typed: bool, is_special: bool, text: String) -> Option<Word> {
    let source = is_typed.then_some((Provenance::Option, "options"));
    (is_typed || is_special).then_some(Word { source, text })
}

fn of_levels(args: &Question, rules: &Rules) -> [Option<Word>; 4] {
    let bind = args.site_cpu_bind();
    let level = rules
        .autobind
        .map_or("none".into(), |level| level.to_string());
    let by_default = default_bind(args, bind.as_ref());
    let behaviour = args.compat.is_some() || args.fixes.is_some();
    let found = args.context.release().is_some();
    let release = format!("Slurm {}", args.srun.release);
    let mut release = Word::of(args, args.slurm.is_some(), found, release);
    if args.context.installed.is_some() && release.source.is_none() {
        release.source = Some((Provenance::Found, "the installed one"));
    }
    [
        // slurm.conf says which plugin binds, and plugstack.conf has berth's settings.
        Some(Word::of(
            args,
            behaviour,
            rules.fixes == Fixes::NONE || args.site_settings.is_some(),
            format!("compat={}", rules.fixes),
        )),
        Some(release),
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
