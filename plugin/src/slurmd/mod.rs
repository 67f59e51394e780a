//! What runs in slurmd, mostly under its prolog lock: nothing here waits for anybody.

pub(crate) mod accounting;
pub(crate) mod announce;
pub(crate) mod batch;
pub(crate) mod discovery;
pub(crate) mod launch;
pub(crate) mod launching;
pub(crate) mod shadow;
pub(crate) mod worker;
