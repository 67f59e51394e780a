//! Requests in Open MPI's mapping language, played by srun with berth and by the mpirun that is
//! installed, on the machine we are on.

mod known;
mod mpirun;
mod random;

pub use known::reason;
pub use mpirun::{Ranks, ask, rank, version};
pub use random::requests;
