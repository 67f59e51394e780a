//! The code that runs in slurmd, mostly under its prolog lock. Nothing here waits for anybody.

pub(crate) mod announce;
pub(crate) mod batch;
pub(crate) mod complaints;
mod cpuset;
pub(crate) mod discovery;
pub(crate) mod host;
pub(crate) mod key;
pub(crate) mod launch;
mod near;
pub(crate) mod pool;
pub(crate) mod ready;
pub(crate) mod refresh;
pub(crate) mod refusal;
mod requested_step;
mod reserved;
pub(crate) mod shadow;
mod site_file;
