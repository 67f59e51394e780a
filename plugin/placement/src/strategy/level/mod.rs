//! Tasks placed on the objects of a level, in the order of `-m`.

pub mod block;
pub mod cyclic;
pub mod place;
pub mod walk;
