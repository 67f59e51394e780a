//! What slurmd knows of its node: the machine found once by `berth discover`,
//! the kernel's set of online CPUs, and slurmd's own shape at each launch.

use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use berth_host::command_path::default_command;
use berth_host::{MachineFile, OnlineCpus, StateDir, discover_child, machine_file};
use berth_placement::{CpuId, Fixes, Host, Machine, PuTable, Shape, SocketKind};
use slurm_sys::process::{Daemon, daemon, own_path};
use slurm_sys::{Identity, Line, Slurm, SlurmConf, SlurmdConf};

use crate::announce::{self, Role, announce};
use crate::settings::{self, Settings};
use crate::standing::{self, Slurmish};

/// What was found at start.
struct Known {
    machine: Option<Arc<Machine>>,
    /// The list of online CPUs that `machine` was found under, with the
    /// descriptor to compare it; absent where the machine is not this one.
    online: Option<(OnlineCpus, String)>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// At each load. slurmd loads its task plugins before it reads plugstack.conf, so
/// where that file names us, getting ready waits for the settings in it.
pub(crate) fn at_load() {
    if daemon() != Daemon::Slurmd || is_ready() || in_plugstack() {
        return;
    }
    get_ready();
}

fn is_ready() -> bool {
    KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_some()
}

/// Whether plugstack.conf may name us; a wrong guess only moves the start to the
/// first launch.
fn in_plugstack() -> bool {
    let Some(slurm) = standing::unjudged() else {
        return false;
    };
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let text = conf
        .and_then(|conf| conf.plugstack())
        .and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    text.contains("task_berth") || text.contains("include")
}

/// Discovers the machine and says in slurmd's log who we are; at start, and again
/// when slurmd is given other settings.
pub(crate) fn get_ready() {
    let Some(slurm) = standing::working() else {
        // Once, however often Slurm loads the object.
        static SAID: Once = Once::new();
        if let Some(why) = standing::aside() {
            let level = if standing::serves_binding_only() {
                log::Level::Info
            } else {
                log::Level::Error
            };
            SAID.call_once(|| {
                log::log!(level, "{why}");
                announce(&public_name(), &Role::Aside(why));
            });
        }
        return;
    };
    if let Some(flag) = Slurm::get().flag() {
        log::warn!("{flag}");
    }
    // SAFETY: the layout is the running release's, and the view ends with this function.
    let Some(conf) = (unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) }) else {
        return;
    };
    let checked = sane(&conf);
    let name = match &checked {
        Ok(()) => conf.node_name().unwrap_or_default(),
        // The machine file is needed all the more: for binding the public way.
        Err(_) => public_name(),
    };
    let known = discover(&name);
    let machine = known.machine.clone();
    *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    if let Err(why) = checked {
        log::error!("{why}");
        announce(&name, &Role::Aside(&why));
        return;
    }
    let host = host_of(slurm, &conf, machine);
    log::info!("{}", ready_line(slurm, &host));
    if let Some(why) = other_shape(&host) {
        log::warn!("{why}");
        announce::complain(why);
    }
    announce(&name, &Role::Task(slurm.layout, &host));
}

/// The same where we stand aside, once the settings were seen: slurmstepd serves --binding the
/// public way, from the machine file alone.
pub(crate) fn get_ready_aside() {
    if standing::working().is_none() {
        let name = crate::hooks_spank::node_name().unwrap_or_else(public_name);
        *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(discover(&name));
        announce(&name, &Role::Aside(standing::aside().unwrap_or_default()));
    }
}

/// This node's name without Slurm's records.
fn public_name() -> String {
    let who = Identity::current();
    let short = who.host.split('.').next().unwrap_or_default();
    who.node_argument.unwrap_or_else(|| short.to_string())
}

fn ready_line(slurm: Slurmish, host: &Host) -> String {
    let topology = match &host.machine {
        Some(machine) => machine.topology_string(host.socket),
        None => "unknown, slurmd's own map is used".into(),
    };
    format!(
        "ready: berth {}, Slurm {}, layout {}, machine {} ({topology}), {}",
        env!("CARGO_PKG_VERSION"),
        announce::release(),
        announce::range(slurm.layout),
        host.shape,
        announce::compat(settings::current().fixes),
    )
}

/// Where slurm.conf, slurmd's map and hwloc disagree.
fn other_shape(host: &Host) -> Option<String> {
    let machine = host.machine.as_deref()?;
    let seen = Shape::of(machine, host.socket);
    let same = (seen.sockets, seen.cores) == (host.shape.sockets, host.shape.cores);
    let other = !same || seen.map.len() != host.shape.map.len();
    other.then(|| {
        format!(
            "slurm.conf says {} ({} CPUs mapped), hwloc finds {seen} ({} CPUs); slurmd's map is \
             used: compare `slurmd -C` with the node's line in slurm.conf",
            host.shape,
            host.shape.map.len(),
            seen.map.len()
        )
    })
}

