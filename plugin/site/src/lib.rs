//! A site's settings, and slurmd's announcement of them: the words of berth's line in plugstack.conf, the files of
//! cpusets and pools, and the rules that decide which CPUs a task gets on a node.
//! In: texts. Out: values. `berth-host` reads and writes the files; nothing here makes a system call.
#![forbid(unsafe_code)]
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

pub mod announcement;
pub mod cpusets;
#[cfg(test)]
#[path = "../../discover/tests/common/facts.rs"]
mod facts_text;
mod lines;
pub mod pools;
pub mod read_settings;
#[cfg(test)]
mod read_settings_tests;
pub mod rules;
pub mod settings;

pub use announcement::Announcement;
pub use rules::SiteRules;
