//! Why a step cannot run as requested. Each text states what was requested, what was
//! found and what to do; srun prints it.

use derive_more::Display;

use crate::answer::cpuset::CpusetRefusal;
use crate::answer::mapping::MappingRefusal;
use crate::answer::near::NearRefusal;
use crate::request::cpu_bind::Mode;
use crate::request::keyword_options::CoreKindWish;
use crate::request::mapping::Mapping;
use crate::request::mem_bind::MemPolicy;
use crate::request::near::Near;
use crate::request::wish::Contradiction;
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::LocalId;
use crate::sets::text::{counted, either, repeated};

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum Refusal {
    /// A list names CPUs that the step does not own.
    #[display("{}", names_others(requested, outside, own, *narrowed))]
    Outside {
        /// The requested value.
        requested: Mode,
        /// The named CPUs that do not belong to the step.
        outside: CpuSet,
        /// The step's CPUs.
        own: CpuSet,
        /// The option or setting that takes the CPUs outside away from the step.
        narrowed: Option<Narrowed>,
    },
    /// A mode that numbers the whole host, on a part of one.
    #[display(
        "--cpu-bind={} numbers the CPUs of the whole node{} use --cpu-bind=cores or ldoms",
        repeated(requested),
        part_of_host(own, *narrowed)
    )]
    NeedsWholeHost {
        /// The requested value.
        requested: Mode,
        /// The step's CPUs.
        own: CpuSet,
        /// The reason why a step with the whole host has only a part of it.
        narrowed: Option<Narrowed>,
    },
    /// A memory domain that does not exist.
    #[display(
        "--cpu-bind requests NUMA node {requested}; this node has NUMA nodes {found}; name one of those"
    )]
    NoSuchDomain {
        /// The requested number.
        requested: u32,
        /// The existing numbers, as a list.
        found: String,
    },
    /// Memory domains are requested, but the machine tree is unknown.
    #[display(
        "--cpu-bind requests NUMA nodes; berth does not know those of this node, because its machine file is \
         missing; use --cpu-bind=sockets, and ask the administrator to run `berth discover`"
    )]
    DomainsUnknown,
    /// The allocation has no CPU of this host.
    NothingOwned(NoCpu),
    /// The tasks do not fit.
    #[display("{}", no_place(*why, *tasks, *cpus_per_task, *threads_per_core, own))]
    NoPlace {
        /// Why.
        why: NoPlace,
        /// Tasks on this host.
        tasks: u32,
        /// CPUs per task.
        cpus_per_task: u32,
        /// `--threads-per-core`, or what a hint made of it.
        threads_per_core: Option<u32>,
        /// The step's CPUs.
        own: CpuSet,
    },
    /// Two options both choose the CPUs.
    #[display("{one} and {other} both choose the CPUs; drop one of them")]
    Contradiction {
        /// The one, as it is typed.
        one: String,
        /// The other.
        other: String,
    },
    /// A `--binding` cannot be served, and the site or the user makes that an error.
    BindingFailed(String),
    /// The machine has no such kind of cores, or the step owns none of them.
    #[display("--core-kind={requested} is requested; {}", no_core_kind(*on_machine))]
    NoCoreKind {
        /// The requested kind.
        requested: CoreKindWish,
        /// Whether the machine has it.
        on_machine: bool,
    },
    /// A task that would get no CPU: a zero mask in a list.
    #[display(
        "--cpu-bind gives task {_0} on this node an empty mask; every task needs a CPU; name one"
    )]
    EmptyMask(LocalId),
    /// A cpuset that cannot be had.
    Cpuset(CpusetRefusal),
    /// A `--near` that cannot be served.
    Near(NearRefusal),
    /// A mapping that cannot be served.
    #[display("{requested}: {why}")]
    Mapping {
        /// The options as they are typed.
        requested: String,
        /// Why.
        why: MappingRefusal,
    },
    /// The `--mem-bind` cannot be served.
    Memory(MemoryRefusal),
    /// The launch request has no task for this host.
    #[display("the launch request has no task for this node; nothing can be bound")]
    NoTasks,
}

/// An option or a setting that takes CPUs away from a step, which would own them otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrowed {
    /// `--core-kind`.
    Kind(CoreKindWish),
    /// The site keeps CPUs free.
    Reserved,
    /// The job's cpuset.
    Cpuset,
}

