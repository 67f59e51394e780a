//! Our launch hook against the distribution's own task/affinity, on the same records.
//!
//! A host program stands in for slurmd: it has slurmd's `conf`, answers for the credential and
//! for libnuma, and calls `task_p_slurmd_launch_request` of both objects with requests made at
//! random from a printed seed. Left out, because task/affinity reads past its arrays or has no
//! answer there: machines of more than 1024 CPUs (its masks end there), a slurm.conf that says
//! more than the machine has and does not divide it evenly (`_blot_mask` and `_blot_mask_sockets`
//! read past the map), and steps whose CPUs are all specialised away (`known` in `compare.rs`).

pub mod allocation;
pub mod answer;
pub mod bench;
pub mod case;
pub mod child;
pub mod compare;
pub mod generate;
pub mod host;
pub mod lists;
pub mod machine;
pub mod numa;
pub mod object;
pub mod parent;
pub mod paths;
pub mod plan_line;
pub mod random;
pub mod record;
pub mod slurmd;
