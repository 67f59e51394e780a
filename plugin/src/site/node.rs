//! This node in Slurm's own records: its name, its shape, whether the record can be trusted, and whether Slurm's own
//! cgroups confine a step to the CPUs that slurmd counts for its cores.

use std::sync::OnceLock;

use berth_host::online::online_part;
use berth_host::{MachineFile, OnlineCpus, StateDir, machine_file};
use berth_placement::{CpuId, ECores, Machine, Rules, Shape, SocketKind};
use berth_site::read_settings::{self, Complaint};
use berth_srun::node_lists;
use slurm_sys::process::{Daemon, daemon, is_slurms_daemon};
use slurm_sys::{CgroupConf, Counting, Identity, Line, SlurmConf, SlurmdConf};

use crate::site::settings;
use crate::site::standing::{self, Abi};

/// This node's name in slurm.conf; none on a login node.
pub(crate) fn name() -> Option<String> {
    if daemon() == Daemon::Other {
        return None;
    }
    let from_conf = standing::unjudged().and_then(|slurm| {
        // SAFETY: the layout is the running release's, and the view ends here.
        let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) }?;
        sane(&conf).is_ok().then(|| conf.node_name()).flatten()
    });
    from_conf.or_else(|| Identity::current().node_argument)
}

/// This node's name: from Slurm's own record if that can be read, else from slurmstepd's
/// own environment, which is not the user's.
pub(crate) fn name_in_stepd() -> Option<String> {
    let own = || std::env::var("SLURMD_NODENAME").ok();
    name().or_else(own)
}

/// This node's name without Slurm's records.
pub(crate) fn public_name() -> String {
    let who = Identity::current();
    let short = who.host.split('.').next().unwrap_or_default();
    who.node_argument.unwrap_or_else(|| short.to_string())
}

/// Reads those words of the plugstack.conf line that are for this node, and puts them in
/// force. Returns what is wrong with them.
pub(crate) fn read_settings(words: &[&str]) -> Vec<Complaint> {
    let node = name();
    let is_here = |list: &str| is_listed(node.as_deref(), list);
    let (found, complaints) = read_settings::read(words, is_here);
    settings::set(found);
    complaints
}

/// The folder of a node's state; the reason why it has none is a text for the log.
pub(crate) fn state_dir(node_name: &str) -> Result<StateDir, String> {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    dir.map_err(|why| why.to_string())
}

/// The machine that slurmd found on a node, without the CPUs that went offline after that.
pub(crate) fn machine_file(node_name: &str) -> Result<MachineFile, String> {
    let dir = state_dir(node_name)?;
    let mut file = machine_file::read(dir.machine_path()).map_err(|why| why.to_string())?;
    let online = OnlineCpus::open().and_then(|online| online.read());
    if file.this_system
        && let Ok(online) = online
        && let Some(part) = online_part(&file.machine, &online)
    {
        file.machine = part;
    }
    Ok(file)
}

/// Whether a host list has this node, or the reason why the list cannot be read. Slurm's own reader of host
/// lists takes what it can and does not report the rest.
pub(crate) fn is_listed(node: Option<&str>, list: &str) -> Result<bool, String> {
    node_lists::has(list, node)
}

/// Whether slurmd's record has the layout of the table. It is checked once per process,
/// because the check reads files and has the kernel look at every pointer.
pub(crate) fn sane(conf: &SlurmdConf) -> Result<(), String> {
    static JUDGED: OnceLock<Result<(), String>> = OnceLock::new();
    JUDGED
        .get_or_init(|| {
            let possible = berth_host::online::possible_cpus().filter(|_| !is_pretended());
            slurm_sys::sanity::conf_is_sane(conf, &Identity::current(), possible)
                .map_err(|why| why.to_string())
        })
        .clone()
}

