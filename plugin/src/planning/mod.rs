//! From Slurm's records, the node and its ledger to a request and a plan, for slurmd and slurmstepd.

pub(crate) mod convert;
pub(crate) mod cpuset;
pub(crate) mod decided;
pub(crate) mod device_order;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod ours;
pub(crate) mod words;
