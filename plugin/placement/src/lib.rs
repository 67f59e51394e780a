//! All of berth's thinking: a request and a node give a plan.
//!
//! Same request, same node, same plan: no C, no system call, no clock, no
//! hidden state. The shared object and the command call the same function, so
//! a dry run is the truth.
//!
//! Read the folders in the order of the pipeline: [`request`] and [`topology`] →
//! [`owned`] → [`strategy`] → [`answer`] → [`plan()`]. Which tasks a node gets of
//! a step over several is [`controller`]. Each folder uses only those before it
//! (`ci/check` draws the arrows).
#![forbid(unsafe_code)]

pub mod answer;
pub mod controller;
pub mod owned;
pub mod plan;
pub mod request;
pub mod sets;
pub mod strategy;
pub mod topology;

pub use answer::cores::Chosen;
pub use answer::memory::MemoryRefusal;
pub use answer::message::MaskList;
pub use answer::refusal::{Note, Refusal, RefusalKind};
pub use answer::rule::Rule;
pub use controller::layout::{Across, TaskPlace};
pub use plan::{Message, Plan, TaskPlan, plan, plan_batch, plan_unwritten};
pub use request::claims::Occupied;
pub use request::cpu_bind::{CpuBind, Level, Mode};
pub use request::distribution::{AcrossHosts, Distribution, Order};
pub use request::fixes::{Fix, Fixes};
pub use request::grid_engine::Binding;
pub use request::mem_bind::{MemBind, MemPolicy};
pub use request::{Allocation, CoreSpec, Request, Rules};
pub use sets::cpuset::CpuSet;
pub use sets::error::{MachineError, TextError};
pub use sets::ids::{CoreIdx, CpuId, LocalId, NumaId};
pub use sets::list::List;
pub use sets::nodeset::NodeSet;
pub use topology::host::{Host, PuTable};
pub use topology::machine::{Core, Machine, NumaNode, Package, Parts, SocketKind};
pub use topology::numbering::Numbering;
pub use topology::shape::Shape;
