//! The laws' way to the engine. They know nothing else of it: when the engine's door changes,
//! this file does.
//! In: what is asked in the words of a command line, and a machine. Out: masks, notes, the text.

use std::sync::Arc;

use berth_placement::request::cpuset::{Choice, CpusetRequest, StepCpuset};
use berth_placement::topology::devices::Pci;
use berth_placement::{
    Allocation, Binding, Claims, CoreIdx, CpuBind, CpuSet, Device, DeviceKind, Machine, Node,
    PciAddress, Plan, Refusal, Request, Rules, Shape, SocketKind, plan,
};
use berth_srun::{Release, spelling};

/// A request in srun's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub tasks: u32,
    pub cpus_per_task: u32,
    pub level: Option<Level>,
    /// `--hint=nomultithread`, as srun passes it on.
    pub one_thread: bool,
    pub distribution: &'static str,
    pub threads_per_core: Option<u32>,
    pub ntasks_per_core: Option<u32>,
    pub ntasks_per_socket: Option<u32>,
    pub overcommit: bool,
    /// `--binding`.
    pub binding: Option<String>,
    /// `--near=gpu`: the CPUs next to each GPU of the node, in PCI order. Without a GPU there is no such
    /// request.
    pub gpus: Vec<CpuSet>,
    /// `--cpuset`, and the number of CPUs in it.
    pub cpuset: Option<(String, u32)>,
    pub own: Own,
    /// slurm.conf counts as many CPUs as cores.
    pub counts_cores: bool,
    /// cgroup.conf has `ConstrainCores=yes`.
    pub constrain_cores: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Threads,
    Cores,
    Sockets,
    Ldoms,
}

pub const LEVELS: [Level; 4] = [Level::Threads, Level::Cores, Level::Sockets, Level::Ldoms];

/// What the step owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Own {
    Whole,
    /// Cores of a credential, which knows so many.
    Cores(Vec<u32>, u32),
    Cpus(CpuSet),
}

/// What every task got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub masks: Vec<CpuSet>,
    pub notes: Vec<String>,
    /// The list of masks in the launch message.
    pub text: Option<String>,
    /// The CPUs of the cpuset, and its radius.
    pub cpuset: Option<(CpuSet, u32)>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            tasks: 1,
            cpus_per_task: 1,
            level: None,
            one_thread: false,
            distribution: "block:block",
            threads_per_core: None,
            ntasks_per_core: None,
            ntasks_per_socket: None,
            overcommit: false,
            binding: None,
            gpus: Vec::new(),
            cpuset: None,
            own: Own::Whole,
            counts_cores: false,
            constrain_cores: false,
        }
    }
}

impl Ask {
    /// Whether one of the options that limit tasks or threads is there.
    pub fn is_limited(&self) -> bool {
        let limits = [
            self.threads_per_core,
            self.ntasks_per_core,
            self.ntasks_per_socket,
        ];
        self.one_thread || limits.iter().any(Option::is_some)
    }

    /// CPUs that all tasks ask for together.
    pub fn wanted(&self) -> usize {
        self.tasks as usize * self.cpus_per_task as usize
    }
}

fn planned(ask: &Ask, machine: &Machine, kind: SocketKind) -> Result<Plan, Refusal> {
    let level = |level: Level| spelling::cpu_bind(level.word(), Release::NEWEST);
    let cpu_bind = ask
        .level
        .map(|requested| level(requested).expect("a level"));
    let cpu_bind = CpuBind {
        one_thread: ask.one_thread,
        ..cpu_bind.unwrap_or_default()
    };
    let distribution = spelling::distribution(ask.distribution).expect("a distribution");
    let binding = |text: &String| text.parse::<Binding>().expect("a binding");
    let request = Request {
        tasks: ask.tasks,
        cpus_per_task: ask.cpus_per_task,
        cpu_bind,
        distribution,
        threads_per_core: ask.threads_per_core,
        ntasks_per_core: ask.ntasks_per_core,
        ntasks_per_socket: ask.ntasks_per_socket,
        overcommit: ask.overcommit,
        binding: ask.binding.as_ref().map(binding),
        near: (!ask.gpus.is_empty()).then(|| "gpu".parse().expect("a --near")),
        cpuset: ask.cpuset.as_ref().map(|(text, _)| choosing(text)),
        allocation: match &ask.own {
            Own::Whole => Allocation::Whole,
            Own::Cores(cores, configured) => Allocation::Cores {
                cores: cores.iter().copied().map(CoreIdx).collect(),
                configured: *configured,
            },
            Own::Cpus(cpus) => Allocation::Cpus(cpus.clone()),
        },
        ..Request::default()
    };
    let mut shape = Shape::of(machine, kind);
    shape.cpus_are_cores |= ask.counts_cores;
    let gpus = (0..).zip(&ask.gpus).map(gpu).collect();
    let machine = machine.with_devices(gpus).expect("devices");
    let machine = Some(Arc::new(machine));
    let rules = Rules {
        constrain_cores: ask.constrain_cores,
        ..Rules::default()
    };
    let node = Node::new(shape, machine, kind, rules);
    plan(&request, &node, &Claims::default())
}

/// A cpuset to choose.
fn choosing(text: &str) -> StepCpuset {
    let Ok(CpusetRequest::Dynamic(requested)) = text.parse() else {
        panic!("{text} is a dynamic cpuset");
    };
    StepCpuset::Choose(Choice {
        requested,
        job_nodes: 1,
        is_count_typed: true,
    })
}

fn gpu((bus, cpus): (u8, &CpuSet)) -> Device {
    let address = PciAddress {
        bus,
        ..PciAddress::default()
    };
    Device {
        kind: DeviceKind::Gpu,
        names: Vec::new(),
        pci: Some(Pci {
            address,
            class: 0x0302,
            ..Pci::default()
        }),
        cpus: cpus.clone(),
        numa_node: None,
    }
}

/// What the engine answers under `compat=berth`; a refusal as its text.
pub fn answer(ask: &Ask, machine: &Machine, kind: SocketKind) -> Result<Answer, String> {
    let plan = planned(ask, machine, kind).map_err(|refusal| refusal.to_string())?;
    Ok(Answer {
        masks: plan.tasks.iter().map(|task| task.cpus.clone()).collect(),
        notes: plan.notes.iter().map(ToString::to_string).collect(),
        text: plan.text(),
        cpuset: plan.cpuset.map(|set| (set.cpus, set.radius)),
    })
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Cores => "cores",
            Self::Sockets => "sockets",
            Self::Ldoms => "ldoms",
        }
    }
}
