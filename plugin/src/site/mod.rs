//! This process's knowledge of its node and of the administrator's wishes: settings, log, metrics.

#[cfg(test)]
pub(crate) mod count_allocations;
pub(crate) mod metrics;
pub(crate) mod node;
pub(crate) mod settings;
pub(crate) mod slurm_log;
pub(crate) mod standing;
