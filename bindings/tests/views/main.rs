//! The records of every release, read and changed through the views.

mod batch_requests;
mod cgroup_conf;
mod client;
#[path = "../common/mod.rs"]
mod common;
mod credential;
mod environment;
mod fields;
mod gres;
mod known;
#[path = "../../../plugin/discover/tests/common/facts.rs"]
mod lines;
mod records;
mod requests;
mod sanity;
