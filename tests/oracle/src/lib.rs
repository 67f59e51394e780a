//! Our launch hook against the distribution's own task/affinity, on the same records.
//!
//! A host program stands in for slurmd: it has slurmd's `conf`, answers for the credential and
//! for libnuma, and calls `task_p_slurmd_launch_request` of both objects with requests made at
//! random from a printed seed. Left out:
//! - machines of more than 1024 CPUs: task/affinity's masks end there;
//! - a slurm.conf whose sockets do not divide the machine's CPUs evenly: it reads past its map
//!   (`_blot_mask_sockets`);
//! - `threads_per_core` of 65535, which it takes for a limit and we for "not given".
//!
//! Compared and counted apart, since they differ on purpose (`known` in `compare.rs`): empty masks
//! in a list, and steps whose CPUs are all specialised away.

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
pub mod stepd;
