//! The code that runs in slurmd, mostly under its prolog lock. Nothing here waits for anybody.

pub(crate) mod accounting;
pub(crate) mod announce;
mod asked;
pub(crate) mod batch;
pub(crate) mod complaints;
pub(crate) mod counting;
pub(crate) mod cpusets;
mod device_order;
pub(crate) mod discovery;
pub(crate) mod gres;
pub(crate) mod host;
mod in_cpuset;
mod job_cpusets;
pub(crate) mod key;
pub(crate) mod launch;
pub(crate) mod launching;
mod near;
pub(crate) mod open_ledger;
pub(crate) mod ready;
pub(crate) mod refusal;
mod reserved;
mod settled;
pub(crate) mod shadow;
mod step_cpuset;
mod stop;
pub(crate) mod worker;
