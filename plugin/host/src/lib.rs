//! Touches the kernel for berth: affinity, cgroups, memory policy, online CPUs, the machine file, the
//! ledger, the state directory, the site's files, and the child that discovers the machine.
//!
//! It runs as root inside slurmd and slurmstepd: nothing here panics, nothing
//! trusts a file or directory that a user could have written, and every error
//! states what was requested, what was found and what to do. It does not use hwloc.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![deny(
    clippy::exit,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unreachable,
    clippy::unwrap_used
)]

pub mod affinity;
pub mod announcement;
pub mod atomic_file;
pub mod cgroup;
pub mod command_path;
pub mod discover_child;
#[cfg(test)]
#[path = "../../discover/tests/common/facts.rs"]
mod facts_text;
pub mod job_cgroup;
pub mod job_files;
pub mod kernel_text;
pub mod key;
pub mod ledger;
mod lock;
pub mod machine_file;
mod machine_json;
pub mod memory;
pub mod metrics;
pub mod online;
pub mod plugstack;
mod process_stat;
pub mod script_file;
pub mod site_file;
pub mod spawn;
pub mod state;
pub mod trust;

pub use affinity::{AffinityError, Reachable, affinity_of, bind_threads, reachable, set_affinity};
pub use ledger::{Ledger, LedgerError};
pub use machine_file::{MachineFile, MachineFileError};
pub use online::{OnlineCpus, Proof};
pub use process_stat::living_thread;
pub use state::{StateDir, StateError};

pub use trust::TrustError;