/// Whether hwloc was told to show another machine than this one.
pub(crate) fn is_pretended() -> bool {
    ["HWLOC_SYNTHETIC", "HWLOC_XMLFILE"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

/// The node as slurmd counts it.
pub(crate) fn shape(slurm: Abi, conf: &SlurmdConf) -> Shape {
    let map = conf.block_map().unwrap_or_default();
    Shape {
        map: map.into_iter().map(|cpu| CpuId(u32::from(cpu))).collect(),
        ..counts(slurm, conf)
    }
}

/// Whether slurmd still counts the node so. This copies no map.
pub(crate) fn has_shape(slurm: Abi, conf: &SlurmdConf, known: &Shape) -> bool {
    let map = known.map.iter().map(|cpu| cpu.0);
    counts(slurm, conf).has_counts_of(known) && conf.has_block_map(map)
}

/// The node's shape without slurmd's map.
fn counts(slurm: Abi, conf: &SlurmdConf) -> Shape {
    let line = slurm.layout.line;
    Shape {
        sockets: pick(line, conf.actual_sockets(), conf.sockets()),
        cores: pick(line, conf.actual_cores(), conf.cores()),
        threads: u32::from(conf.threads()),
        stride: stride(slurm, conf),
        cpus_are_cores: u32::from(conf.cpus())
            == u32::from(conf.sockets()) * u32::from(conf.cores()),
        map: Vec::new(),
    }
}

/// Up to 23.02 slurmd takes the configured shape for the hardware's, later lines take the real one
/// (`_get_avail_map`). In slurmstepd the real one is not always there.
fn pick(line: Line, actual: u16, configured: u16) -> u32 {
    let real = line > Line::V23_02 && actual > 0;
    u32::from(if real { actual } else { configured })
}

/// Entries of slurmd's map that belong to a core.
pub(crate) fn stride(slurm: Abi, conf: &SlurmdConf) -> u32 {
    let line = slurm.layout.line;
    pick(line, conf.actual_threads(), conf.threads()).max(1)
}

/// The words that change how slurmd counts the node.
fn counting(slurm: Abi) -> Counting {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    conf.map(|conf| conf.counting(slurm.symbols))
        .unwrap_or_default()
}

/// A machine without the efficiency cores that slurmd leaves out, by its release and settings: for
/// slurmstepd, where slurmd's own count is out of reach.
pub(crate) fn counted_by_release(machine: Machine) -> Machine {
    let Some(slurm) = standing::unjudged() else {
        return machine;
    };
    let release = leaves_out(slurm.layout.line, counting(slurm));
    let part = release.and_then(|release| machine.without_ecores(release));
    part.unwrap_or(machine)
}

/// How a slurmd with these parameters finds the cores to leave out, if it does.
fn leaves_out(line: Line, counting: Counting) -> Option<ECores> {
    let release = match line {
        Line::V22_05 => return None,
        Line::V23_02 | Line::V23_11 | Line::V24_05 => ECores::FirstKind,
        Line::V24_11 | Line::V25_05 => ECores::SameFrequency,
        Line::V25_11 | Line::V26_05 => ECores::AnyFrequency,
    };
    (!counting.allow_ecores).then_some(release)
}

/// The kind of object that slurmd calls a socket (`xcpuinfo_hwloc_topo_get`).
pub(crate) fn socket_kind(slurm: Abi) -> SocketKind {
    let words = counting(slurm);
    if words.l3cache_as_socket {
        SocketKind::L3
    } else if words.numa_node_as_socket {
        SocketKind::Numa
    } else {
        SocketKind::Package
    }
}

/// The rules with cgroup.conf's ConstrainCores. Up to 23.02 slurmd reads that file again without a restart, so it is asked
/// each time; on machines that slurmd counts as they are, it changes nothing.
pub(crate) fn with_constrain_cores(slurm: Abi, rules: Rules) -> Rules {
    Rules {
        constrain_cores: constrain_cores(slurm),
        ..rules
    }
}

/// `TaskPlugin=task/cgroup` with `ConstrainCores=yes`, in slurmd and slurmstepd.
pub(crate) fn constrain_cores(slurm: Abi) -> bool {
    if !is_slurms_daemon() || !standing::has_task_cgroup(slurm) {
        return false;
    }
    match cgroup_conf(slurm) {
        Ok(conf) => conf.constrains_cores(),
        Err(why) => {
            log::debug!("whether ConstrainCores=yes is set is unknown: {why}");
            false
        }
    }
}

/// `TaskPlugin=task/cgroup` with `ConstrainDevices=yes`; `None` where that cannot be found out.
pub(crate) fn constrain_devices(slurm: Abi) -> Option<bool> {
    if !standing::has_task_cgroup(slurm) {
        return Some(false);
    }
    let conf = is_slurms_daemon().then(|| cgroup_conf(slurm))?;
    conf.ok().map(|conf| conf.constrains_devices())
}

/// cgroup.conf; only in one of Slurm's daemons that has a list of task plugins.
fn cgroup_conf(slurm: Abi) -> Result<CgroupConf, slurm_sys::Error> {
    // SAFETY: the callers asked for that: such a daemon reads cgroup.conf before it loads the plugins.
    unsafe { CgroupConf::read(slurm.symbols) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ThreadsPerCore=1` on cores of two threads: slurmstepd of 23.02 knows no real number, and slurmd takes none.
    #[test]
    fn the_hardware_counts_from_23_11_on() {
        for (line, threads) in [
            (Line::V22_05, 1),
            (Line::V23_02, 1),
            (Line::V23_11, 2),
            (Line::V26_05, 2),
        ] {
            assert_eq!(pick(line, 2, 1), threads, "{line}");
            assert_eq!(pick(line, 0, 1), 1, "{line}");
        }
    }

    #[test]
    fn efficiency_cores_are_left_out_from_23_02_on() {
        let plain = Counting::default();
        assert_eq!(leaves_out(Line::V22_05, plain), None);
        assert_eq!(leaves_out(Line::V23_02, plain), Some(ECores::FirstKind));
        let other = Counting {
            l3cache_as_socket: true,
            ..plain
        };
        assert_eq!(leaves_out(Line::V24_11, other), Some(ECores::SameFrequency));
        assert_eq!(leaves_out(Line::V26_05, plain), Some(ECores::AnyFrequency));
        let allowed = Counting {
            allow_ecores: true,
            ..plain
        };
        assert_eq!(leaves_out(Line::V26_05, allowed), None);
    }
}
