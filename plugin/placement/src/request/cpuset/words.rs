//! The words of a cpuset request before they are checked: keywords with their values, as a job, a partition's default
//! or its mandatory words have them. In: a text. Out: [`Words`], their merge, and what each value stands for. Pure.

use std::fmt;
use std::str::FromStr;

use strum::{EnumCount, VariantArray};

use crate::request::cpuset::keyword::{Attribute, Attributes, CpusetError, Keyword};
use crate::request::cpuset::{CpuList, CpusetName, in_brackets};
use crate::sets::cpuset::NodeSet;
use crate::sets::cpuset_text::parse_number;
use crate::sets::ids::{CpuId, NumaId};
use crate::sets::limits::{CPUSET_BYTES, MAX_CPUS, MAX_ENTRIES};
use crate::sets::text::{MOST_TYPOS, nearest, repeated};

/// Keywords with their values. A keyword may have an empty value: it takes a lower one away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// By the keyword's position in [`Keyword`]; blanks around and between are one blank.
    values: [Option<String>; Keyword::COUNT],
}

impl Words {
    /// The value behind a keyword, perhaps an empty one; `None` where the keyword does not stand.
    #[must_use]
    pub fn get(&self, keyword: Keyword) -> Option<&str> {
        self.values[keyword as usize].as_deref()
    }

    /// The keywords that stand there, each with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Keyword, &str)> {
        let all = Keyword::ALL.iter().copied();
        all.filter_map(|keyword| Some((keyword, self.get(keyword)?)))
    }

    /// Whether the request is for no cpuset.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.get(Keyword::Type)
            .is_some_and(|value| value.eq_ignore_ascii_case("none"))
    }

    /// Whether a partition's default word may be added to these words of a job: to none that requests no cpuset,
    /// and to a cpuset of the site only words that such a cpuset can have.
    #[must_use]
    pub fn takes_default(&self, keyword: Keyword) -> bool {
        !self.is_none() && (!self.is_static() || keyword.goes_with_static())
    }

    /// Whether the request is for a cpuset that the site defines.
    fn is_static(&self) -> bool {
        let has_name = || self.get(Keyword::Name).is_some_and(|name| !name.is_empty());
        match self.get(Keyword::Type).filter(|value| !value.is_empty()) {
            Some(value) => value.eq_ignore_ascii_case("static"),
            None => has_name(),
        }
    }

    /// The words with a number of CPUs where they have none. The submitting command writes it into a
    /// job's request; a request for no cpuset stays as it is.
    #[must_use]
    pub fn with_ncpus(mut self, count: u32) -> Self {
        if !self.is_none() {
            self.values[Keyword::Ncpus as usize].get_or_insert_with(|| count.to_string());
        }
        self
    }

    /// The words that hold: mandatory ones over the job's, the job's over default ones, keyword by
    /// keyword, where the job [takes](Self::takes_default) these. A keyword with nothing after its `=` takes a
    /// lower one away.
    #[must_use]
    pub fn merge(mandatory: &Self, job: &Self, default: &Self) -> Self {
        let mut merged = Self::default();
        for (value, keyword) in merged.values.iter_mut().zip(Keyword::ALL.iter().copied()) {
            let at = keyword as usize;
            let lowest = default.values[at].as_ref();
            let lowest = lowest.filter(|_| job.takes_default(keyword));
            let of_levels = [&mandatory.values[at], &job.values[at]].map(Option::as_ref);
            let holds = of_levels.into_iter().flatten().next().or(lowest);
            *value = holds.filter(|value| !value.is_empty()).cloned();
        }
        merged
    }

    fn add(&mut self, part: &str) -> Result<(), CpusetError> {
        let Some((keyword, value)) = part.split_once('=') else {
            return Err(CpusetError::NoEquals(shown(part)));
        };
        let keyword = read_keyword(keyword.trim_ascii())?;
        let blanks_once: Vec<_> = value.split_ascii_whitespace().collect();
        match self.values[keyword as usize].replace(blanks_once.join(" ")) {
            Some(_) => Err(CpusetError::Twice(keyword)),
            None => Ok(()),
        }
    }
}

impl FromStr for Words {
    type Err = CpusetError;

    fn from_str(text: &str) -> Result<Self, CpusetError> {
        if text.len() > CPUSET_BYTES {
            return Err(CpusetError::TooLong);
        }
        let mut words = Self::default();
        let parts = inside_brackets(text)?.split(';').map(str::trim_ascii);
        parts
            .filter(|part| !part.is_empty())
            .try_for_each(|part| words.add(part))?;
        Ok(words)
    }
}

