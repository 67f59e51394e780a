//! The words of the mapping language: those that are read, those that are written, and those of PRRTE and Open MPI that
//! are refused with the option to use instead; and the error that marks a wrong word. Pure.

use derive_more::Display;

use crate::request::cpu_bind::ObjectKind;
use crate::sets::text::marked;

/// Levels with the words that are read for each; the first one is written.
const LEVELS: [(ObjectKind, &[&str]); 7] = [
    (ObjectKind::Pu, &["hwthread", "hwt"]),
    (ObjectKind::Core, &["core"]),
    (ObjectKind::L1, &["l1cache", "l1"]),
    (ObjectKind::L2, &["l2cache", "l2"]),
    (ObjectKind::L3, &["l3cache", "l3"]),
    (ObjectKind::Numa, &["numa"]),
    (ObjectKind::Package, &["package", "socket"]),
];

/// Every level, for errors.
pub(super) const LEVEL_WORDS: &str = "hwthread, core, l1cache, l2cache, l3cache, numa, package";

/// The level of a word in small letters.
pub(super) fn level(word: &str) -> Option<ObjectKind> {
    let found = LEVELS.iter().find(|(_, words)| words.contains(&word));
    found.map(|(kind, _)| *kind)
}

/// The word of a level.
#[must_use]
pub fn level_word(kind: ObjectKind) -> &'static str {
    let found = LEVELS.iter().find(|(known, _)| *known == kind);
    found.and_then(|(_, words)| words.first()).unwrap_or(&"die")
}

/// The way to give tasks cores next to devices. srun has no option for it.
const NEAR: &str = "`berth plan --near=DEVICE --format masks` writes masks of cores next to a \
                    device for srun's --cpu-bind";

/// Words that berth does not have, with what to use instead.
const ELSEWHERE: [(&str, &str); 10] = [
    (
        "seq",
        "srun's --distribution=arbitrary reads the nodes from a file (SLURM_HOSTFILE)",
    ),
    (
        "rankfile",
        "srun's --distribution=arbitrary reads the nodes from a file (SLURM_HOSTFILE), and \
         --cpu-bind=map_cpu:LIST names the CPUs",
    ),
    (
        "file",
        "srun's --distribution=arbitrary reads the nodes from a file (SLURM_HOSTFILE)",
    ),
    ("dist", NEAR),
    ("device", NEAR),
    (
        "nolocal",
        "Slurm decides which tasks run on which node: use -m, or --exclude=NODE",
    ),
    ("interleave", NEAR),
    (
        "report",
        "--cpu-bind=verbose prints what each task is bound to",
    ),
    ("inherit", "a step never takes over the mapping of another"),
    (
        "noinherit",
        "a step never takes over the mapping of another",
    ),
];

/// Advice for a word of Open MPI's that berth does not have, where another option serves instead.
pub(super) fn instead(word: &str) -> Option<&'static str> {
    let name = word.split('=').next().unwrap_or(word);
    let found = ELSEWHERE.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// The full word of which `word` is a beginning, if there is just one.
pub(super) fn full_word(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let mut fits = known.iter().filter(|full| full.starts_with(word));
    match (fits.next(), fits.next()) {
        (Some(full), None) if !word.is_empty() => Some(full),
        _ => None,
    }
}

/// A wrong `--map-by`, `--rank-by` or `--bind-to`.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub struct MappingError(String);

impl MappingError {
    /// `what` is wrong at the byte `at` of an option's text.
    pub(super) fn at(option: &str, text: &str, at: usize, what: &str) -> Self {
        Self(format!("--{option}: {what}\n{}", marked(text, at)))
    }

    /// The text is longer than anything that is read; there is no wrong place to mark.
    pub(super) fn too_long(option: &str, most: usize) -> Self {
        Self(format!(
            "--{option}: longer than {most} bytes; write a shorter text, for example ranges such as 0-63 \
             in a list"
        ))
    }

    /// The options do not go together.
    pub(super) fn together(why: String) -> Self {
        Self(why)
    }
}

impl std::error::Error for MappingError {}
