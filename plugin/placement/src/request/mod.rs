//! A step's request on this host, in our own terms.
//! The shared object fills it from a launch request, and the command from options.
//! Pure data; `Request::default()` is one task with one CPU, and requests no binding.

pub mod cpu_bind;
pub mod cpuset;
pub mod distribution;
pub mod fixes;
pub mod gres_bind;
pub mod gres_closest;
pub mod grid_engine;
pub mod keyword_options;
pub mod mapping;
pub mod mem_bind;
pub mod near;
pub mod wish;

use crate::request::cpu_bind::CpuBind;
use crate::request::cpuset::{CpusetFail, StepCpuset};
use crate::request::distribution::Distribution;
use crate::request::fixes::{Fix, Fixes};
use crate::request::grid_engine::Binding;
use crate::request::mapping::Mapping;
use crate::request::mem_bind::MemBind;
use crate::request::near::{Gres, Near};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::ids::CoreIdx;

/// One step's request on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request {
    /// Tasks to launch on this host.
    pub tasks: u32,
    /// `-c`: CPUs (hardware threads) per task, at least 1.
    pub cpus_per_task: u32,
    /// `--cpu-bind`, with what srun and slurmctld derived for it.
    pub cpu_bind: CpuBind,
    /// `-m`.
    pub distribution: Distribution,
    /// `--threads-per-core`: the most hardware threads of a core to use.
    pub threads_per_core: Option<u32>,
    /// `--ntasks-per-core`.
    pub ntasks_per_core: Option<u32>,
    /// `--ntasks-per-socket`.
    pub ntasks_per_socket: Option<u32>,
    /// `-O`: more tasks than CPUs, on purpose.
    pub overcommit: bool,
    /// `--core-spec` or `--thread-spec` of the job.
    pub core_spec: CoreSpec,
    /// Grid Engine's `--binding`; `None` also for its strategy `none`.
    pub binding: Option<Binding>,
    /// `--near`.
    pub near: Option<Near>,
    /// Whether that is the user's default (`BERTH_NEAR`), which no command line of his has.
    pub near_by_default: bool,
    /// The step's GPUs, where Slurm gave it some and says which.
    pub gres: Option<Gres>,
    /// `--map-by`, `--rank-by` and `--bind-to`.
    pub mapping: Option<Mapping>,
    /// `--core-kind`: it narrows what any other option chooses from.
    pub core_kind: keyword_options::CoreKindWish,
    /// `--mem-bind`.
    pub mem_bind: MemBind,
    /// The cpuset of the step's job on this host: the step has no CPUs outside it.
    pub cpuset: Option<StepCpuset>,
    /// The job's allocation on this host, where the step may own less: its cpuset is chosen from it.
    pub job_allocation: Option<Allocation>,
    /// CPUs of the job on this host, if known: `--mem-bind=rank` counts by them.
    pub job_cpus: Option<u32>,
    /// The step's allocation on this host.
    pub allocation: Allocation,
    /// CPUs that the site keeps free, by kernel number. No task gets them while the step has others.
    pub reserved: CpuSet,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            tasks: 1,
            cpus_per_task: 1,
            cpu_bind: CpuBind::default(),
            distribution: Distribution::default(),
            threads_per_core: None,
            ntasks_per_core: None,
            ntasks_per_socket: None,
            overcommit: false,
            core_spec: CoreSpec::None,
            binding: None,
            near: None,
            near_by_default: false,
            gres: None,
            mapping: None,
            core_kind: keyword_options::CoreKindWish::Any,
            mem_bind: MemBind::default(),
            cpuset: None,
            job_allocation: None,
            job_cpus: None,
            allocation: Allocation::Whole,
            reserved: CpuSet::new(),
        }
    }
}

/// Specialised resources kept from the job (`job_core_spec` of the credential).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CoreSpec {
    /// The job specialises nothing.
    #[default]
    None,
    /// `--core-spec`: whole cores; slurmctld has already left them out.
    Cores(u32),
    /// `--thread-spec`: hardware threads; the plugin removes them from the top.
    Threads(u32),
}

impl CoreSpec {
    /// Whether cores or threads are specialised.
    #[must_use]
    pub fn is_given(self) -> bool {
        self != Self::None
    }
}

/// The step's allocation on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Allocation {
    /// Every allowed CPU.
    Whole,
    /// Cores of a credential.
    Cores {
        /// The core bits that are set, relative to this host's first bit.
        cores: Vec<CoreIdx>,
        /// The number of cores that slurmctld counts for this host. Numbers beyond
        /// the hardware wrap as in task/affinity's `_get_avail_map`.
        configured: u32,
    },
    /// Kernel CPU numbers, for trying things out.
    Cpus(CpuSet),
}

/// The behaviour, and the site's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Where we differ from task/affinity; `compat=affinity` has none of them.
    pub fixes: Fixes,
    /// `SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK`.
    pub block_by_default: bool,
    /// `TaskPluginParam=autobind=…`, used if auto binding finds no exact level.
    pub autobind: Option<crate::request::cpu_bind::Level>,
    /// Whether a `--binding` that cannot be served is refused (`binding_fail=refuse`).
    pub refuse_failed_binding: bool,
    /// Whether a step's cgroup has the CPUs that slurmd's map gives to its cores, and no others
    /// (`TaskPlugin=task/cgroup` with `ConstrainCores=yes`).
    pub constrain_cores: bool,
    /// Whether cpusets get the first free CPUs instead of the best (`cpuset_best=off`).
    pub cpuset_first_fit: bool,
    /// The consequence of a cpuset that cannot be had.
    pub cpuset_fail: CpusetFail,
}

impl Rules {
    /// Whether plans keep to what such cgroups have. Without both fixes slurmd's map is the plan's,
    /// as task/affinity has it, and nothing is outside.
    #[must_use]
    pub(crate) fn keep_to_cgroups(&self) -> bool {
        let follows_tree = self.fixes.has(Fix::CoreThreads) || self.fixes.has(Fix::HoleNumbers);
        self.constrain_cores && follows_tree
    }
}

/// CPUs of cores that others are bound to. One CPU of a core stands for the core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Must not be used: CPUs of other jobs' steps, and of regular steps of the own job.
    pub taken: CpuSet,
    /// May be used, but avoided if possible: CPUs of the job's own
    /// script and `--overlap` steps, and of suspended jobs.
    pub shared: CpuSet,
    /// CPUs of other jobs that are in a pool: a `--binding` takes others if it can.
    pub pools: CpuSet,
    /// Those of `pools` that a second one of these jobs has, those that a third one has, and so on. A `--binding` takes
    /// the cores with the fewest of them.
    pub pools_again: Vec<CpuSet>,
    /// For a job in a pool, which gets its CPUs whoever is bound there: CPUs of other jobs' bindings. It takes others
    /// if it can, after having kept off `pools`.
    pub bindings: CpuSet,
    /// As `pools_again`, of bindings.
    pub bindings_again: Vec<CpuSet>,
    /// CPUs of other jobs' cpusets that are not exclusive: a new cpuset avoids them if possible, and an
    /// exclusive one must not use them. (Those of exclusive cpusets are in `taken`.)
    pub cpusets: CpuSet,
    /// Memory nodes that other jobs' cpusets want for themselves (`CPUSET_MEMORY_EXCLUSIVE`): a new
    /// cpuset avoids them if possible.
    pub memory: NodeSet,
}