/// Why a step has no CPU of this host.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum NoCpu {
    /// Its credential names none.
    #[display(
        "this step owns no CPU of this node; slurmctld and slurmd disagree about the node: the administrator \
         should compare `slurmd -C` with slurm.conf"
    )]
    Credential,
    /// `--thread-spec` keeps so many hardware threads, and these are all.
    #[display(
        "--thread-spec={_0} leaves this step no CPU of this node; use a smaller --thread-spec"
    )]
    Specialised(u32),
    /// It was given CPUs by number, and this host has none of them.
    #[display(
        "this step's CPUs ({}) are not on this node, which has {node}; name CPUs of this node",
        repeated(named)
    )]
    NotHere {
        /// The numbers.
        named: CpuSet,
        /// The host's.
        node: CpuSet,
    },
}

/// Why tasks could not be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// One task's CPUs do not fit if only some threads of each core may be used.
    ThreadsPerCore {
        /// Hardware threads needed.
        needed: u32,
    },
    /// More tasks than CPUs.
    TooManyTasks,
    /// No task could be completed in a whole round.
    Stuck,
}

/// Which of slurmd's error numbers a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// `ESLURMD_CPU_BIND_ERROR`.
    Bind,
    /// `ESLURMD_CPU_LAYOUT_ERROR`.
    Layout,
}

impl Refusal {
    /// The error number's kind.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        match self {
            Self::NoPlace { .. } | Self::NothingOwned(_) | Self::NoTasks => RefusalKind::Layout,
            _ => RefusalKind::Bind,
        }
    }

    /// Whether the reason is that the machine tree is unknown.
    #[must_use]
    pub fn lacks_tree(&self) -> bool {
        match self {
            Self::DomainsUnknown => true,
            Self::NoCoreKind { on_machine, .. } => !on_machine,
            Self::Near(why) => matches!(why, NearRefusal::Unknown(_)),
            Self::Mapping { why, .. } => *why == MappingRefusal::NoTree,
            Self::Memory(why) => matches!(why, MemoryRefusal::Unknown { .. }),
            _ => false,
        }
    }

    pub(crate) fn mapping(requested: &Mapping, near: Option<&Near>, why: MappingRefusal) -> Self {
        let beside = near.map(|near| format!(" with --near={}", repeated(near)));
        Self::Mapping {
            requested: repeated(requested) + &beside.unwrap_or_default(),
            why,
        }
    }
}

fn names_others(
    requested: &Mode,
    outside: &CpuSet,
    own: &CpuSet,
    narrowed: Option<Narrowed>,
) -> String {
    let noun = |cpus: &CpuSet| either(&cpus.count(), "CPU", "CPUs");
    let owns = match narrowed {
        Some(narrowed) => narrowed.leaves(own),
        None => format!(
            "this step owns {} {} on this node",
            noun(own),
            repeated(own)
        ),
    };
    format!(
        "--cpu-bind={} names {} {}; {owns}; name only those, or let --cpu-bind=cores choose",
        repeated(requested),
        noun(outside),
        repeated(outside),
    )
}

impl Narrowed {
    /// The reason in words, with the CPUs that the step still has.
    pub(crate) fn leaves(self, own: &CpuSet) -> String {
        let own = format!("{} {}", either(&own.count(), "CPU", "CPUs"), repeated(own));
        match self {
            Self::Kind(kind) => format!("--core-kind={kind} leaves this step {own}"),
            Self::Cpuset => format!("the job's --cpuset leaves this step {own}"),
            Self::Reserved => {
                format!("this site keeps CPUs of this node free (reserved), so this step has {own}")
            }
        }
    }
}

fn part_of_host(own: &CpuSet, narrowed: Option<Narrowed>) -> String {
    let leaves = narrowed.map_or(String::new(), |narrowed| narrowed.leaves(own));
    match narrowed {
        Some(Narrowed::Kind(_)) => format!(", and {leaves}; leave out --core-kind, or"),
        Some(Narrowed::Cpuset) => format!(", and {leaves}; leave out --cpuset, or"),
        Some(Narrowed::Reserved) => format!(", and {leaves};"),
        None => format!(
            "; this step owns only CPUs {own} on this node; use a job with whole nodes \
                       (sbatch --exclusive), or"
        ),
    }
}

