//! What travels from slurmd to slurmstepd in the launch message.

pub(crate) mod bits;
pub(crate) mod handover;
pub(crate) mod inherited;
pub(crate) mod names;
pub(crate) mod routes;
pub(crate) mod seal;
