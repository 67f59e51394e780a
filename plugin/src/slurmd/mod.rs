//! The code that runs in slurmd, mostly under its prolog lock. Nothing here waits for anybody.

pub(crate) mod announce;
pub(crate) mod batch;
pub(crate) mod complaints;
pub(crate) mod cpusets;
pub(crate) mod discovery;
pub(crate) mod gres;
pub(crate) mod host;
pub(crate) mod key;
pub(crate) mod launch;
mod near;
mod one_shot;
pub(crate) mod pool;
pub(crate) mod pools;
pub(crate) mod ready;
pub(crate) mod refresh;
pub(crate) mod refusal;
mod requested_step;
mod reserved;
pub(crate) mod shadow;
mod site_file;
mod step_cpuset;
mod stop;
