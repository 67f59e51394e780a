//! The values behind the keywords of a cpuset request.
//! In: a value's text. Out: what it stands for, or an error that shows what may stand there. Pure.

use strum::VariantArray;

use crate::request::cpuset::attributes::{Attribute, Attributes};
use crate::request::cpuset::cpu_list::CpuList;
use crate::request::cpuset::error::CpusetError;
use crate::request::cpuset::keyword::Keyword;
use crate::request::cpuset::name::CpusetName;
use crate::sets::bounded::repeated;
use crate::sets::cpuset_text::parse_number;
use crate::sets::ids::{CpuId, NumaId};
use crate::sets::limits::{MAX_CPUS, MAX_ENTRIES};
use crate::sets::nearest::{FAR, nearest};
use crate::sets::nodeset::NodeSet;

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
                nearest: nearest(&part.to_ascii_uppercase(), words(), FAR),
            })?;
            attributes = attributes.with(known);
        }
        Ok(attributes)
    }
}