/// The text between the brackets of `CPUSET[…]` or `SGI_CPUSET[…]`, or the whole text if it has none.
fn inside_brackets(text: &str) -> Result<&str, CpusetError> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Err(CpusetError::Empty);
    }
    let wrong = || CpusetError::Brackets(shown(text));
    let Some((name, rest)) = text.split_once('[') else {
        return match text.contains(']') {
            true => Err(wrong()),
            false => Ok(text),
        };
    };
    let is_name = ["CPUSET", "SGI_CPUSET"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name.trim_ascii()));
    let inside = rest
        .strip_suffix(']')
        .filter(|_| is_name)
        .ok_or_else(wrong)?;
    match inside.contains(['[', ']']) {
        true => Err(wrong()),
        false => Ok(inside),
    }
}

/// The keyword of a text in any case.
fn read_keyword(text: &str) -> Result<Keyword, CpusetError> {
    let words = || Keyword::ALL.iter().map(Into::into);
    text.parse().map_err(|_| CpusetError::UnknownKeyword {
        found: shown(text),
        nearest: nearest(&text.to_ascii_uppercase(), words(), MOST_TYPOS),
    })
}

fn shown(text: &str) -> String {
    repeated(text.escape_debug())
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_brackets(f, self.iter())
    }
}

/// A keyword with its value.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) keyword: Keyword,
    pub(super) text: &'a str,
}

impl Value<'_> {
    fn wrong(self, part: &str) -> CpusetError {
        CpusetError::Value {
            keyword: self.keyword,
            found: repeated(part.escape_debug()),
        }
    }

    /// One of some words, in any case.
    pub(super) fn word<T: Copy, const N: usize>(
        self,
        known: [(&str, T); N],
    ) -> Result<T, CpusetError> {
        let found = known
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(self.text));
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| self.wrong(self.text))
    }

    /// A number from `least` to the number of CPUs that a node can have.
    pub(super) fn number(self, least: u32) -> Result<u32, CpusetError> {
        parse_number(self.text)
            .filter(|number| (least..=MAX_CPUS).contains(number))
            .ok_or_else(|| self.wrong(self.text))
    }

    /// A name.
    pub(super) fn name(self) -> Result<CpusetName, CpusetError> {
        self.text.parse().map_err(|_| self.wrong(self.text))
    }

    /// CPUs in the list's order.
    pub(super) fn cpu_list(self) -> Result<CpuList, CpusetError> {
        let mut list = CpuList::default();
        self.each_number(|number| list.push(CpuId(number)))?;
        Ok(list)
    }

    /// Memory nodes.
    pub(super) fn nodes(self) -> Result<NodeSet, CpusetError> {
        let mut list = CpuList::default();
        self.each_number(|number| list.push(CpuId(number)))?;
        Ok(list.cpus().iter().map(|node| NumaId(node.0)).collect())
    }

    /// The numbers of a list with ranges. How many they are is bounded, repeats counted.
    fn each_number(self, mut take: impl FnMut(u32)) -> Result<(), CpusetError> {
        let mut room = MAX_ENTRIES;
        for part in self.text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| {
                parse_number(text.trim_ascii())
                    .filter(|number| *number < MAX_CPUS)
                    .ok_or_else(|| self.wrong(part.trim_ascii()))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(self.wrong(part.trim_ascii()));
            }
            room = room
                .checked_sub(last - first + 1)
                .ok_or(CpusetError::LongList(self.keyword))?;
            (first..=last).for_each(&mut take);
        }
        Ok(())
    }

    /// Attributes joined by `|`.
    pub(super) fn attributes(self) -> Result<Attributes, CpusetError> {
        let mut attributes = Attributes::default();
        for part in self.text.split('|').map(str::trim_ascii) {
            let mut all = Attribute::VARIANTS.iter().copied();
            let known = all.find(|known| part.eq_ignore_ascii_case(known.into()));
            let words = || Attribute::VARIANTS.iter().map(Into::into);
            let known = known.ok_or_else(|| CpusetError::UnknownAttribute {
                found: repeated(part.escape_debug()),
                nearest: nearest(&part.to_ascii_uppercase(), words(), MOST_TYPOS),
            })?;
            attributes = attributes.with(known);
        }
        Ok(attributes)
    }
}
