//! Reads the texts of `--map-by`, `--rank-by` and `--bind-to`, each by itself. Words may have any
//! case, but they must be whole: PRRTE takes the first word that begins alike, and crashes on some
//! numbers.

use std::str::FromStr;

use crate::request::mapping::error::MappingError;
use crate::request::mapping::options::{BindLevel, BindTo, MapBy, RankBy, Target};
use crate::request::mapping::pe_list::PeList;
use crate::request::mapping::words::{self, full_word, instead};
use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{MAPPING_BYTES as MAX_LENGTH, MAX_ENTRIES};

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
        if text.len() > MAX_LENGTH {
            return Err(MappingError::too_long(option, MAX_LENGTH));
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
