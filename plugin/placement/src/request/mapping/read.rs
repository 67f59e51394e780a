//! Reads the texts of `--map-by`, `--rank-by` and `--bind-to`, first each by itself and then which of them go together.
//! In: the texts. Out: [`Mapping`], or why not. No machine is needed, so the submitting command refuses these. Words
//! may have any case, but they must be whole: PRRTE takes the first word that begins alike, and crashes on some
//! numbers. Pure.

use std::str::FromStr;

use crate::request::cpu_bind::ObjectKind;
use crate::request::mapping::words::{
    self, LEVEL_WORDS, MappingError, full_word, instead, level_word,
};
use crate::request::mapping::{BindLevel, BindTo, MapBy, Mapping, PeList, RankBy, Target};
use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{MAPPING_BYTES, MAX_ENTRIES};
use crate::sets::text::counted;

const TARGETS: [&str; 11] = [
    "slot",
    "node",
    "hwthread",
    "core",
    "l1cache",
    "l2cache",
    "l3cache",
    "numa",
    "package",
    "ppr:N:LEVEL",
    "pe-list=LIST",
];
const MAP_QUALIFIERS: [&str; 7] = [
    "pe=N",
    "hwtcpus",
    "corecpus",
    "span",
    "ordered",
    "oversubscribe",
    "nooversubscribe",
];
const BIND_LEVELS: [&str; 8] = [
    "none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package",
];
const BIND_QUALIFIERS: [&str; 4] = ["limit=N", "if-supported", "overload-allowed", "no-overload"];
const RANKS: [&str; 4] = ["slot", "node", "fill", "span"];

/// The fields of a text, divided by colons.
struct Reader<'a> {
    option: &'static str,
    text: &'a str,
    /// Where the next field begins; beyond the text behind the last one.
    next: usize,
    /// Where the field begins that was read last.
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(option: &'static str, text: &'a str) -> Result<Self, MappingError> {
        let reader = Self {
            option,
            text,
            next: 0,
            at: 0,
        };
        if text.len() > MAPPING_BYTES {
            return Err(MappingError::too_long(option, MAPPING_BYTES));
        }
        Ok(reader)
    }

    /// The next field as it stands, and in small letters.
    fn field(&mut self) -> Option<(&'a str, String)> {
        let rest = self.text.get(self.next..)?;
        let field = rest.split(':').next().unwrap_or(rest);
        self.at = self.next;
        self.next += field.len() + 1;
        Some((field, field.to_ascii_lowercase()))
    }

    fn wrong(&self, what: &str) -> MappingError {
        MappingError::at(self.option, self.text, self.at, what)
    }

    /// A word that is none of those that are known here.
    fn unknown(&self, word: &str, what: &str, known: &[&'static str]) -> MappingError {
        let all = known.join(", ");
        if let Some(other) = instead(word) {
            let name = word.split('=').next().unwrap_or(word);
            return self.wrong(&format!("berth has no {name}; {other}"));
        }
        if let Some(full) = full_word(word, known) {
            return self.wrong(&format!("write the whole word: {full}"));
        }
        if word.contains(',') {
            return self.wrong("qualifiers are divided by colons, not by commas");
        }
        self.wrong(&format!("expected {what} here: {all}"))
    }

    /// The number of a field such as `pe=2`; `text` is all of the field.
    fn number(&mut self, text: &str) -> Result<u32, MappingError> {
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        self.at += text.len() - value.len();
        let number = parse_number(value).filter(|number| (1..=MAX_ENTRIES).contains(number));
        number.ok_or_else(|| self.wrong(&format!("expected a number from 1 to {MAX_ENTRIES} here")))
    }
}

