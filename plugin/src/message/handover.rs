//! slurmd's decision about a step for slurmstepd, in one variable of the launch message.
//! slurmd marks it with its key ([`crate::message::seal`]); slurmstepd trusts nothing else.
//! In: a decision. Out: `version name=value …`, and back. Fields with unknown names are ignored, so
//! that a release can add some; a text of an unknown version is not read.

use std::str::FromStr;

use berth_placement::request::core_kind::Kind;
use berth_placement::sets::limits::HANDOVER_BYTES;
use berth_placement::{Binding, Chosen, CoreSpec, CpuSet, DeviceOrder, Gres, MemBind, Near};
use berth_srun::Release;
use berth_srun::spelling::mem_bind;

use crate::message::fields::{Fields, cpus, field, number, unreadable};
pub(crate) use crate::message::in_cpuset::{InCpuset, InLedger};
pub(crate) use crate::message::in_pool::InPool;

/// The first word. Another number means that the fields have another meaning.
pub(crate) const VERSION: &str = "2";
/// The version before: its cores have no runs, and it knows no `core-kind`. Whoever reads it reads
/// the same from it.
const BEFORE: &str = "1";
/// Most texts are shorter, also with their mark.
const USUAL_LENGTH: usize = 512;

/// slurmd's result for a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The message has the tasks' masks.
    Bound,
    /// Nothing is bound, as requested.
    #[default]
    Unbound,
    /// A `--binding` failed: the message has the step's CPUs.
    Failed,
    /// The tasks must not start.
    Refused,
    /// The administrator has switched berth off.
    Off,
}

/// Words of an outcome.
const OUTCOMES: [(Outcome, &str); 5] = [
    (Outcome::Bound, "bound"),
    (Outcome::Unbound, "unbound"),
    (Outcome::Failed, "failed"),
    (Outcome::Refused, "refused"),
    (Outcome::Off, "off"),
];

/// slurmd's decision for slurmstepd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handover {
    pub outcome: Outcome,
    /// Hash of the list that the message carries ([`crate::message::inherited`]); empty for none.
    pub list: String,
    /// The step's CPUs; no task is bound to others, except to those in `beyond`.
    pub own: CpuSet,
    /// CPUs of others that a task is bound to as well: task/affinity gives whole memory domains.
    pub beyond: CpuSet,
    /// Whether slurmd's map does not say which CPUs each core has: the machine file does.
    pub by_tree: bool,
    /// The request, for the log and the tasks. Nothing is ever read from this text.
    pub request: String,
    /// The rule that decided, for the log and the tasks. Nothing is ever read from this text.
    pub rule: String,
    /// Notes to the user.
    pub note: String,
    /// The `--binding` that was served.
    pub served: Option<Served>,
    /// The requested `--mem-bind`, if the message has each task's NUMA nodes.
    pub memory: Option<MemBind>,
    /// The order in which tasks are to see their GPUs.
    pub devices: Option<DeviceOrder>,
    /// The cpuset that the step runs in.
    pub cpuset: Option<InCpuset>,
    /// The job's place among the node's pools; none on a node without pools.
    pub pool: Option<InPool>,
    /// Whether bound tasks are confined to their CPUs.
    pub confine: bool,
    /// What slurmstepd needs to plan the step's `--binding` again.
    pub settle: Option<Settle>,
}

/// A `--binding`, and the cores that it chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub binding: Binding,
    pub chosen: Chosen,
}

/// A `--binding` that slurmstepd plans again: always where slurmd could not decide it without waiting for the
/// ledger's lock, or for a preempted job that is about to stop; else only if it comes late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settle {
    pub binding: Binding,
    /// Tasks on this node.
    pub tasks: u32,
    /// `-c`.
    pub cpus_per_task: u32,
    /// The most hardware threads of a core to use.
    pub threads_per_core: Option<u32>,
    /// The cores or threads that the job keeps free.
    pub core_spec: CoreSpec,
    /// `--core-kind`.
    pub core_kind: Kind,
    /// `--near`.
    pub near: Option<Near>,
    /// The devices that Slurm gave the step.
    pub gres: Option<Gres>,
    /// Whether the step was started with `--overlap`.
    pub overlaps: bool,
    /// Whether slurmd has decided it, and it is only planned again if other steps have got its cores meanwhile.
    pub if_late: bool,
}

/// Whether fields of a version are understood here.
///
/// # Errors
/// The reason why they are not, for the log.
pub(crate) fn is_known(version: &str) -> Result<(), String> {
    match version {
        VERSION | BEFORE => Ok(()),
        _ => Err("another release of berth wrote it".into()),
    }
}

