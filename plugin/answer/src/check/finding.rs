//! A finding of a check: a trap, and the changes of words that may repair it.

use std::ops::Range;

use serde::Serialize;

/// How sure it is that a trap is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Warning,
    /// It may be intended, or depends on what the words do not say.
    Hint,
}

/// A change of bytes; an empty range is a place where something is put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

/// Changes that belong together.
pub(crate) type Repair = Vec<Edit>;

/// One change as a repair.
pub(crate) fn replaced(range: Range<usize>, text: impl Into<String>) -> Repair {
    let text = text.into();
    vec![Edit { range, text }]
}

/// A trap that a line has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The job file that it is in, if that is another than the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the script, from 1.
    pub line: usize,
    pub rule: &'static str,
    pub level: Level,
    pub found: String,
    pub why: String,
    /// The corrected lines of the text, the same for every warning; empty if there are none.
    pub instead: String,
    /// Ways to repair it, the best first. Each is tried before it is shown.
    #[serde(skip)]
    pub repairs: Vec<Repair>,
}

impl Finding {
    pub(crate) fn warning(line: usize, rule: &'static str, found: String, why: &str) -> Self {
        Self {
            file: None,
            line,
            rule,
            level: Level::Warning,
            found,
            why: why.into(),
            instead: String::new(),
            repairs: Vec::new(),
        }
    }

    /// This finding as a hint, where a hint is enough.
    pub(crate) fn hint_if(mut self, is_enough: bool) -> Self {
        if is_enough {
            self.level = Level::Hint;
        }
        self
    }

    /// This finding with one more way to repair it, if there is one.
    pub(crate) fn or(mut self, repair: Option<Repair>) -> Self {
        self.repairs.extend(repair);
        self
    }
}

/// A text with changes; changes that overlap are no repair. Its lines stay as many.
pub(crate) fn applied(text: &[u8], repair: &Repair) -> Option<Vec<u8>> {
    let mut edits: Vec<_> = repair.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let (mut out, mut at) = (Vec::new(), 0);
    for edit in edits {
        out.extend_from_slice(text.get(at..edit.range.start)?);
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.range.end;
    }
    out.extend_from_slice(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(range: Range<usize>, text: &str) -> Edit {
        let text = text.into();
        Edit { range, text }
    }

    #[test]
    fn edits_are_applied_from_the_front() {
        let both = vec![edit(4..6, "-n1"), edit(0..0, "x ")];
        assert_eq!(applied(b"abc -n ", &both).unwrap(), b"x abc -n1 ");
        let over = vec![edit(0..3, ""), edit(2..4, "")];
        assert_eq!(applied(b"abcdef", &over), None);
    }
}