impl FromStr for MapBy {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, MappingError> {
        let mut reader = Reader::new("map-by", text)?;
        let mut map = Self {
            target: reader.target()?,
            ..Self::default()
        };
        let mut cores_at = None;
        while let Some((field, word)) = reader.field() {
            match word.as_str() {
                "hwtcpus" => map.threads = true,
                "corecpus" => cores_at = Some(reader.at),
                "span" => map.span = true,
                "oversubscribe" | "nooversubscribe" => {}
                "ordered" => match &mut map.target {
                    Some(Target::List { ordered, .. }) => *ordered = true,
                    _ => return Err(reader.wrong("ordered belongs to pe-list=LIST")),
                },
                _ if word.starts_with("pe=") => map.each = Some(reader.number(field)?),
                _ => return Err(reader.unknown(&word, "a qualifier", &MAP_QUALIFIERS)),
            }
        }
        let thread = map.target.as_ref().and_then(Target::kind) == words::level("hwthread");
        if let Some(at) = cores_at.filter(|_| map.threads || thread) {
            reader.at = at;
            return Err(reader
                .wrong("corecpus contradicts hwtcpus, which hwthread implies; drop one of them"));
        }
        Ok(map)
    }
}

impl Reader<'_> {
    fn target(&mut self) -> Result<Option<Target>, MappingError> {
        let (field, word) = self.field().unwrap_or_default();
        if let Some(list) = word.strip_prefix("pe-list=") {
            let list = PeList::read(list).map_err(|(at, what)| {
                self.at += field.len() - list.len() + at;
                self.wrong(&format!("expected {what} here"))
            })?;
            return Ok(Some(Target::List {
                list,
                ordered: false,
            }));
        }
        Ok(Some(match word.as_str() {
            // Only qualifiers follow.
            "" if !self.text.is_empty() => return Ok(None),
            "slot" => Target::Slot,
            "node" => Target::Node,
            "ppr" => return self.per_object().map(Some),
            _ => match words::level(&word) {
                Some(kind) => Target::Level(kind),
                None => return Err(self.unknown(&word, "what to map by", &TARGETS)),
            },
        }))
    }

    fn per_object(&mut self) -> Result<Target, MappingError> {
        let missing = "expected N and a level behind ppr: ppr:N:LEVEL";
        let (count, _) = self.field().ok_or_else(|| self.wrong(missing))?;
        let count = self.number(count)?;
        let (_, word) = self.field().ok_or_else(|| self.wrong(missing))?;
        let of = match (word.as_str(), words::level(&word)) {
            ("node", _) => None,
            (_, Some(kind)) => Some(kind),
            _ => return Err(self.unknown(&word, "a level", &TARGETS[1..9])),
        };
        Ok(Target::PerObject { count, of })
    }
}

impl FromStr for RankBy {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, MappingError> {
        let mut reader = Reader::new("rank-by", text)?;
        let (_, word) = reader.field().unwrap_or_default();
        let rank = match word.as_str() {
            "slot" => Self::Slot,
            "node" => Self::Node,
            "fill" => Self::Fill,
            "span" => Self::Span,
            _ => return Err(reader.unknown(&word, "an order", &RANKS)),
        };
        match reader.field() {
            None => Ok(rank),
            Some(_) => Err(reader.wrong("an order has no qualifiers")),
        }
    }
}

impl FromStr for BindTo {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, MappingError> {
        let mut reader = Reader::new("bind-to", text)?;
        let (_, word) = reader.field().unwrap_or_default();
        let mut bind = Self {
            level: match (word.as_str(), words::level(&word)) {
                ("", _) if !text.is_empty() => None,
                ("none", _) => Some(BindLevel::Nothing),
                (_, Some(kind)) => Some(BindLevel::Object(kind)),
                _ => return Err(reader.unknown(&word, "what to bind to", &BIND_LEVELS)),
            },
            ..Self::default()
        };
        while let Some((field, word)) = reader.field() {
            match word.as_str() {
                "if-supported" => bind.if_supported = true,
                "overload-allowed" | "overload" => bind.overload = true,
                "no-overload" => bind.overload = false,
                _ if word.starts_with("limit=") => bind.limit = Some(reader.number(field)?),
                _ => return Err(reader.unknown(&word, "a qualifier", &BIND_QUALIFIERS)),
            }
        }
        Ok(bind)
    }
}

/// The options as texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingTexts<'a> {
    /// `--map-by`.
    pub map: Option<&'a str>,
    /// `--rank-by`.
    pub rank: Option<&'a str>,
    /// `--bind-to`.
    pub bind: Option<&'a str>,
}