fn no_core_kind(on_machine: bool) -> &'static str {
    match on_machine {
        true => {
            "this step owns no such core on this node; use --core-kind=any, or a larger allocation"
        }
        false => {
            "this node has no such cores that Slurm knows: all are of one kind, or slurmd leaves the \
             efficiency cores out, as it does without SlurmdParameters=allow_ecores (`berth topo` shows \
             the kinds); leave --core-kind out"
        }
    }
}

fn no_place(
    why: NoPlace,
    tasks: u32,
    cpus_per_task: u32,
    threads_per_core: Option<u32>,
    own: &CpuSet,
) -> String {
    let count = own.count();
    match why {
        NoPlace::TooManyTasks if cpus_per_task > 1 => format!(
            "{tasks} tasks request {cpus_per_task} CPUs each; this step owns {count} on this node ({own}), \
             which is not even one for each; use fewer tasks or --overcommit"
        ),
        NoPlace::TooManyTasks => format!(
            "{tasks} tasks request one CPU each; this step owns {count} on this node ({own}); use fewer tasks or \
             --overcommit"
        ),
        NoPlace::ThreadsPerCore { needed } => format!(
            "a task of {} with {} of each core needs {}; this step owns {count} on this node ({own}); \
             use a smaller -c or more threads per core",
            counted(cpus_per_task, "CPU"),
            counted(threads_per_core.unwrap_or(1), "thread"),
            counted(needed, "CPU")
        ),
        NoPlace::Stuck => format!(
            "{} of {} cannot be placed on CPUs {own} within the limits given (--threads-per-core, \
             --ntasks-per-core, --ntasks-per-socket); loosen one of them, use a smaller -c, or --overcommit",
            counted(tasks, "task"),
            counted(cpus_per_task, "CPU")
        ),
    }
}

impl std::error::Error for Refusal {}

impl From<Contradiction<'_>> for Refusal {
    fn from(both: Contradiction<'_>) -> Self {
        Self::Contradiction {
            one: repeated(both.one),
            other: repeated(both.other),
        }
    }
}

impl From<NearRefusal> for Refusal {
    fn from(why: NearRefusal) -> Self {
        Self::Near(why)
    }
}

impl From<MemoryRefusal> for Refusal {
    fn from(why: MemoryRefusal) -> Self {
        Self::Memory(why)
    }
}

/// A `--mem-bind` that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MemoryRefusal {
    /// The machine tree is unknown.
    #[display(
        "--mem-bind={} requests NUMA nodes; berth does not know those of this node, because its machine file is \
         missing; leave --mem-bind out, and ask the administrator to run `berth discover`",
        repeated(requested)
    )]
    Unknown {
        /// The requested value.
        requested: MemPolicy,
    },
    /// The machine has no NUMA node.
    #[display(
        "--mem-bind={} requests NUMA nodes, and this node has none; leave --mem-bind out",
        repeated(_0)
    )]
    NoNodes(MemPolicy),
    /// NUMA nodes that do not exist.
    #[display(
        "--mem-bind={} gives task {task} on this node NUMA node {missing}; this node has NUMA nodes {found}; {}",
        repeated(requested),
        instead(requested)
    )]
    Missing {
        /// The requested value.
        requested: MemPolicy,
        /// The task that would get them.
        task: LocalId,
        /// Those of them that do not exist.
        missing: NodeSet,
        /// The existing nodes.
        found: NodeSet,
    },
    /// A task that would get no node: a zero mask in a list.
    #[display(
        "--mem-bind gives task {_0} on this node an empty mask; every task needs a NUMA node: name one, or use \
         --mem-bind=none"
    )]
    Empty(LocalId),
    /// `local` for a task whose CPUs are in no NUMA node.
    #[display(
        "--mem-bind=local requests the NUMA nodes of the CPUs of task {task} on this node; its CPUs {cpus} are \
         in no NUMA node; use --mem-bind=map_mem:LIST or none"
    )]
    NoneNear {
        /// The task.
        task: LocalId,
        /// Its CPUs.
        cpus: CpuSet,
    },
}

fn instead(requested: &MemPolicy) -> &'static str {
    match requested {
        MemPolicy::Rank => "use fewer tasks on this node, or --mem-bind=local",
        _ => "name only those, or let --mem-bind=local choose",
    }
}
