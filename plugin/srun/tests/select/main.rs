//! Which nodes and cores slurmctld gives: the model against recorded answers, and rule by rule.

mod facts;
#[path = "../../../discover/tests/common/facts.rs"]
mod lines;
mod real;
mod world;
