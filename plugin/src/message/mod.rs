//! berth's part of the launch message, from slurmd to slurmstepd.

pub(crate) mod bits;
pub(crate) mod cpuset_size;
pub(crate) mod device_mark;
pub(crate) mod handover;
pub(crate) mod hex;
pub(crate) mod in_cpuset;
pub(crate) mod in_pool;
pub(crate) mod inherited;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod routes;
pub(crate) mod seal;
pub(crate) mod step;
