//! Lines of Slurm's commands: srun's own, and those that make a job. They are read into what the rest of a question
//! needs; nothing is planned here.

pub(crate) mod job;
mod mpirun;
mod no_answer;
pub(crate) mod plan_args;
pub(crate) mod srun;

pub use job::Script;
pub(crate) use job::base;
pub(crate) use no_answer::NOT_MODELLED;
pub use no_answer::{NoAnswer, Unusable};
