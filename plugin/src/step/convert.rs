//! Converts a launch request of Slurm into a request of ours, and a plan into the launch message's `cpu_bind` bits.
//! In: the view, the node's cores in the credential, the bits that came. Out: `Request`, or a text; the bits that go
//! on to slurmstepd. It handles only bits and numbers; `berth-placement` has everything about placement.

use berth_placement::sets::limits::{LEAST_MASK_WIDTH, LIST_BYTES};
use berth_placement::{
    AcrossHosts, Allocation, CoreIdx, CoreSpec, CpuBind, Distribution, Level, MemBind, Message,
    Mode, Node, Order, Plan, Request, Rule, Rules,
};
use slurm_sys::{Credential, LaunchRequest, Layout, NodeCores, SlurmConf};

use crate::site::settings::Settings;
use crate::site::standing::Abi;

/// The request of a step as its message has it: without its tasks here and its allocation, berth's own options and
/// `--mem-bind`.
///
/// # Errors
/// A list that cannot be read, as a text for the user.
pub(crate) fn request(
    launch: &LaunchRequest<'_>,
    layout: &Layout,
    node: &Node,
) -> Result<Request, String> {
    let bits = u32::from(launch.cpu_bind_type());
    // Beside a level the text is the keyword, and its length does not matter.
    let (text, width) = match has_list(bits, layout) {
        true => {
            let text = launch.cpu_bind(LIST_BYTES).map_err(|why| why.to_string())?;
            (text, mask_width(node))
        }
        false => (None, 0),
    };
    Ok(Request {
        cpus_per_task: u32::from(launch.cpus_per_task().max(1)),
        cpu_bind: cpu_bind(bits, text.as_deref(), (layout, width))?,
        distribution: distribution(launch.task_dist(), layout),
        threads_per_core: launch.threads_per_core().map(u32::from),
        ntasks_per_core: launch.ntasks_per_core().map(u32::from),
        ntasks_per_socket: launch.ntasks_per_socket().map(u32::from),
        overcommit: launch.overcommit(),
        core_spec: core_spec(launch.job_core_spec()),
        mem_bind: MemBind::default(),
        job_cpus: Some(u32::from(launch.node_cpus())).filter(|count| *count > 0),
        ..Request::default()
    })
}

/// The width that a mask in a launch request may have on this node.
fn mask_width(node: &Node) -> u32 {
    let map = node.shape().map.iter().map(|cpu| cpu.0 + 1).max();
    let highest = node.machine().and_then(|machine| machine.cpus().highest());
    let width = map.unwrap_or(0).max(highest.map_or(0, |cpu| cpu.0 + 1));
    width.max(LEAST_MASK_WIDTH)
}

/// The cores of a step or job as an allocation.
pub(crate) fn allocation(cores: Vec<u32>, node: &NodeCores) -> Allocation {
    Allocation::Cores {
        cores: cores.into_iter().map(CoreIdx).collect(),
        configured: node.core_count() as u32,
    }
}

/// The site's defaults from slurm.conf, and the settings. [`crate::site::node::with_constrain_cores`] adds what cgroup.conf says.
pub(crate) fn rules(slurm: Abi, settings: &Settings) -> Rules {
    let constants = &slurm.layout.constants;
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let auto = conf.as_ref().map_or(0, SlurmConf::task_plugin_param);
    let select = conf
        .as_ref()
        .map_or(0, |conf| u32::from(conf.select_type_param()));
    let autobind = [
        (constants.CPU_AUTO_BIND_TO_THREADS, Level::Threads),
        (constants.CPU_AUTO_BIND_TO_CORES, Level::Cores),
        (constants.CPU_AUTO_BIND_TO_SOCKETS, Level::Sockets),
    ];
    Rules {
        fixes: settings.fixes,
        block_by_default: select & constants.CR_CORE_DEFAULT_DIST_BLOCK != 0,
        autobind: autobind
            .into_iter()
            .find(|(bit, _)| auto & bit != 0)
            .map(|(_, level)| level),
        refuse_failed_binding: settings.refuse_failed_binding,
        constrain_cores: false,
        cpuset_first_fit: !settings.cpuset_best,
        cpuset_fail: settings.cpuset_fail,
    }
}

/// The default of `TaskPluginParam` for steps without a `--cpu-bind`; `None` if it has none.
pub(crate) fn default_cpu_bind(slurm: Abi) -> Option<CpuBind> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) }?;
    let bind = cpu_bind(conf.task_plugin_param(), None, (slurm.layout, 0)).ok()?;
    let asks = bind.level.is_some() || bind.mode.is_some();
    asks.then_some(bind)
}

pub(crate) fn core_spec(given: Option<slurm_sys::CoreSpec>) -> CoreSpec {
    match given {
        None => CoreSpec::None,
        Some(slurm_sys::CoreSpec::Cores(count)) => CoreSpec::Cores(u32::from(count)),
        Some(slurm_sys::CoreSpec::Threads(count)) => CoreSpec::Threads(u32::from(count)),
    }
}

/// `--cpu-bind` from its bits. The text counts only beside a mode that has a
/// list: beside a level it still holds the keyword.
fn cpu_bind(
    bits: u32,
    text: Option<&str>,
    (layout, width): (&Layout, u32),
) -> Result<CpuBind, String> {
    let is = |bit: u32| bits & bit != 0;
    let c = &layout.constants;
    let level = level_bits(layout).into_iter().find(|(bit, _)| is(*bit));
    Ok(CpuBind {
        level: level.map(|(_, level)| level),
        mode: mode(bits, text, (layout, width))?,
        one_thread: is(c.CPU_BIND_ONE_THREAD_PER_CORE),
        verbose: is(c.CPU_BIND_VERBOSE),
    })
}

