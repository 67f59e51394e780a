//! What this process knows of its node and its administrator: settings, log, counters.

#[cfg(test)]
pub(crate) mod count_allocations;
pub(crate) mod counters;
pub(crate) mod node;
pub(crate) mod settings;
pub(crate) mod slurm_log;
pub(crate) mod standing;
