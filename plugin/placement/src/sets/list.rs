//! Lists with repeats, as srun writes them: `0x3*4,0xc`. Task *i* takes entry *i*, and a list
//! that is too short begins again. Repeats stay counts, so `*65000` takes no memory.
//! In: the text of a list. Out: its entries by number. Pure; bounded by [`crate::sets::limits`].

use std::fmt;

use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{LIST_BYTES, MAX_ENTRIES};
use crate::sets::text::TextError;

/// Entries, each with the number of the first one behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct List<T>(Vec<(T, u32)>);

impl<T> List<T> {
    /// Reads a comma list with `value*count` repeats. `what` names it for the error.
    ///
    /// # Errors
    /// [`TextError`] for a part that cannot be read, and for a list that is too long.
    pub(crate) fn read(
        text: &str,
        what: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Self, TextError> {
        if text.len() > LIST_BYTES {
            let wanted = format!("a list of {what} within {LIST_BYTES} bytes");
            return Err(TextError::new(text, &wanted));
        }
        let wrong = |part: &str| TextError::new(part, &format!("in a list of {what}"));
        let mut list = Self(Vec::new());
        for part in text.split(',') {
            let (value, count) = part.split_once('*').unwrap_or((part, "1"));
            let count = parse_number(count).filter(|count| *count > 0);
            let (Some(value), Some(count)) = (read(value), count) else {
                return Err(wrong(part));
            };
            list.push(value, count).ok_or_else(|| {
                TextError::new(part, &format!("within {MAX_ENTRIES} entries of a list"))
            })?;
        }
        Ok(list)
    }

    fn push(&mut self, value: T, count: u32) -> Option<()> {
        let end = self.len().checked_add(count)?;
        (end <= MAX_ENTRIES).then(|| self.0.push((value, end)))
    }

    /// One entry, for every task.
    #[must_use]
    pub fn same(value: T) -> Self {
        Self(vec![(value, 1)])
    }

    /// The number of entries, repeats counted.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.last().map_or(0, |(_, end)| *end)
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry of a task; a list that is too short begins again. `None` only for no entries.
    #[must_use]
    pub fn of_task(&self, id: u32) -> Option<&T> {
        let id = id.checked_rem(self.len())?;
        let at = match self.0.len() == self.len() as usize {
            true => id as usize,
            false => self.0.partition_point(|(_, end)| *end <= id),
        };
        self.0.get(at).map(|(value, _)| value)
    }

    /// The values as they were written, each with its repeats.
    pub fn parts(&self) -> impl Iterator<Item = (&T, u32)> {
        let starts = std::iter::once(0).chain(self.0.iter().map(|(_, end)| *end));
        let parts = self.0.iter().zip(starts);
        parts.map(|((value, end), start)| (value, *end - start))
    }

    /// Every entry, repeats one by one.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts()
            .flat_map(|(value, count)| std::iter::repeat_n(value, count as usize))
    }

    /// This list with other values; each value keeps its repeats.
    #[must_use]
    pub fn map<U>(&self, mut make: impl FnMut(&T) -> U) -> List<U> {
        let made = self.0.iter().map(|(value, end)| (make(value), *end));
        List(made.collect())
    }

    /// Writes it as it was written: parts with commas between, repeats as `*count`.
    pub(crate) fn write(
        &self,
        out: &mut impl fmt::Write,
        mut value: impl FnMut(&T, &mut dyn fmt::Write) -> fmt::Result,
    ) -> fmt::Result {
        for (at, (one, count)) in self.parts().enumerate() {
            out.write_str(if at > 0 { "," } else { "" })?;
            value(one, out)?;
            if count > 1 {
                write!(out, "*{count}")?;
            }
        }
        Ok(())
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().zip(1..).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<List<u32>, TextError> {
        List::read(text, "numbers", parse_number)
    }

    #[test]
    fn tasks_take_entries_and_begin_again() {
        let list = read("7,8*3,9").unwrap();
        let taken: Vec<_> = (0..7).filter_map(|id| list.of_task(id)).collect();
        assert_eq!(taken, [&7, &8, &8, &8, &9, &7, &8]);
        assert_eq!(list.iter().count(), 5);
        assert_eq!(list.len(), 5);
        let mut text = String::new();
        list.write(&mut text, |one, out| write!(out, "{one}"))
            .unwrap();
        assert_eq!(text, "7,8*3,9");
        assert_eq!(List::<u32>::default().of_task(3), None);
    }

    #[test]
    fn repeats_are_counted_not_made() {
        let list = read("1*65000,2*536").unwrap();
        assert_eq!((list.len(), list.0.len()), (65536, 2));
        assert!(read("1*65000,2*537").is_err());
        assert!(read("1*4294967295,1*4294967295").is_err());
        let long = "1,".repeat(LIST_BYTES);
        let told = read(&long).unwrap_err().to_string();
        assert!(told.len() < 200 && told.contains("4194304 bytes"), "{told}");
    }
}
