//! What slurmd knows of its node: its own shape at each launch, and the machine that was discovered.

use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use berth_host::{Ledger, StateDir};
use berth_placement::{CpuId, Fixes, Host, Machine, PuTable, Shape, SocketKind};
use slurm_sys::process::{Daemon, daemon};
use slurm_sys::{Identity, Line, Slurm, SlurmConf, SlurmdConf};

use crate::message::seal;
use crate::site::standing::{self, Abi};
use crate::site::{counters, settings};
use crate::slurmd::announce::{self, Role, announce};
use crate::slurmd::{discovery, worker};

/// At each load. slurmd loads its task plugins before it reads plugstack.conf, so
/// where that file names us, getting ready waits for the settings in it.
pub(crate) fn at_load() {
    if daemon() != Daemon::Slurmd || discovery::was_tried() || in_plugstack() {
        return;
    }
    get_ready();
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
                counters::begin(&public_name());
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
    discovery::at_start(&name);
    counters::begin(&name);
    begin_ledger(&name);
    seal::key_of_slurmd(&name);
    if let Err(why) = checked {
        log::error!("{why}");
        announce(&name, &Role::Aside(&why));
        return;
    }
    let host = host_of(slurm, &conf, discovery::machine());
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
        let name = crate::hooks::spank::node_name().unwrap_or_else(public_name);
        discovery::at_start(&name);
        counters::begin(&name);
        announce(&name, &Role::Aside(standing::aside().unwrap_or_default()));
    }
}

/// The ledger is there before the first launch, whose hook then has nothing to make.
fn begin_ledger(name: &str) {
    let dir = StateDir::new(&settings::current().state_dir, name);
    if let Err(why) = dir.map(|dir| Ledger::open(&dir)) {
        log::debug!("the ledger is made at the first launch that needs it: {why}");
    }
}

/// This node's name without Slurm's records.
fn public_name() -> String {
    let who = Identity::current();
    let short = who.host.split('.').next().unwrap_or_default();
    who.node_argument.unwrap_or_else(|| short.to_string())
}

fn ready_line(slurm: Abi, host: &Host) -> String {
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

/// The host as it is now, for planning. Only a compare of the online CPUs is read from outside. A
/// machine that changed is discovered elsewhere: this launch goes on with the one known before.
pub(crate) fn host(slurm: Abi, conf: &SlurmdConf) -> Host {
    if !worker::is_ours_to_start() {
        // A host program that stands for slurmd has no time to lose, and nobody else discovers.
        if !discovery::was_tried() || discovery::is_outdated() {
            discovery::at_start(&conf.node_name().unwrap_or_default());
        }
    } else if !discovery::was_tried() {
        worker::discover(&conf.node_name().unwrap_or_default());
    } else {
        if discovery::is_outdated() {
            worker::discover(&conf.node_name().unwrap_or_default());
        }
        worker::start();
    }
    host_of(slurm, conf, discovery::machine())
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

pub(crate) fn host_of(slurm: Abi, conf: &SlurmdConf, machine: Option<Arc<Machine>>) -> Host {
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
fn pick(slurm: Abi, actual: u16, configured: u16) -> u32 {
    let real = slurm.layout.line != Line::V22_05 && actual > 0;
    u32::from(if real { actual } else { configured })
}

/// Entries of slurmd's map that belong to a core.
pub(crate) fn stride(slurm: Abi, conf: &SlurmdConf) -> u32 {
    pick(slurm, conf.actual_threads(), conf.threads()).max(1)
}

/// What slurmd calls a socket (`SlurmdParameters`).
pub(crate) fn socket_kind(slurm: Abi) -> SocketKind {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let words = conf
        .and_then(|conf| conf.slurmd_params(slurm.symbols))
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
