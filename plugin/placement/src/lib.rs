//! All of berth's thinking: a request and a host give a plan.
//!
//! Same request, same host, same plan: no C, no system call, no clock, no
//! hidden state. The shared object and the command call the same function, so
//! a dry run is the truth.
//!
//! Read the files in the order of the pipeline:
//! [`request`] → [`host`] ([`machine`], [`shape`]) → [`available`] →
//! [`place`] ([`place_block`], [`place_cyclic`]) or [`explicit`] or
//! [`cores`] ([`linear`], [`striding`]) → [`memory`] →
//! [`plan`]. Which tasks a host gets of a step over several is [`across`].
#![forbid(unsafe_code)]

pub mod across;
pub mod available;
pub mod binding;
pub mod bounded;
mod by_binding;
pub mod chosen;
pub mod cores;
pub mod cpu_bind;
pub mod cpuset;
pub mod cpuset_text;
pub mod distribution;
pub mod error;
pub mod explicit;
pub mod fixes;
pub mod host;
pub mod host_list;
pub mod ids;
pub mod limits;
pub mod linear;
pub mod list;
pub mod machine;
pub mod mask_list;
pub mod mem_bind;
pub mod memory;
pub mod nodeset;
pub mod numbering;
pub mod occupied;
pub mod place;
pub mod place_block;
pub mod place_cyclic;
pub mod plan;
mod planner;
pub mod refusal;
pub mod request;
pub mod rule;
pub mod shape;
pub mod striding;
pub mod walk;

pub use across::{Across, TaskPlace};
pub use binding::Binding;
pub use chosen::Chosen;
pub use cpu_bind::{CpuBind, Level, Mode};
pub use cpuset::CpuSet;
pub use distribution::{AcrossHosts, Distribution, Order};
pub use error::{MachineError, TextError};
pub use fixes::{Fix, Fixes};
pub use host::{Host, PuTable};
pub use ids::{CoreIdx, CpuId, LocalId, NumaId};
pub use list::List;
pub use machine::{Core, Machine, NumaNode, Package, Parts, SocketKind};
pub use mask_list::MaskList;
pub use mem_bind::{MemBind, MemPolicy};
pub use memory::MemoryRefusal;
pub use nodeset::NodeSet;
pub use numbering::Numbering;
pub use occupied::Occupied;
pub use plan::{Message, Plan, TaskPlan, plan, plan_batch, plan_unwritten};
pub use refusal::{Note, Refusal, RefusalKind};
pub use request::{Allocation, CoreSpec, Request, Rules};
pub use rule::Rule;
pub use shape::Shape;
