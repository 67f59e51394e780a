//! All of berth's thinking: a request and a node give a plan.
//!
//! Same request, same node, same plan: no C, no system call, no clock, no
//! hidden state. The shared object and the command call the same function, so
//! a dry run is the truth.
//!
//! Start at [`plan()`], the one door, and read down: [`strategy`] chooses the CPUs and
//! gives an [`answer`]; [`owned`] says what the step may use; [`topology`] is the node,
//! [`request`] is what is asked, and [`sets`] holds the sets of both. Each of these uses
//! only those that are named after it (`ci/arrows` prints the arrows). Beside them,
//! [`controller`] says which tasks of a step a node gets, and [`pools`] how pool jobs and others share CPUs.
#![forbid(unsafe_code)]

pub mod answer;
pub mod controller;
#[cfg(test)]
#[path = "../../discover/tests/common/facts.rs"]
mod facts_text;
pub mod owned;
pub mod plan;
pub mod pools;
pub mod request;
pub mod sets;
pub mod strategy;
pub mod topology;
#[cfg(test)]
mod words_tests;

pub use answer::cores::Chosen;
pub use answer::cpuset::{ChosenSet, CpusetNote, CpusetRefusal, Rejected, SetFrom, SetMemory};
pub use answer::decision::{Decision, LevelFrom, Rule, SharedOut, Unit};
pub use answer::device_order::{DeviceNote, DeviceOrder, DeviceRun};
pub use answer::device_variables::DeviceVariables;
pub use answer::near::{Distance, NearNote, NearRefusal, Nearby};
pub use answer::note::{MemoryNote, Note};
pub use answer::plan::{MaskList, Message, Plan, TaskPlan};
pub use answer::quality::Quality;
pub use answer::refusal::{MemoryRefusal, Refusal, RefusalKind};
pub use controller::{Across, TaskPlace};
pub use owned::Owned;
pub use plan::{near_beside_cpuset, plan, plan_batch, planned_on};
pub use request::cpu_bind::{CpuBind, Level, Mode};
pub use request::cpuset::{CpusetError, CpusetFail, CpusetName, CpusetRequest, StepCpuset};
pub use request::distribution::{AcrossHosts, Distribution, Order};
pub use request::fixes::{Fix, Fixes};
pub use request::grid_engine::{Binding, Share};
pub use request::keyword_options::{Confine, PoolName, PoolWish, SiteConfine};
pub use request::mapping::{Mapping, MappingError};
pub use request::mem_bind::{MemBind, MemPolicy};
pub use request::near::{Gres, Near};
pub use request::wish::Wish;
pub use request::{Allocation, Claims, CoreSpec, Request, Rules};
pub use sets::cpuset::{CpuSet, NodeSet};
pub use sets::ids::{CoreIdx, CpuId, LocalId, NumaId, PuIdx};
pub use sets::list::List;
pub use sets::text::{TextError, counted, either};
pub use topology::core_kinds::ECores;
pub use topology::devices::{Device, DeviceKind, PciAddress};
pub use topology::machine::{Machine, SocketKind};
pub use topology::node::Node;
pub use topology::numa::Distances;
pub use topology::numbering::Numbering;
pub use topology::objects::ObjectKind;
pub use topology::parts::{Core, CoreKind, MachineError, NumaNode, Package, Parts};
pub use topology::pu_table::PuTable;
pub use topology::shape::Shape;
