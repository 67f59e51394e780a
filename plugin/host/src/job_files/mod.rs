//! What berth keeps of a job on its node while the job is there: the node's facts, which slurmstepd
//! leaves, and slurmctld's answer of the prolog. A root-owned file each, which the job's owner may read.
//! In: the node's state directory and a job. Out: `jobs/JOB.node`, `jobs/JOB.answer`, and locks on
//! `jobs/living` of the steps that live.

mod acl;
mod facts;
mod folder;
mod living;
mod tidy;

pub use facts::{Gres, NodeFacts};
pub use folder::{JobFilesError, Kind, forget, prepare, put, read, renew};
pub use living::{Living, begin_step};
pub use tidy::tidy;