impl Handover {
    /// Its text: `version name=value …`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(USUAL_LENGTH);
        text.push_str(VERSION);
        self.put(&mut text);
        text
    }

    fn put(&self, text: &mut String) {
        let outcome = OUTCOMES.iter().find(|(known, _)| *known == self.outcome);
        field(
            text,
            " outcome=",
            outcome.map_or("unbound", |(_, word)| word),
        );
        text.push_str(" own=");
        // A String takes everything.
        let _ = self.own.write_list(text);
        if !self.beyond.is_empty() {
            text.push_str(" beyond=");
            let _ = self.beyond.write_list(text);
        }
        if self.by_tree {
            text.push_str(" tree=1");
        }
        if self.confine {
            text.push_str(" confine=1");
        }
        let texts = [
            (" list=", &self.list),
            (" request=", &self.request),
            (" rule=", &self.rule),
            (" note=", &self.note),
        ];
        for (name, value) in texts.into_iter().filter(|(_, value)| !value.is_empty()) {
            field(text, name, value);
        }
        if let Some(Served { binding, chosen }) = &self.served {
            field(text, " served=", &binding.to_string());
            number(text, " chosen=", chosen);
        }
        if let Some(memory) = &self.memory {
            field(text, " memory=", &memory.to_string());
        }
        if let Some(devices) = &self.devices {
            number(text, " devices=", devices);
        }
        if let Some(cpuset) = &self.cpuset {
            cpuset.put(text);
        }
        if let Some(pool) = &self.pool {
            pool.put(text);
        }
        if let Some(settle) = &self.settle {
            settle.put(text);
        }
    }
}

impl Settle {
    fn put(&self, text: &mut String) {
        number(text, " tasks=", self.tasks);
        field(text, " binding=", &self.binding.to_string());
        if self.cpus_per_task > 1 {
            number(text, " cpus-per-task=", self.cpus_per_task);
        }
        if let Some(threads) = self.threads_per_core {
            number(text, " threads=", threads);
        }
        match self.core_spec {
            CoreSpec::None => {}
            CoreSpec::Cores(count) => number(text, " spec-cores=", count),
            CoreSpec::Threads(count) => number(text, " spec-threads=", count),
        }
        if self.core_kind != Kind::Any {
            number(text, " core-kind=", self.core_kind);
        }
        if let Some(near) = &self.near {
            number(text, " near=", near);
        }
        if let Some(gres) = &self.gres {
            number(text, " gres=", gres);
        }
        if self.overlaps {
            text.push_str(" overlaps=1");
        }
        if self.if_late {
            text.push_str(" if-late=1");
        }
    }
}

impl FromStr for Handover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > HANDOVER_BYTES {
            return Err(format!("it has {} bytes", text.len()));
        }
        let (version, fields) = text.split_once(' ').unwrap_or((text, ""));
        is_known(version)?;
        let fields = Fields(
            fields
                .split(' ')
                .filter_map(|f| f.split_once('='))
                .collect(),
        );
        let outcome = fields.text("outcome");
        let outcome = OUTCOMES.iter().find(|(_, word)| *word == outcome);
        Ok(Self {
            outcome: outcome.ok_or_else(|| unreadable("outcome"))?.0,
            own: cpus("own", &fields.text("own"))?,
            beyond: cpus("beyond", &fields.text("beyond"))?,
            by_tree: fields.value("tree").is_some(),
            confine: fields.value("confine").is_some(),
            list: fields.text("list"),
            request: fields.text("request"),
            rule: fields.text("rule"),
            note: fields.text("note"),
            served: fields.served()?,
            memory: fields.memory()?,
            devices: fields.read("devices")?,
            cpuset: InCpuset::read(&fields)?,
            pool: InPool::read(&fields)?,
            settle: fields.settle()?,
        })
    }
}

impl Fields<'_> {
    /// Our own text, in words that srun of every line has.
    fn memory(&self) -> Result<Option<MemBind>, String> {
        let read = |text: String| {
            let bind = mem_bind(&text, Release::NEWEST).ok();
            // slurmd writes the field only if there is a policy.
            let bind = bind.filter(|bind| bind.policy.is_some());
            bind.ok_or_else(|| unreadable("memory"))
        };
        self.value("memory").map(read).transpose()
    }

    /// Cores without the binding that chose them would give the tasks only half of their variables,
    /// so they are not read.
    fn served(&self) -> Result<Option<Served>, String> {
        match (self.read("served")?, self.read("chosen")?) {
            (Some(binding), Some(chosen)) => Ok(Some(Served { binding, chosen })),
            (None, None) => Ok(None),
            (None, _) => Err(unreadable("served")),
            (_, None) => Err(unreadable("chosen")),
        }
    }

    fn settle(&self) -> Result<Option<Settle>, String> {
        let Some(binding) = self.read("binding")? else {
            return Ok(None);
        };
        Ok(Some(Settle {
            binding,
            tasks: self.read("tasks")?.ok_or_else(|| unreadable("tasks"))?,
            cpus_per_task: self.read("cpus-per-task")?.unwrap_or(1),
            threads_per_core: self.read("threads")?,
            core_spec: match (self.read("spec-cores")?, self.read("spec-threads")?) {
                (Some(count), _) => CoreSpec::Cores(count),
                (None, Some(count)) => CoreSpec::Threads(count),
                (None, None) => CoreSpec::None,
            },
            core_kind: self.read("core-kind")?.unwrap_or_default(),
            near: self.read("near")?,
            gres: self.read("gres")?,
            overlaps: self.value("overlaps").is_some(),
            if_late: self.value("if-late").is_some(),
        }))
    }
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
