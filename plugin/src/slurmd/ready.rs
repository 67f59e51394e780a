//! slurmd gets ready: it discovers the machine, logs the ready line, and announces itself.

use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_host::cgroup::{self, Mounts, Place};
use berth_host::{atomic_file, job_files, ledger, plugstack};
use berth_placement::{Node, Shape};
use berth_site::read_settings::Complaint;
use slurm_sys::process::{Daemon, daemon, own_path};
use slurm_sys::{Slurm, SlurmConf, SlurmdConf};

use crate::site::standing::{self, Abi};
use crate::site::{metrics, node, settings};
use crate::slurmd::announce::{self, Role, announce};
use crate::slurmd::complaints::{self, About};
use crate::slurmd::{cpuset, discovery, key, pool, refresh, reserved};
use crate::step::convert;

const SECOND_LINE: &str = "plugstack.conf has more than one line for task_berth.so: the last one is in force, and srun \
                           prints errors about its options; remove the others";

/// At each load. slurmd loads its task plugins before it reads plugstack.conf, so
/// where that file names us, getting ready waits for the settings in it.
pub(crate) fn at_load() {
    if daemon() != Daemon::Slurmd || discovery::was_tried() || is_in_plugstack() {
        return;
    }
    start();
}

/// Whether plugstack.conf names us, so that Slurm is going to call.
fn is_in_plugstack() -> bool {
    let Some(slurm) = standing::unjudged() else {
        return false;
    };
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    let path = conf.and_then(|conf| conf.plugstack_path(slurm.symbols));
    let own = own_path().unwrap_or_default();
    let own = own.file_name().and_then(|name| name.to_str());
    let names: Vec<_> = [plugstack::NAME].into_iter().chain(own).collect();
    path.is_some_and(|path| plugstack::line_of(Path::new(&path), &names).is_some())
}

/// slurmd has read a line of plugstack.conf that names us. Only slurmd reports what is wrong there: once per
/// node, not once per job.
pub(crate) fn in_plugstack(mut found: Vec<Complaint>) {
    static HAS_LINE: AtomicBool = AtomicBool::new(false);
    if HAS_LINE.swap(true, Ordering::Relaxed) {
        found.push(Complaint {
            text: SECOND_LINE.into(),
            is_unknown_key: false,
        });
    }
    for complaint in &found {
        log::error!("{}", complaint.text);
    }
    let (doubts, wrong): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.is_unknown_key);
    let text = |one: Complaint| one.text;
    let (wrong, doubts) = (wrong.into_iter().map(text), doubts.into_iter().map(text));
    complaints::set(About::Settings, wrong, doubts);
    announce::in_plugstack();
}

/// Makes all that the first launch needs, and removes what earlier slurmds left.
fn begin(node_name: &str) {
    metrics::begin(node_name);
    refresh::begin(node_name);
    tidy_files(node_name);
    tidy_cgroups();
    key::begin(node_name);
}

/// Reads the files of the site, whose pools count as slurmd does.
fn site_files(node_name: &str, node: Option<&Node>) {
    node.into_iter().for_each(pool::set_threads_of_cpu);
    cpuset::read_site_file(node_name);
    pool::read_site_file(node_name);
}

