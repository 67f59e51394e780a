//! From Slurm's records to a request of the engine.

pub(crate) mod convert;
pub(crate) mod decided;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod node_counts;
pub(crate) mod script;
pub(crate) mod words;