impl Mapping {
    /// Reads the options; `None` if none of them is given.
    ///
    /// # Errors
    /// A text that cannot be read, or texts that do not go together.
    pub fn read(texts: MappingTexts<'_>) -> Result<Option<Self>, MappingError> {
        Self::of(
            texts.map.map(str::parse).transpose()?,
            texts.rank.map(str::parse).transpose()?,
            texts.bind.map(str::parse).transpose()?,
        )
    }

    /// Puts the options together; `None` if none of them is given.
    ///
    /// # Errors
    /// Why they do not go together.
    pub fn of(
        map: Option<MapBy>,
        rank: Option<RankBy>,
        bind: Option<BindTo>,
    ) -> Result<Option<Self>, MappingError> {
        let mapping = Self { map, rank, bind };
        if mapping == Self::default() {
            return Ok(None);
        }
        mapping.check()?;
        Ok(Some(mapping))
    }

    fn check(&self) -> Result<(), MappingError> {
        let target = self.target();
        self.check_cpus(&target)?;
        self.check_bind(&target)?;
        self.check_rank(&target)
    }

    /// `pe=N`.
    fn check_cpus(&self, target: &Target) -> Result<(), MappingError> {
        let Some(each) = self.each().filter(|each| *each > 1) else {
            return Ok(());
        };
        let wrong = |why: String| Err(MappingError::together(format!("{self}: {why}")));
        match target {
            Target::Level(ObjectKind::Pu) => wrong(format!(
                "a hardware thread is one CPU and cannot hold {each}; use --map-by=slot:pe={each}:hwtcpus"
            )),
            Target::Level(ObjectKind::Core) if !self.counts_threads() => wrong(format!(
                "a core is one CPU and cannot hold {each}; use --map-by=slot:pe={each}, or \
                 core:pe={each}:hwtcpus for {each} hardware threads of one core"
            )),
            Target::List { .. } => {
                wrong("pe= does not go with pe-list=, which names the CPUs itself; drop pe=".into())
            }
            _ => Ok(()),
        }
    }

    fn check_bind(&self, target: &Target) -> Result<(), MappingError> {
        let Some(level) = self.bind.as_ref().and_then(|bind| bind.level) else {
            return Ok(());
        };
        let wrong = |why: String| Err(MappingError::together(format!("{self}: {why}")));
        let is_cpu = matches!(level, BindLevel::Object(ObjectKind::Core | ObjectKind::Pu));
        if let Some(each) = self.each().filter(|_| !is_cpu) {
            return wrong(format!(
                "pe={each} binds each task to {}; --bind-to may only be core or hwthread; drop \
                 --bind-to, or pe=",
                counted(each, "CPU")
            ));
        }
        if matches!(target, Target::List { .. }) && !is_cpu {
            return wrong(
                "pe-list= binds each task to CPUs of the list; --bind-to may only be core or \
                 hwthread; drop --bind-to"
                    .into(),
            );
        }
        match (level, target.kind()) {
            // The order of kinds is from wide to narrow.
            (BindLevel::Object(bound), Some(mapped)) if bound < mapped => {
                let (wide, narrow) = (level_word(bound), level_word(mapped));
                wrong(format!(
                    "tasks cannot be bound wider than they are mapped, and {wide} is wider than \
                     {narrow}; use --map-by={wide}, or --bind-to={narrow}"
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_rank(&self, target: &Target) -> Result<(), MappingError> {
        // The default order of span.
        let span = self.map.as_ref().is_some_and(|map| map.span);
        let is_list = matches!(target, Target::List { .. });
        let rank = self.rank.or((span && is_list).then_some(RankBy::Span));
        match rank {
            Some(rank @ (RankBy::Fill | RankBy::Span)) if target.kind().is_none() => {
                Err(MappingError::together(format!(
                    "{self}: the order {rank} goes from object to object, but --map-by={target} has \
                     none; use --rank-by=slot, or map by a level ({})",
                    LEVEL_WORDS
                )))
            }
            _ => Ok(()),
        }
    }
}
