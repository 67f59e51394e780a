//! The options that hold for a request: those that it has itself, and where it says nothing, berth's own of its job's line
//! or of a variable, the site's defaults, and the binding that slurmctld takes from the job's nodes and partition; none of
//! berth's own where the node honours none of them.

use std::sync::Arc;

use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::{
    Binding, Confine, CpuBind, Fix, Mapping, MemBind, Mode, Near, Plan, SiteConfine,
};
use berth_srun::inherited;
use berth_srun::options::{Choice, Own};
use berth_srun::submission::own_values::{self, Typed};
use berth_srun::{Config, LineOption, Release, SrunRequest};

use crate::args::{SrunOptions, set_on_line};
use crate::lines::job::JobLine;
use crate::question::{ByDefault, DefaultSource, Question};
use crate::world::LIVE;

/// The places around a request that an option of berth's own can come from.
struct Around {
    /// The options that the request has itself.
    typed: Vec<Typed>,
    job: Option<Arc<JobLine>>,
}

impl Around {
    /// The value that the job's line sets for its steps, by the name of Slurm's variable.
    fn of_job(&self, variable: &str) -> Option<&str> {
        let own = Own::ALL.into_iter().find(|own| own.routed == variable)?;
        self.job.as_ref()?.own(own.name)
    }

    /// A variable as srun finds it. The job's command has set some, and has removed those that its own
    /// options override.
    fn variable(&self, args: &Question, name: &str) -> Option<String> {
        let mut all = Own::ALL.into_iter();
        let set_by_jobs = all.find(|own| own.inherited().contains(&name));
        let (Some(job), Some(own)) = (&self.job, set_by_jobs) else {
            return args.variable(name);
        };
        let typed = |one: Own| Some(Typed::of(one, job.own(one.name)?));
        let typed: Vec<_> = Own::ALL.into_iter().filter_map(typed).collect();
        if !own_values::counts_beside(own, &typed) {
            return self.of_job(name).map(String::from);
        }
        args.variable(name)
    }
}

impl Question {
    /// Finds berth's own options that the request does not have, as srun and slurmd do: an outer
    /// command's option overrides the user's default, and among defaults the innermost one holds.
    ///
    /// # Errors
    /// A text that cannot be read, or options that do not go together.
    pub(crate) fn find_own(&mut self) -> Result<(), String> {
        let typed = |own| Some(Typed::of(own, &self.typed.text(own)?));
        let around = Around {
            typed: Own::ALL.into_iter().filter_map(typed).collect(),
            job: self.job_line().and_then(Result::ok),
        };
        self.defaults = Vec::new();
        for own in Own::ALL {
            if self.typed.text(own).is_none() {
                self.take_default(own, &around)?;
            }
        }
        let typed = self.typed.mapping.take().unwrap_or_default();
        let is_mappings = |one: &&ByDefault| one.own.choice == Choice::Mapping;
        let first = self.defaults.iter().find(is_mappings);
        let source = first.map_or(String::new(), |first| format!("{}: ", first.by));
        let mapping = Mapping::of(typed.map, typed.rank, typed.bind);
        self.typed.mapping = mapping.map_err(|why| format!("{source}{why}"))?;
        Ok(())
    }

    /// Sets an option as the job's line or a variable has it.
    fn take_default(&mut self, own: Own, around: &Around) -> Result<(), String> {
        let found = own_values::value(own, &around.typed, |name| around.variable(self, name));
        let Some((name, text)) = found else {
            return Ok(());
        };
        let by = match around.of_job(name) {
            Some(_) => DefaultSource::Job,
            None => DefaultSource::Variable(name),
        };
        let read = self.typed.set(own, &text);
        read.map_err(|why| format!("{by}: {why}"))?;
        let text = self.typed.text(own).unwrap_or_default();
        self.defaults.push(ByDefault { by, own, text });
        Ok(())
    }

