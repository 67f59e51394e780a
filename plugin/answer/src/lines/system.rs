//! Other systems: their programs, and the directives of their scripts.

use derive_more::Display;

/// Another system.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
pub(crate) enum System {
    #[display("Grid Engine")]
    GridEngine,
    #[display("LSF")]
    Lsf,
}

impl System {
    /// The system of a program.
    pub(crate) fn of_program(name: &str) -> Option<Self> {
        match name {
            "qsub" | "qrsh" | "qlogin" => Some(Self::GridEngine),
            "bsub" | "jsrun" => Some(Self::Lsf),
            _ => None,
        }
    }

    /// The system of a comment that is a directive of its. `#$` stands before many a comment: only words that place
    /// a job count there.
    pub(crate) fn of_comment(line: &[u8]) -> Option<Self> {
        if line.starts_with(b"#BSUB ") {
            return Some(Self::Lsf);
        }
        let words = line.strip_prefix(b"#$ ")?;
        let mut words = words.split(u8::is_ascii_whitespace);
        words
            .any(|word| word == b"-pe" || word == b"-binding")
            .then_some(System::GridEngine)
    }

    /// The page with Slurm's words for those of the system.
    pub(crate) fn page(self) -> String {
        let page = match self {
            Self::GridEngine => "from-grid-engine.md",
            Self::Lsf => "coming-from.md",
        };
        format!("the page docs/users/{page} has Slurm's words for those of {self}")
    }
}
