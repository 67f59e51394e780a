//! slurmd's decision about a step for slurmstepd, in one variable of the launch message.
//! slurmd marks it with its key ([`crate::message::seal`]); slurmstepd trusts nothing else.
//! In: a decision. Out: `version name=value …`, and back. Fields with unknown names are ignored, so
//! that a release can add some; a text of an unknown version is not read.

use std::fmt::{Display, Write};
use std::str::FromStr;

use berth_placement::request::core_kind::Kind;
use berth_placement::sets::limits::HANDOVER_BYTES;
use berth_placement::{
    Binding, Chosen, CoreSpec, CpuSet, DeviceOrder, Gres, MemBind, Near, NodeSet, SetMemory,
};
use berth_srun::Release;
use berth_srun::spelling::mem_bind;

use crate::message::hex;

/// The first word. Another number means that the fields have another meaning.
pub(crate) const VERSION: &str = "2";
/// The version before: its cores have no runs, and it knows no `core-kind`. Whoever reads it reads
/// the same from it.
const BEFORE: &str = "1";
/// Most texts are shorter, also with their mark.
const USUAL_LENGTH: usize = 512;

/// The fields of a cpuset's memory; without one of them memory comes from everywhere.
const MEMORY: [(SetMemory, &str); 3] = [
    (SetMemory::Preferred, " cpuset-prefers="),
    (SetMemory::Only { swap: true }, " cpuset-mems="),
    (SetMemory::Only { swap: false }, " cpuset-mems-kill="),
];

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
    /// The step's CPUs; no task is bound to others.
    pub own: CpuSet,
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
    /// Whether bound tasks are confined to their CPUs.
    pub confine: bool,
    /// The planning that slurmd left to slurmstepd.
    pub settle: Option<Settle>,
}

/// A cpuset that a step runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InCpuset {
    pub cpus: CpuSet,
    /// Its line in LSF's form, for the log and the tasks. Nothing is ever read from this text.
    pub line: String,
    /// Its memory nodes, and what they mean.
    pub mems: NodeSet,
    pub memory: SetMemory,
    /// Its entry in the ledger; the site's own cpusets have none.
    pub held: Option<InLedger>,
}

/// A cpuset's entry in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InLedger {
    pub exclusive: bool,
    pub of_job: bool,
    pub mark: u64,
}

/// A `--binding`, and the cores that it chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub binding: Binding,
    pub chosen: Chosen,
}

/// A `--binding` that slurmd could not decide without waiting for the ledger's lock, or for a
/// preempted job that is about to stop. slurmstepd plans it again.
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
        if let Some(settle) = &self.settle {
            settle.put(text);
        }
    }
}

impl InCpuset {
    fn put(&self, text: &mut String) {
        text.push_str(" cpuset=");
        // A String takes everything.
        let _ = self.cpus.write_list(text);
        field(text, " cpuset-line=", &self.line);
        if let Some((_, word)) = MEMORY.iter().find(|(memory, _)| *memory == self.memory) {
            field(text, word, &self.mems.to_hex());
        }
        if let Some(held) = &self.held {
            number(text, " cpuset-mark=", held.mark);
            let flags = [
                (held.exclusive, " cpuset-exclusive=1"),
                (held.of_job, " cpuset-job=1"),
            ];
            let set = flags.into_iter().filter(|(is_set, _)| *is_set);
            set.for_each(|(_, word)| text.push_str(word));
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
    }
}

/// Adds a field. Blanks and control characters of its value are written as `%20`.
fn field(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    let is_special = |byte: u8| matches!(byte, 0..=b' ' | b'%' | 0x7f);
    let mut rest = value;
    // A special character has one byte, so both parts are texts.
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, special) = rest.split_at(at);
        let (special, after) = special.split_at(1);
        text.push_str(plain);
        match special {
            // The words of a request have blanks between them.
            " " => text.push_str("%20"),
            _ => special.bytes().for_each(|byte| {
                text.push('%');
                hex::push(text, [byte]);
            }),
        }
        rest = after;
    }
    text.push_str(rest);
}

/// Adds a field whose value has no special characters.
fn number(text: &mut String, name: &str, value: impl Display) {
    // A String takes everything.
    let _ = write!(text, "{name}{value}");
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
            by_tree: fields.value("tree").is_some(),
            confine: fields.value("confine").is_some(),
            list: fields.text("list"),
            request: fields.text("request"),
            rule: fields.text("rule"),
            note: fields.text("note"),
            served: fields.served()?,
            memory: fields.memory()?,
            devices: fields.read("devices")?,
            cpuset: fields.cpuset()?,
            settle: fields.settle()?,
        })
    }
}

/// Names and values; if a name comes twice, the first one counts.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl Fields<'_> {
    fn value(&self, name: &str) -> Option<String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| unescaped(value))
    }

    /// A text; an empty one is not written at all.
    fn text(&self, name: &str) -> String {
        self.value(name).unwrap_or_default()
    }

    fn read<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let read = |text: String| text.parse().map_err(|_| unreadable(name));
        self.value(name).map(read).transpose()
    }

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

    fn cpuset(&self) -> Result<Option<InCpuset>, String> {
        let Some(list) = self.value("cpuset") else {
            return Ok(None);
        };
        let cpus = cpus("cpuset", &list)?;
        let held = self.read("cpuset-mark")?.map(|mark| InLedger {
            mark,
            exclusive: self.value("cpuset-exclusive").is_some(),
            of_job: self.value("cpuset-job").is_some(),
        });
        let field = |word: &str| self.value(word.trim_matches([' ', '=']));
        let mut memory = MEMORY.iter();
        let memory = memory.find_map(|(memory, word)| Some((*memory, field(word)?)));
        let (memory, mems) = memory.unwrap_or((SetMemory::Open, "0x0".into()));
        Ok(Some(InCpuset {
            cpus,
            memory,
            mems: NodeSet::from_hex(&mems).map_err(|_| unreadable("cpuset-mems"))?,
            line: self.text("cpuset-line"),
            held,
        }))
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
        }))
    }
}

/// CPUs, perhaps none.
fn cpus(name: &str, list: &str) -> Result<CpuSet, String> {
    match list {
        "" => Ok(CpuSet::new()),
        list => CpuSet::from_list(list).map_err(|_| unreadable(name)),
    }
}

fn unreadable(name: &str) -> String {
    format!("its {name} cannot be read")
}

/// The value that [`field`] was given.
fn unescaped(value: &str) -> String {
    let mut parts = value.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).unwrap_or(("", part));
        let code = u8::from_str_radix(code, 16).ok().map(char::from);
        text.push(code.unwrap_or('%'));
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
