//! Errors of Slurm's records. Each text names what to do.

/// Why a record could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// This process lacks a function or variable of Slurm.
    #[error(
        "berth needs Slurm's {0}, but this process does not have it; report the program and its \
         release"
    )]
    MissingSymbol(&'static str),
    /// The record holds no such thing for this launch.
    #[error("berth needs {what}, but the {record} has none; nothing is changed")]
    Absent {
        /// Which record.
        record: &'static str,
        /// Which part of it.
        what: &'static str,
    },
    /// The record contradicts itself.
    #[error("{record}: expected {expected}, found {found}; report this line and `slurmd -V`")]
    Nonsense {
        /// Which record.
        record: &'static str,
        /// The value of a sound record.
        expected: String,
        /// The value of this one.
        found: String,
    },
    /// The node is not in the job's host list.
    #[error(
        "node {node} is not in the job's host list, which has {hosts}; compare NodeName in \
         slurm.conf with slurmd's -N"
    )]
    NotInHostList {
        /// The name that was looked for.
        node: String,
        /// The list.
        hosts: String,
    },
    /// A text that C cannot hold.
    #[error(
        "a text for Slurm must hold no NUL byte (and a variable's name no '='), found {0:?}; leave it out"
    )]
    NotAText(String),
    /// A user's text is longer than makes sense.
    #[error("the {what} of this launch is longer than {limit} bytes; use a shorter one")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// The most that is read.
        limit: usize,
    },
    /// A user's list has more entries than makes sense.
    #[error("this launch has more than {limit} {what}; start it with fewer")]
    TooMany {
        /// The name of the entries.
        what: &'static str,
        /// The most that are read.
        limit: usize,
    },
    /// A function of Slurm failed.
    #[error("Slurm's {0} failed (code {1}); see the lines before this one in slurmd's log")]
    Failed(&'static str, i32),
    /// Slurm's allocator gave no memory.
    #[error("Slurm's allocator did not give {0} bytes; free memory on this node")]
    OutOfMemory(usize),
}
