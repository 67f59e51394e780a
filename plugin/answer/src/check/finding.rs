//! What a check finds: a trap, and the changes of words that may repair it.
//!
//! Lines and scripts of Grid Engine and LSF. They are recognised, and the page is named that has Slurm's words for
//! theirs: what such a script means hangs together too much for a translation word by word.

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

/// Another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    GridEngine,
    Lsf,
}

/// A line of another system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Its number, from 1.
    pub line: usize,
    pub system: System,
    /// Whether it is a directive of a script, which Slurm takes for a comment.
    pub is_directive: bool,
}

impl System {
    /// The system of a program.
    pub(super) fn of_program(name: &str) -> Option<Self> {
        match name {
            "qsub" | "qrsh" | "qlogin" => Some(Self::GridEngine),
            "bsub" | "jsrun" => Some(Self::Lsf),
            _ => None,
        }
    }

    /// The system of a comment that is a directive of its. `#$` stands before many a comment: only words that place
    /// a job count there.
    pub(super) fn of_comment(line: &[u8]) -> Option<Self> {
        if line.starts_with(b"#BSUB ") {
            return Some(Self::Lsf);
        }
        let words = line.strip_prefix(b"#$ ")?;
        let mut words = words.split(u8::is_ascii_whitespace);
        words
            .any(|word| word == b"-pe" || word == b"-binding")
            .then_some(System::GridEngine)
    }
}

impl Foreign {
    /// The finding: which page to read.
    pub(super) fn finding(self) -> Finding {
        let (rule, name, page) = match self.system {
            System::GridEngine => ("grid-engine", "Grid Engine", "from-grid-engine.md"),
            System::Lsf => ("lsf", "LSF", "coming-from.md"),
        };
        let what = match self.is_directive {
            true => "script",
            false => "line",
        };
        let found = format!("this is a {what} of {name}");
        let why = format!(
            "berth check reads Slurm's; the page docs/users/{page} has Slurm's words for those of {name}"
        );
        Finding::warning(self.line, rule, found, &why)
    }
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
