//! What a script is to the one around it, and what it writes.

use std::collections::BTreeMap;

/// What a script is to the one around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is the text that is checked.
    #[default]
    Whole,
    /// A line of sbatch submits it.
    Submitted,
    /// It runs in the same job.
    Part,
    /// srun's shell runs it in every task.
    InTasks,
}

/// Files that a script writes: the here-document that is the whole file, if that is known.
pub(super) type Written = BTreeMap<String, Option<usize>>;
