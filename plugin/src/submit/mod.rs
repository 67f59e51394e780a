//! The code that runs in srun, sbatch and salloc: the option, and requests that can never be served.

mod cpuset;
pub(crate) mod option;

/// A variable of the command's environment.
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
