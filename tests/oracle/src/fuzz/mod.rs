//! Whole launch messages at random through the real hooks of slurmd: whatever a client of a user's
//! own can put into one, but never the credential, which slurmctld has signed, and never an array
//! that is shorter than slurmd's own unpacking leaves it (`_unpack_launch_tasks_request_msg`).

pub mod child;
pub mod environment;
pub mod log;
pub mod making;
pub mod memory;
pub mod record;
pub mod sending;
pub mod text;
