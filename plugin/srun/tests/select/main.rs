//! Which nodes and cores slurmctld gives: the model against recorded answers, and rule by rule.

mod cores;
mod edges;
mod jobs;
mod real;
mod releases;
mod steps;
mod world;