/// Discovers the machine and writes the ready line into slurmd's log, at start and again
/// when slurmd gets other settings.
pub(crate) fn start() {
    let Some(slurm) = standing::working() else {
        // This happens once, however often Slurm loads the object.
        static SAID: Once = Once::new();
        if let Some(why) = standing::aside() {
            let level = if standing::serves_binding_only() {
                log::Level::Info
            } else {
                log::Level::Error
            };
            SAID.call_once(|| {
                log::log!(level, "{why}");
                announce(&node::public_name(), &Role::Aside(why));
                metrics::begin(&node::public_name());
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
    let checked = node::sane(&conf);
    let name = match &checked {
        Ok(()) => conf.node_name().unwrap_or_default(),
        // Binding without Slurm's records needs the machine file.
        Err(_) => node::public_name(),
    };
    discovery::at_start(&name);
    begin(&name);
    if let Err(why) = checked {
        log::error!("{why}");
        site_files(&name, None);
        announce(&name, &Role::Aside(&why));
        return;
    }
    let here = Node::new(
        node::shape(slurm, &conf),
        discovery::machine(),
        node::socket_kind(slurm),
        node::with_constrain_cores(slurm, convert::rules(slurm, &settings::current())),
    );
    site_files(&name, Some(&here));
    say_ready(slurm, &here);
    tell_counts(&here);
    reserved::compare(&settings::current().reserved, &here);
    announce(&name, &Role::Task(slurm, &here));
}

fn say_ready(slurm: Abi, node: &Node) {
    log::info!("{}", ready_line(slurm, node));
    warn_if_off();
}

/// The switch-off file may be forgotten for months: slurmd reports it whenever it starts.
fn warn_if_off() {
    let settings = settings::current();
    if standing::is_off(&settings) {
        log::warn!(
            "the file {}/off switches berth off: it binds no task until the file is removed",
            settings.state_dir.display()
        );
    }
}

/// Discovers the machine and announces the node when slurmd starts and berth stands aside, once the settings are known:
/// slurmstepd serves --binding from the machine file alone.
pub(crate) fn start_aside() {
    if standing::working().is_none() {
        let name = node::name().unwrap_or_else(node::public_name);
        discovery::at_start(&name);
        metrics::begin(&name);
        announce(&name, &Role::Aside(standing::aside().unwrap_or_default()));
        warn_if_off();
    }
}

/// Removes what is kept of jobs that have ended while slurmd was down, and what killed processes were writing.
fn tidy_files(name: &str) {
    if let Ok(dir) = node::state_dir(name) {
        job_files::tidy(&dir);
        ledger::tidy(&dir);
        atomic_file::tidy(dir.path());
    }
}

/// Removes cgroups of ours that killed slurmstepds left.
fn tidy_cgroups() {
    let own = Mounts::read().ok();
    let place = own.and_then(|mounts| Place::of(0, &mounts).ok());
    for path in place.iter().flat_map(cgroup::leftovers_around) {
        log::info!("removed {path}, left by a killed slurmstepd");
    }
}

/// Logs what slurmd and Slurm's cgroups make of the machine, if that is not all that hwloc finds.
fn tell_counts(here: &Node) {
    let other_shape = other_shape(here);
    complaints::set(About::Shape, other_shape.clone(), None);
    if let Some(why) = other_shape {
        log::warn!("{why}");
    } else if let Some(counts) = other_counts(here) {
        log::info!("{counts}");
    }
    if let Some(left) = here.efficiency_cpus() {
        log::info!(
            "slurmd leaves out the efficiency cores (CPUs {left}), because SlurmdParameters has no \
             allow_ecores: no step gets them"
        );
    }
}

fn ready_line(slurm: Abi, node: &Node) -> String {
    let topology = match node.machine() {
        Some(machine) => machine.topology_string(node.socket()),
        None => "unknown, slurmd's own map is used".into(),
    };
    format!(
        "ready: berth {}, Slurm {}, layout {}, machine {} ({topology}), {}",
        env!("CARGO_PKG_VERSION"),
        announce::release(),
        announce::range(slurm.layout),
        node.shape(),
        settings::compat(settings::current().fixes),
    )
}

/// Both counts, if slurm.conf, slurmd's map and hwloc disagree.
fn other_shape(node: &Node) -> Option<String> {
    let (machine, shape) = (node.machine()?, node.shape());
    let seen = Shape::of(machine, node.socket());
    let same = (seen.sockets, seen.cores) == (shape.sockets, shape.cores);
    if !same || seen.map.len() != shape.map.len() {
        return Some(format!(
            "slurm.conf describes {shape} ({} CPUs mapped), but hwloc finds {seen} ({} CPUs); \
             slurmd's map decides which cores a number means; compare `slurmd -C` with the node's \
             line in slurm.conf",
            shape.map.len(),
            seen.map.len()
        ));
    }
    None
}

/// slurmd's count and the tree's, if cores, threads or the cgroups' CPUs differ.
fn other_counts(node: &Node) -> Option<String> {
    let (machine, shape) = (node.machine()?, node.shape());
    let (cores, cpus) = (machine.core_count(), machine.cpus().count());
    let counted = (shape.core_count(), shape.core_count() * shape.stride);
    let outside = node.outside_cgroups();
    let same = counted == (cores as u32, cpus as u32) && outside.is_none();
    let result = match outside {
        Some(cpus) => format!(
            "ConstrainCores=yes confines steps to the CPUs of slurmd's map; CPUs {cpus} are in no \
             step's cgroup, and berth plans nothing there"
        ),
        None => "each core has the threads that hwloc finds, and cores that slurmd does not count \
                 are not used"
            .into(),
    };
    (!same).then(|| {
        format!(
            "slurmd counts {} cores with {} hardware threads ({shape}), but hwloc finds {cores} \
             cores with {cpus}: {result}",
            counted.0, counted.1
        )
    })
}
