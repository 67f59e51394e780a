//! `--near`: machine, devices, request, CPUs. Tables of exact answers, then laws on random machines.

#[path = "../common/mod.rs"]
mod common;
mod devices;
mod laws;
mod making;
mod mapped;
mod narrow;
mod places;
mod published;
mod variables;
