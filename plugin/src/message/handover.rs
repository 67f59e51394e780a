//! What slurmd tells slurmstepd about a step, in one variable of the launch message.
//! slurmd marks it with its key ([`crate::message::seal`]); slurmstepd believes nothing else.
//! In: a decision. Out: `version mark name=value …`, and back. Unknown names are ignored, so that
//! two releases of berth understand each other.

use std::fmt::{self, Display, Write};
use std::str::FromStr;

use berth_placement::sets::limits::HANDOVER_BYTES;
use berth_placement::{Chosen, CoreSpec, CpuSet, MemBind};
use berth_srun::Release;
use berth_srun::spelling::mem_bind;

/// Its first word; another form has another number.
pub(crate) const VERSION: &str = "1";

/// What became of a step in slurmd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The message has the tasks' masks.
    Bound,
    /// Nothing is to be bound, as asked.
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

/// slurmd's words to slurmstepd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handover {
    pub outcome: Outcome,
    /// Hash of the list that the message carries ([`crate::message::inherited`]); empty for none.
    pub list: String,
    /// The step's CPUs, beyond which no task goes.
    pub own: CpuSet,
    /// What was asked, in the words of the log.
    pub request: String,
    /// The rule that decided.
    pub rule: String,
    /// What the user should know.
    pub note: String,
    /// The cores that a `--binding` chose.
    pub chosen: Option<Chosen>,
    /// `--mem-bind` as asked, where the message has each task's NUMA nodes.
    pub memory: Option<MemBind>,
    /// What slurmd left to slurmstepd.
    pub settle: Option<Settle>,
}

/// A `--binding` that slurmd could not settle without waiting: for the ledger's lock, or for a
/// preempted job that is about to stop. slurmstepd plans it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settle {
    /// The `--binding`.
    pub binding: String,
    /// Tasks here.
    pub tasks: u32,
    /// At most so many hardware threads of a core.
    pub threads_per_core: Option<u32>,
    /// What the job keeps free of its cores.
    pub core_spec: CoreSpec,
    /// Whether the step was started with `--overlap`.
    pub overlaps: bool,
}

impl Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = OUTCOMES.iter().find(|(known, _)| *known == self.outcome);
        write!(f, "outcome={}", outcome.map_or("unbound", |(_, word)| word))?;
        write!(f, " own={}", self.own)?;
        let texts = [
            ("list", &self.list),
            ("request", &self.request),
            ("rule", &self.rule),
            ("note", &self.note),
        ];
        for (name, text) in texts {
            if !text.is_empty() {
                write!(f, " {name}={}", Escaped(text))?;
            }
        }
        if let Some(chosen) = &self.chosen {
            write!(f, " chosen={chosen}")?;
        }
        if let Some(memory) = &self.memory {
            write!(f, " memory={}", Escaped(&memory.to_string()))?;
        }
        if let Some(settle) = &self.settle {
            write!(
                f,
                " tasks={} binding={}",
                settle.tasks,
                Escaped(&settle.binding)
            )?;
            if let Some(threads) = settle.threads_per_core {
                write!(f, " threads={threads}")?;
            }
            match settle.core_spec {
                CoreSpec::None => {}
                CoreSpec::Cores(count) => write!(f, " spec-cores={count}")?,
                CoreSpec::Threads(count) => write!(f, " spec-threads={count}")?,
            }
            if settle.overlaps {
                f.write_str(" overlaps=1")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Handover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > HANDOVER_BYTES {
            return Err(format!("it has {} bytes", text.len()));
        }
        let value = |name: &str| {
            let mut words = text.split(' ').filter_map(|word| word.split_once('='));
            words.find_map(|(known, value)| (known == name).then(|| unescaped(value)))
        };
        let text = |name: &str| value(name).unwrap_or_default();
        let wrong = |name: &str| format!("its {name} cannot be read");
        let outcome = OUTCOMES.iter().find(|(_, word)| *word == text("outcome"));
        let read = |name: &'static str| (name, value(name));
        Ok(Self {
            outcome: outcome.ok_or_else(|| wrong("outcome"))?.0,
            own: match text("own").as_str() {
                "" => CpuSet::new(),
                list => CpuSet::from_list(list).map_err(|_| wrong("own"))?,
            },
            list: text("list"),
            request: text("request"),
            rule: text("rule"),
            note: text("note"),
            chosen: parsed(read("chosen"))?,
            memory: match value("memory") {
                // Our own text, in words that srun of every line has.
                Some(bind) => Some(mem_bind(&bind, Release::NEWEST).map_err(|_| wrong("memory"))?),
                None => None,
            },
            settle: match value("binding") {
                None => None,
                Some(binding) => Some(Settle {
                    binding,
                    tasks: parsed(read("tasks"))?.ok_or_else(|| wrong("tasks"))?,
                    threads_per_core: parsed(read("threads"))?,
                    core_spec: match (parsed(read("spec-cores"))?, parsed(read("spec-threads"))?) {
                        (Some(count), _) => CoreSpec::Cores(count),
                        (None, Some(count)) => CoreSpec::Threads(count),
                        (None, None) => CoreSpec::None,
                    },
                    overlaps: value("overlaps").is_some(),
                }),
            },
        })
    }
}

fn parsed<T: FromStr>((name, value): (&str, Option<String>)) -> Result<Option<T>, String> {
    let read = |text: String| {
        text.parse()
            .map_err(|_| format!("its {name} cannot be read"))
    };
    value.map(read).transpose()
}

/// A value without blanks and control characters: those are written as `%20`.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                ' ' | '%' | '\0'..='\x1f' | '\x7f' => write!(f, "%{:02x}", letter as u32)?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

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
#[allow(clippy::unwrap_used, reason = "a test says so")]
mod tests {
    use super::*;

    fn whole() -> Handover {
        Handover {
            outcome: Outcome::Bound,
            list: "0123456789abcdef".into(),
            own: CpuSet::from_list("0-3,8").unwrap(),
            request: "n=2 c=1 cores dist=*".into(),
            rule: "binding:linear:2".into(),
            note: "100 % of\nit; \u{e9}=x %zz %".into(),
            chosen: Some("0,0=0,4:0,1=1,5;1,0=2,6".parse().unwrap()),
            memory: Some(mem_bind("prefer,map_mem:1,0", Release::NEWEST).unwrap()),
            settle: Some(Settle {
                binding: "env linear:2".into(),
                tasks: 3,
                threads_per_core: Some(1),
                core_spec: CoreSpec::Threads(2),
                overlaps: true,
            }),
        }
    }

    #[test]
    fn it_reads_as_it_was_written() {
        for handover in [whole(), Handover::default()] {
            let text = handover.to_string();
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert_eq!(text.parse(), Ok(handover), "{text}");
        }
    }

    #[test]
    fn another_releases_words_are_ignored_and_nonsense_is_not_believed() {
        let text = format!("{} fence=0-3 later", whole());
        assert_eq!(text.parse(), Ok(whole()));
        for text in [
            "",
            "outcome=perhaps own=0",
            "outcome=bound own=x",
            "outcome=bound own=0 chosen=1",
            "outcome=bound own=0 binding=linear:1",
            "outcome=bound own=0 binding=linear:1 tasks=-1",
        ] {
            assert!(text.parse::<Handover>().is_err(), "{text:?}");
        }
        let long = format!("outcome=bound own=0 note={}", "x".repeat(HANDOVER_BYTES));
        assert!(long.parse::<Handover>().is_err());
    }
}
