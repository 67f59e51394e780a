//! All of berth's thinking: a request and a host give a plan.
//!
//! Same request, same host, same plan: no C, no system call, no clock, no
//! hidden state. The shared object and the command call the same function, so
//! a dry run is the truth.
#![forbid(unsafe_code)]

pub mod cpuset;
pub mod cpuset_text;
pub mod error;
pub mod ids;
pub mod machine;

pub use cpuset::{CpuSet, NodeSet};
pub use error::{MachineError, TextError};
pub use machine::{Core, Machine, NumaNode, Package, Parts, SocketKind};
