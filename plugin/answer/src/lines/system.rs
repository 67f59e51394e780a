//! Other systems: their programs, and the directives of their scripts.

use derive_more::Display;

/// Another system.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
pub(crate) enum System {
    #[display("Grid Engine")]
    GridEngine,
    #[display("LSF")]
    Lsf,
    #[display("PBS")]
    Pbs,
    #[display("NQS")]
    Nqs,
}

/// How the directives of systems begin, `#$` apart.
const DIRECTIVES: [(&[u8], System); 4] = [
    (b"#BSUB ", System::Lsf),
    (b"#PBS ", System::Pbs),
    (b"#QSUB ", System::Nqs),
    (b"# QSUB ", System::Nqs),
];

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
        let mut directives = DIRECTIVES.into_iter();
        if let Some((_, system)) = directives.find(|(begin, _)| line.starts_with(begin)) {
            return Some(system);
        }
        let words = line.strip_prefix(b"#$ ")?;
        let mut words = words.split(u8::is_ascii_whitespace);
        words
            .any(|word| word == b"-pe" || word == b"-binding")
            .then_some(System::GridEngine)
    }

    /// Its name among the rules of `berth check`.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::GridEngine => "grid-engine",
            Self::Lsf => "lsf",
            Self::Pbs => "pbs",
            Self::Nqs => "nqs",
        }
    }

    /// The page with Slurm's words for those of the system.
    pub(crate) fn page(self) -> String {
        let page = match self {
            Self::GridEngine => "from-grid-engine.md",
            Self::Lsf | Self::Pbs | Self::Nqs => "coming-from.md",
        };
        format!("the page docs/users/{page} has Slurm's words for those of {self}")
    }
}
