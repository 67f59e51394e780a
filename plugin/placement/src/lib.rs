//! All of berth's thinking: a request and a node give a plan.
//!
//! Same request, same node, same plan: no C, no system call, no clock, no
//! hidden state. The shared object and the command call the same function, so
//! a dry run is the truth.
//!
//! Start at [`plan()`], the one door, and read down: [`strategy`] chooses the CPUs and
//! gives an [`answer`]; [`owned`] says what the step may use; [`topology`] is the node,
//! [`request`] is what is asked, and [`sets`] holds the sets of both. Each of these uses
//! only those that are named after it (`ci/check` prints the arrows). Beside them,
//! [`controller`] says which tasks of a step a node gets, and [`pools`] how pool jobs and others share CPUs.
#![forbid(unsafe_code)]

pub mod answer;
pub mod controller;
pub mod owned;
pub mod plan;
pub mod pools;
pub mod request;
pub mod sets;
pub mod strategy;
pub mod topology;

pub use answer::cores::Chosen;
pub use answer::cpuset::{ChosenSet, Rejected, SetFrom, SetMemory};
pub use answer::cpuset_note::CpusetNote;
pub use answer::cpuset_refusal::CpusetRefusal;
pub use answer::decision::{Decision, LevelFrom, Rule, SharedOut, Unit};
pub use answer::device_note::DeviceNote;
pub use answer::device_order::DeviceOrder;
pub use answer::device_variables::DeviceVariables;
pub use answer::memory_note::MemoryNote;
pub use answer::memory_refusal::MemoryRefusal;
pub use answer::message::MaskList;
pub use answer::near::{Distance, Nearby};
pub use answer::near_note::NearNote;
pub use answer::near_refusal::NearRefusal;
pub use answer::note::Note;
pub use answer::plan::{Message, Plan, TaskPlan};
pub use answer::quality::Quality;
pub use answer::refusal::{Refusal, RefusalKind};
pub use controller::layout::{Across, TaskPlace};
pub use owned::Owned;
pub use plan::{near_beside_cpuset, plan, plan_batch, planned_on};
pub use request::claims::Claims;
pub use request::confine::{Confine, SiteConfine};
pub use request::cpu_bind::{CpuBind, Level, Mode};
pub use request::cpuset::{CpusetError, CpusetFail, CpusetName, CpusetRequest, StepCpuset};
pub use request::distribution::{AcrossHosts, Distribution, Order};
pub use request::fixes::{Fix, Fixes};
pub use request::grid_engine::Binding;
pub use request::mapping::{Mapping, MappingError};
pub use request::mem_bind::{MemBind, MemPolicy};
pub use request::near::{Gres, Near};
pub use request::pool::{PoolName, PoolWish};
pub use request::share::Share;
pub use request::wish::Wish;
pub use request::{Allocation, CoreSpec, Request, Rules};
pub use sets::count::{counted, either};
pub use sets::cpuset::CpuSet;
pub use sets::error::{MachineError, TextError};
pub use sets::ids::{CoreIdx, CpuId, LocalId, NumaId, PuIdx};
pub use sets::list::List;
pub use sets::nodeset::NodeSet;
pub use topology::devices::{Device, DeviceKind, PciAddress};
pub use topology::distance::Distances;
pub use topology::ecores::ECores;
pub use topology::kinds::CoreKind;
pub use topology::machine::{Machine, SocketKind};
pub use topology::node::Node;
pub use topology::numbering::Numbering;
pub use topology::object::ObjectKind;
pub use topology::parts::{Core, NumaNode, Package, Parts};
pub use topology::pu_table::PuTable;
pub use topology::shape::Shape;
