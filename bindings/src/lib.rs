//! Slurm's private records, for every release line we know, in one build.
//!
//! `layout` holds the place of each release's fields, `running` finds the release that we are in,
//! `symbols` finds Slurm's functions at run time, and `views` reads the records through both.
//! Everything above this crate sees owned values. Source of all offsets and constants:
//! `bindings/layouts.json`.
//!
//! All of this runs as root inside slurmd, so nothing here panics.
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

pub mod cgroup_conf;
pub mod error;
#[cfg(feature = "headers")]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "names and comments are those of Slurm's headers"
)]
#[allow(
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "bindgen writes this code"
)]
pub mod headers {
    //! Slurm's public headers on the build machine. Only tests read them.
    include!(concat!(env!("OUT_DIR"), "/headers.rs"));
}
pub mod layout;
pub mod line;
mod loaded;
pub mod log;
mod probe;
pub mod process;
mod record;
pub mod running;
pub mod sanity;
pub mod symbols;
pub mod views;

/// `SLURM_SUCCESS`, in every release: a hook returns it unless something failed.
pub const SUCCESS: std::ffi::c_int = 0;

pub use cgroup_conf::CgroupConf;
pub use error::Error;
pub use layout::{Chosen, Layout, choose};
pub use line::{Line, UnknownLine, Version};
pub use process::Identity;
pub use record::set_err_msg;
pub use running::Slurm;
pub use symbols::Symbols;
pub use views::{
    BatchRequest, CoreSpec, Counting, Credential, Gres, GresDevices, LaunchRequest, NodeCores,
    SlurmConf, SlurmdConf, StepId, StepKind, StepRecord, TaskInfo, TypedGres,
};
