//! The exported symbols: each is a guard and a call.

pub(crate) mod guard;
pub(crate) mod identity;
pub(crate) mod register;
pub(crate) mod spank;
pub(crate) mod task;
