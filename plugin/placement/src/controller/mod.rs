//! What slurmctld decides before a node is asked.

pub mod layout;
