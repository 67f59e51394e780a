//! srun's command line in one place: the options of each release line, a reader of lines that keeps
//! unknown words, the meaning of values, and the options that srun derives from them.
//!
//! Read the modules in this order: [`release`] → [`options`] (the table) → [`mod@line`] (words to
//! options) → [`spelling`] (values) → [`reading`] (one option derived from others) →
//! [`submission`] (what the submitting command can know of a job). [`number`] and
//! [`node_lists`] serve them. [`reading::selection`] and [`conf`] (slurm.conf) read what the model of
//! slurmctld's selection takes. Everything here follows Slurm's sources and is compared with the real
//! srun (`tests/srun-lines.txt`).
//!
//! ```
//! use berth_srun::{Release, line, options::Command, reading};
//!
//! let line = line::read(&["-n4", "--hint=nomultithread", "./app"], Command::Srun, None);
//! let request = reading::read(&line.options, Release::V22_05).unwrap();
//! assert_eq!(request.tasks(), 4);
//! assert_eq!(request.threads_per_core, Some(1));
//! assert_eq!(line.program, ["./app"]);
//! ```
#![forbid(unsafe_code)]

pub mod conf;
#[cfg(test)]
mod facts;
#[cfg(test)]
#[path = "../../discover/tests/common/facts.rs"]
mod facts_text;
pub mod inherited;
pub mod line;
pub mod node_lists;
pub mod number;
pub mod options;
mod own_request;
#[cfg(test)]
#[path = "../../discover/tests/common/mod.rs"]
mod random;
pub mod reading;
pub mod release;
pub mod spelling;
pub mod submission;

pub use conf::Config;
pub use line::{Line, LineOption};
pub use options::{Command as Program, Own};
pub use own_request::OwnRequest;
pub use reading::{Refused, SrunRequest};
pub use release::Release;
