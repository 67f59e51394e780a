//! Our launch hook against the distribution's own task/affinity, on the same records.
//!
//! A host program stands in for slurmd: it has slurmd's `conf`, answers for the credential and
//! for libnuma, and calls `task_p_slurmd_launch_request` of both objects with requests made at
//! random from a printed seed. Left out:
//! - machines of more than 1024 CPUs: task/affinity's masks end there;
//! - a slurm.conf whose sockets do not divide the machine's CPUs evenly: it reads past its map
//!   (`_blot_mask_sockets`);
//! - memory domains of a machine whose CPUs are more than sockets × cores × threads: it keeps
//!   that many of their numbers and reads past the last one (`slurm_get_numa_node`);
//! - `threads_per_core` of 65535, which it takes for a limit and we for "not given".
//!
//! Where task/affinity leaves a mode to slurmstepd (`rank`, `rank_ldom`, `map_ldom`, `mask_ldom` on
//! a whole node), its own look-up (`get_cpuset`) says what each task gets, from its answer and from
//! ours. Counted apart (`Verdict::Aside`): `rank` with more tasks than CPUs, or on a map with holes.
//!
//! berth's default is compared too (`by_fix`): what differs is claimed by fixes whose condition
//! holds (`conditions`), and gone without them. Two other proofs ask our object alone: whole messages such as no client
//! sends (`messages`), and the system calls of a launch (`calls`).

pub mod aim;
pub mod allocation;
pub mod answer;
pub(crate) mod arena;
pub mod bench;
pub mod blocks;
pub mod by_fix;
pub mod calls;
pub mod case;
pub mod compare;
pub mod comparison;
pub mod conditions;
pub mod generate;
#[path = "../../../plugin/placement/tests/engine/harness/mod.rs"]
mod harness;
pub mod host;
pub mod irregular;
pub mod lists;
pub mod machine;
pub mod message;
pub mod messages;
pub mod numa;
pub mod object;
pub mod options;
pub mod pair;
pub mod part;
pub mod paths;
pub mod record;
pub mod report;
pub mod run;
pub mod slurmd;
pub mod stepd;
pub mod tree;
pub mod walk;

pub use harness::random;