/// Whether slurmd's record means what the table says; judged once a process,
/// since the check reads files and has the kernel look at every pointer.
pub(crate) fn sane(conf: &SlurmdConf) -> Result<(), String> {
    static JUDGED: OnceLock<Result<(), String>> = OnceLock::new();
    JUDGED
        .get_or_init(|| {
            let possible = berth_host::online::possible_cpus().filter(|_| !is_pretended());
            slurm_sys::sanity::conf_is_sane(conf, &Identity::current(), possible)
        })
        .clone()
}

/// Whether hwloc was told to show another machine than this one.
pub(crate) fn is_pretended() -> bool {
    ["HWLOC_SYNTHETIC", "HWLOC_XMLFILE"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

fn discover(node: &str) -> Known {
    let settings = settings::current();
    match find(&settings, node) {
        Ok(file) => {
            if is_pretended() {
                let why = format!("the machine is pretended: {}", file.source);
                log::warn!("{why}");
                announce::complain(why);
            }
            let online = OnlineCpus::open().ok().filter(|_| file.this_system);
            Known {
                online: online.map(|online| (online, file.proof.online.clone())),
                machine: Some(Arc::new(file.machine)),
            }
        }
        Err(why) => {
            let why = format!("{why}; slurmd's own map is used, memory domains are unknown");
            log::error!("{why}");
            announce::complain(why);
            Known {
                machine: None,
                online: None,
            }
        }
    }
}

fn find(settings: &Settings, node: &str) -> Result<MachineFile, String> {
    let dir = StateDir::new(&settings.state_dir, node).map_err(|why| why.to_string())?;
    dir.prepare().map_err(|why| why.to_string())?;
    let command = match &settings.command {
        Some(command) => command.clone(),
        None => default_command(&own_path().unwrap_or_default()).map_err(|why| why.to_string())?,
    };
    discover_child::run(&command, dir.machine_path(), discover_child::DEFAULT_LIMIT)
        .map_err(|why| why.to_string())?;
    machine_file::read(dir.machine_path()).map_err(|why| why.to_string())
}

/// The host as it is now, for planning. Only a compare of the online CPUs is read
/// from outside; a machine that changed is discovered anew.
pub(crate) fn host(slurm: Slurmish, conf: &SlurmdConf) -> Host {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = known
        .as_ref()
        .and_then(|known| known.online.as_ref())
        .is_some_and(|(online, since)| !online.unchanged(since));
    if changed {
        log::warn!("the set of online CPUs changed; the machine is discovered anew");
    }
    if changed || known.is_none() {
        *known = Some(discover(&conf.node_name().unwrap_or_default()));
    }
    let machine = known.as_ref().and_then(|known| known.machine.clone());
    host_of(slurm, conf, machine)
}

/// The host's table of hardware threads: made again only where the host or the fixes are others
/// than at the last launch.
pub(crate) fn table(host: &Host, fixes: Fixes) -> Arc<PuTable> {
    static LAST: Mutex<Option<(Host, Fixes, Arc<PuTable>)>> = Mutex::new(None);
    let same = |last: &Host| {
        let machines = (last.machine.as_ref(), host.machine.as_ref());
        let machine = match machines {
            (Some(last), Some(now)) => Arc::ptr_eq(last, now),
            (last, now) => last.is_none() && now.is_none(),
        };
        machine && last.socket == host.socket && last.shape == host.shape
    };
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, with, table)) = last.as_ref()
        && *with == fixes
        && same(known)
    {
        return table.clone();
    }
    let table = Arc::new(PuTable::new(host, fixes));
    *last = Some((host.clone(), fixes, table.clone()));
    table
}

fn host_of(slurm: Slurmish, conf: &SlurmdConf, machine: Option<Arc<Machine>>) -> Host {
    let map = conf.block_map().unwrap_or_default();
    Host {
        shape: Shape {
            sockets: pick(slurm, conf.actual_sockets(), conf.sockets()),
            cores: pick(slurm, conf.actual_cores(), conf.cores()),
            threads: u32::from(conf.threads()),
            stride: stride(slurm, conf),
            cpus_are_cores: u32::from(conf.cpus())
                == u32::from(conf.sockets()) * u32::from(conf.cores()),
            map: map.into_iter().map(|cpu| CpuId(u32::from(cpu))).collect(),
        },
        machine,
        socket: socket_kind(slurm),
    }
}

/// 22.05 takes the configured shape for the hardware's, later lines the real one
/// (`_get_avail_map`). In slurmstepd the real one is not always there.
fn pick(slurm: Slurmish, actual: u16, configured: u16) -> u32 {
    let real = slurm.layout.line != Line::V22_05 && actual > 0;
    u32::from(if real { actual } else { configured })
}

/// Entries of slurmd's map that belong to a core.
pub(crate) fn stride(slurm: Slurmish, conf: &SlurmdConf) -> u32 {
    pick(slurm, conf.actual_threads(), conf.threads()).max(1)
}

/// What slurmd calls a socket (`SlurmdParameters`).
pub(crate) fn socket_kind(slurm: Slurmish) -> SocketKind {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let words = conf
        .and_then(|conf| conf.slurmd_params())
        .unwrap_or_default();
    let words = words.to_ascii_lowercase();
    if words.contains("l3cache_as_socket") {
        SocketKind::L3
    } else if words.contains("numa_node_as_socket") {
        SocketKind::Numa
    } else {
        SocketKind::Package
    }
}
