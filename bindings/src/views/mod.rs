//! Safe views of Slurm's records: there is one file per record, and views return owned values.
//!
//! A view is made by an `unsafe fn from_raw`, whose caller promises that Slurm keeps the record
//! until the hook returns and that the table is the running release's; nothing is kept of it
//! afterwards. After that every call is safe.

mod batch;
mod credential;
mod environment;
mod gres;
mod launch;
mod options;
mod slurm_conf;
mod slurmd_conf;
mod step;
mod values;

pub use batch::BatchRequest;
pub use credential::{Credential, NodeCores};
pub use environment::{Change, Environment, Get, TaskEnvironment};
pub use gres::{Gres, GresDevices, TypedGres};
pub use launch::LaunchRequest;
pub use options::SpankOption;
pub use slurm_conf::{Counting, SlurmConf};
pub use slurmd_conf::SlurmdConf;
pub use step::{ChildIds, StepRecord, TaskInfo};
pub use values::{CoreSpec, StepId, StepKind};