    /// A variable before the line's command, or of the environment where the line would be typed.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let is_live = self.machine == LIVE && self.cluster.as_deref() == Some(LIVE);
        let counts = self.context.is_here || is_live;
        let around = || self.context.variable(name).filter(|_| counts);
        set_on_line(&self.line_variables, name).or_else(around)
    }

    /// The `--binding` for a batch script; the site's default is for steps alone.
    pub(super) fn script_binding(&self) -> Option<Binding> {
        self.binding.clone().filter(|_| !self.is_binding_off())
    }

    /// This request without a `-c` that srun has taken over from its job.
    pub(super) fn without_cpus_of_job(&self) -> Self {
        let is_jobs = |option: &&LineOption| option.is_jobs && option.name == "cpus-per-task";
        let own = self.srun.options().iter().filter(|option| !is_jobs(option));
        let srun = SrunOptions::read(own.cloned().collect(), self.srun.release);
        Self {
            srun: srun.unwrap_or_else(|_| self.srun.clone()),
            ..self.clone()
        }
    }

    /// This request with the default binding of its job's nodes; `None` if no configuration has one.
    pub(super) fn bound_as(&self, nodes: &[String]) -> Option<Self> {
        let config = self.known_config()?;
        let partition = self.partition();
        let nodes = nodes.iter().map(String::as_str);
        let found = config.default_bind(partition.as_deref(), nodes)?;
        Some(Self {
            bind_of_job: Some(found),
            ..self.clone()
        })
    }

    /// The configuration of the cluster that is asked about, else of this node's.
    pub(super) fn known_config(&self) -> Option<&Config> {
        let of_node = self.context.config_of_node.as_deref();
        self.config().or(of_node.filter(|_| self.context.is_here))
    }

    /// The partition of jobs that name none, where the configuration is known.
    pub(super) fn default_partition(&self) -> Option<String> {
        self.known_config()?.default_partition().map(String::from)
    }

    /// The partition of the request's job: that of its line, or of the job around it.
    pub(super) fn partition(&self) -> Option<String> {
        if let Some(job) = self.job_line() {
            return job.ok()?.selection.partition.clone();
        }
        if self.context.job.is_some() {
            return self.context.variable("SLURM_JOB_PARTITION");
        }
        let mut options = self.srun.options().iter();
        options
            .rfind(|option| option.name == "partition")?
            .value
            .clone()
    }
}

impl Question {
    /// The `--binding` that holds: the request's, else the site's default if the request's
    /// `--cpu-bind` asks nothing, and no other option of berth's own is given.
    pub(crate) fn effective_binding(&self, cpu_bind: &CpuBind) -> Option<Binding> {
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
    pub(crate) fn effective_mapping(&self) -> Option<Mapping> {
        let mapping = self.mapping.clone();
        mapping.filter(|_| !self.is_binding_off())
    }

    /// The `--near` that holds.
    pub(crate) fn effective_near(&self) -> Option<Near> {
        let near = self.near.clone().filter(Near::asks);
        near.filter(|_| !self.is_binding_off())
    }

    /// Whether it is the user's own default.
    pub(crate) fn is_near_by_default(&self) -> bool {
        let own = DefaultSource::Variable(Own::Near.variable);
        let found = |one: &ByDefault| one.own == Own::Near && one.by == own;
        self.defaults.iter().any(found)
    }

    /// The `--core-kind` that holds.
    pub(crate) fn effective_core_kind(&self) -> CoreKindWish {
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

/// `--cpu-bind` as it arrives at slurmd. Source: `launch_p_step_launch`: any bit keeps the site's
/// default out, also those of the level that another option chose; in 22.05 also `verbose`. The masks of a step around
/// count as not given.
pub(super) fn cpu_bind(args: &Question) -> CpuBind {
    let request = &args.srun.cpu_bind;
    let is_outer = |mode: &Mode| inherited::is_outer_list(mode, |name| args.variable(name));
    match &args.site_cpu_bind() {
        Some(site) if takes_default(&args.srun) => CpuBind {
            verbose: request.verbose || site.verbose,
            ..site.clone()
        },
        _ if forgets_outer_masks(args) && request.mode.as_ref().is_some_and(is_outer) => CpuBind {
            mode: None,
            ..request.clone()
        },
        _ => request.clone(),
    }
}

/// `--mem-bind`; for the node masks of a step around, what that step was asked for.
pub(super) fn mem_bind(args: &Question) -> MemBind {
    let mut bind = args.srun.mem_bind.clone();
    let outer = |policy| inherited::outer_memory(policy, |name| args.variable(name));
    if let Some(outer) = bind.policy.as_ref().and_then(outer) {
        bind.policy = Some(outer);
    }
    bind
}

fn forgets_outer_masks(args: &Question) -> bool {
    let rules = args.rules();
    rules.is_ok_and(|rules| rules.fixes.has(Fix::InheritedMask))
}

fn takes_default(request: &SrunRequest) -> bool {
    let bind = CpuBind {
        verbose: request.cpu_bind.verbose && request.release == Release::V22_05,
        ..request.cpu_bind.clone()
    };
    bind == CpuBind::default()
}
