//! Lines and scripts of Grid Engine and LSF. They are recognised, and the page is named that has Slurm's words for
//! theirs: what such a script means hangs together too much for a translation word by word.

use super::finding::Finding;

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