fn has_list(bits: u32, layout: &Layout) -> bool {
    let c = &layout.constants;
    bits & (c.CPU_BIND_MASK | c.CPU_BIND_MAP | c.CPU_BIND_LDMASK | c.CPU_BIND_LDMAP) != 0
}

/// The mode that wins, in the order in which `get_cpuset` looks.
pub(crate) fn mode(
    bits: u32,
    text: Option<&str>,
    (layout, width): (&Layout, u32),
) -> Result<Option<Mode>, String> {
    let is = |bit: u32| bits & bit != 0;
    let c = &layout.constants;
    let list = [
        (c.CPU_BIND_MASK, "mask_cpu"),
        (c.CPU_BIND_MAP, "map_cpu"),
        (c.CPU_BIND_LDMASK, "mask_ldom"),
        (c.CPU_BIND_LDMAP, "map_ldom"),
    ];
    if is(c.CPU_BIND_NONE) {
        return Ok(Some(Mode::Free));
    }
    if c.CPU_BIND_RANK.is_some_and(is) {
        return Ok(Some(Mode::Rank));
    }
    if is(c.CPU_BIND_LDRANK) {
        return Ok(Some(Mode::RankLdom));
    }
    let Some((_, name)) = list.into_iter().find(|(bit, _)| is(*bit)) else {
        return Ok(None);
    };
    let text = text.filter(|text| !text.is_empty()).ok_or_else(|| {
        format!(
            "--cpu-bind={name} has no list in the launch request; give one, as in \
             --cpu-bind={name}:0,1"
        )
    })?;
    let read = Mode::read_within(name, text, width).unwrap_or(Ok(Mode::Free));
    read.map(Some)
        .map_err(|why| format!("--cpu-bind={name}: {why}"))
}

fn distribution(bits: u32, layout: &Layout) -> Distribution {
    let c = &layout.constants;
    // Each hexadecimal digit is one level: hosts, then sockets, then cores.
    let order = |digit: u32| match digit & 0xf {
        1 => Some(Order::Cyclic),
        2 => Some(Order::Block),
        3 => Some(Order::Fcyclic),
        _ => None,
    };
    let hosts = match bits & 0xf {
        one if one == c.SLURM_DIST_CYCLIC => AcrossHosts::Cyclic,
        two if two == c.SLURM_DIST_BLOCK => AcrossHosts::Block,
        three if three == c.SLURM_DIST_ARBITRARY => AcrossHosts::Arbitrary,
        four if four == c.SLURM_DIST_PLANE => AcrossHosts::Plane,
        _ => AcrossHosts::Unknown,
    };
    Distribution {
        hosts,
        sockets: order(bits >> 4),
        cores: order(bits >> 8),
        // slurmctld decides it; the host's own order is the same for all.
        plane_size: None,
        pack: None,
    }
}

/// The bits after planning: masks are a mode, and a level that was laid out is removed.
/// Source: `lllp_distribution`, `_lllp_generate_cpu_bind`.
pub(crate) fn cpu_bind_bits(came: u32, plan: &Plan, one_thread: bool, layout: &Layout) -> u32 {
    let c = &layout.constants;
    let came = came
        | if one_thread {
            c.CPU_BIND_ONE_THREAD_PER_CORE
        } else {
            0
        };
    let modes = mode_bits(layout);
    let levels = level_bits(layout).iter().fold(0, |all, (bit, _)| all | bit);
    let keep_level = match &plan.message {
        Message::Unbound if matches!(plan.decision.rule, Rule::Mapped(_)) => {
            return (came & !modes & !levels) | c.CPU_BIND_NONE;
        }
        Message::Unbound | Message::AsAsked(_) => return came,
        Message::Shared { keep_level, .. } => *keep_level,
        Message::Each { .. } | Message::Rewritten(_) => None,
    };
    // A level beside an explicit mode stays, because the verbose report shows it.
    let explicit = matches!(plan.decision.rule, Rule::Asked(_) | Rule::Unbound { .. });
    let done = if explicit { 0 } else { levels };
    let kept = |level| {
        level_bits(layout)
            .into_iter()
            .find(|(_, one)| *one == level)
    };
    let kept = keep_level.and_then(kept).map_or(0, |(bit, _)| bit);
    (came & !modes & !done) | kept | c.CPU_BIND_MASK
}

/// The bits of all explicit modes.
pub(crate) fn mode_bits(layout: &Layout) -> u32 {
    let c = &layout.constants;
    c.CPU_BIND_NONE
        | c.CPU_BIND_RANK.unwrap_or(0)
        | c.CPU_BIND_MAP
        | c.CPU_BIND_MASK
        | c.CPU_BIND_LDRANK
        | c.CPU_BIND_LDMAP
        | c.CPU_BIND_LDMASK
}

/// The bit of each level, in the order in which Slurm looks.
pub(crate) fn level_bits(layout: &Layout) -> [(u32, Level); 4] {
    let c = &layout.constants;
    [
        (c.CPU_BIND_TO_THREADS, Level::Threads),
        (c.CPU_BIND_TO_CORES, Level::Cores),
        (c.CPU_BIND_TO_SOCKETS, Level::Sockets),
        (c.CPU_BIND_TO_LDOMS, Level::Ldoms),
    ]
}

/// A step's or script's credential, and the place of this node in it.
#[derive(Clone, Copy)]
pub(crate) struct NodeCredential<'a> {
    pub cred: &'a Credential<'a>,
    pub index: u32,
}

impl NodeCredential<'_> {
    /// The job's allocation on this node.
    pub(crate) fn job_allocation(self) -> Result<Allocation, slurm_sys::Error> {
        let cores = self.cred.node_cores(self.index)?;
        Ok(allocation(self.cred.job_cores(&cores)?, &cores))
    }
}
