//! slurmd announces itself to the command, in a file beside the machine's: when it is ready, and
//! again when it has become a daemon, which is another process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use berth_host::ledger::Process;
use berth_host::{announcement, online};
use berth_placement::{Node, SocketKind};
use berth_site::SiteRules;
use berth_site::announcement::Announcement;
use slurm_sys::{Layout, Slurm};

use crate::site::node::state_dir;
use crate::site::settings::{self, Settings};
use crate::site::standing::{self, Abi};
use crate::slurmd::{complaints, cpuset, discovery, pool};
use crate::step::convert;

/// The last announcement: the node, the words, and the kind of object that slurmd calls a socket.
static LAST: Mutex<Option<(String, Announcement, SocketKind)>> = Mutex::new(None);

/// Whether plugstack.conf names us: Slurm has called.
static IS_SPANK_PLUGIN: AtomicBool = AtomicBool::new(false);

/// slurmd has read plugstack.conf, and it names us.
pub(crate) fn in_plugstack() {
    IS_SPANK_PLUGIN.store(true, Ordering::Relaxed);
}

/// The part of the announcement beside the settings and complaints.
pub(crate) enum Role<'a> {
    /// The task plugin, with the table and the node as slurmd counts it.
    Task(Abi, &'a Node),
    /// berth is not the task plugin; this is the reason.
    Aside(&'a str),
}

/// Announces slurmd as it starts. It may still become another process, with another number.
pub(crate) fn announce(node_name: &str, role: &Role<'_>) {
    let mut words = Announcement {
        berth: env!("CARGO_PKG_VERSION").into(),
        command_line: std::env::args_os()
            .map(|word| word.to_string_lossy().into())
            .collect(),
        program: std::fs::read_link("/proc/self/exe")
            .map(|path| path.to_string_lossy().into())
            .unwrap_or_default(),
        object: object(),
        slurm: release(),
        serves_binding_only: standing::serves_binding_only(),
        is_spank_plugin: IS_SPANK_PLUGIN.load(Ordering::Relaxed),
        ..Announcement::default()
    };
    let mut kind = SocketKind::default();
    match role {
        Role::Task(slurm, node) => {
            words.is_task_plugin = true;
            words.layout = range(slurm.layout);
            words.shape = node.shape().to_string();
            words.set_rules(&site_rules(*slurm, node));
            words.constrain_cores = node.rules().constrain_cores;
            let outside = node.outside_cgroups().map(|cpus| cpus.to_string());
            words.outside_cgroups = outside.unwrap_or_default();
            let left_out = node.efficiency_cpus().map(|cpus| cpus.to_string());
            words.left_out = left_out.unwrap_or_default();
            kind = node.socket();
        }
        Role::Aside(why) => words.aside = (*why).into(),
    }
    write(node_name, &mut words, kind);
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some((node_name.into(), words, kind));
}

/// The path of our own object as the kernel shows it in a process's map, without links.
fn object() -> String {
    let path = slurm_sys::process::own_path().unwrap_or_default();
    let path = std::fs::canonicalize(&path).unwrap_or(path);
    path.to_string_lossy().into()
}

/// Announces slurmd again, because it is a daemon now or the machine has changed; never in a hook. The slurmd that
/// `scontrol reconfigure` starts (23.11 and later) announces itself while this one still lives, and stays announced.
/// Returns whether this one is announced now.
pub(crate) fn again() -> bool {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((node_name, words, kind)) = last.as_mut()
        && !is_younger(Process::own(), announced(node_name))
    {
        words.is_daemon = true;
        return write(node_name, words, *kind);
    }
    false
}

/// The process that is announced.
fn announced(node_name: &str) -> Option<Process> {
    let words = announcement::read(&state_dir(node_name).ok()?).ok()?;
    Some(Process {
        pid: words.pid,
        start: words.start,
    })
}

/// Whether it is another one that lives and has started after this one.
fn is_younger(own: Process, found: Option<Process>) -> bool {
    found.is_some_and(|found| found != own && found.start > own.start && found.is_alive())
}

/// The node that was announced.
pub(crate) fn node_name() -> Option<String> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().map(|(node_name, ..)| node_name.clone())
}

/// Writes the file, and returns whether it could. The log already has a complaint if the directory cannot be written.
fn write(node_name: &str, words: &mut Announcement, kind: SocketKind) -> bool {
    let own = Process::own();
    (words.pid, words.start) = (own.pid, own.start);
    words.made = announcement::ticks_now();
    words.boot_id = online::boot_id().unwrap_or_default();
    let settings = settings::current();
    words.settings = settings_line(&settings);
    words.set_cpusets(cpuset::FILE.in_force().as_deref());
    words.cpusets_stamp = cpuset::FILE.stamp();
    words.set_pools(pool::FILE.in_force().as_deref());
    words.pools_stamp = pool::FILE.stamp();
    complaints::set_news(false);
    words.complaints = complaints::all();
    let flag = Slurm::get().flag().map(ToString::to_string);
    words.warnings = flag.into_iter().chain(complaints::doubts()).collect();
    if words.is_task_plugin {
        let machine = discovery::machine();
        words.topology = machine
            .map(|machine| machine.topology_string(kind))
            .unwrap_or_default();
    }
    let written = state_dir(node_name).and_then(|dir| {
        dir.prepare().map_err(|why| why.to_string())?;
        announcement::write(&dir, words).map_err(|why| why.to_string())
    });
    let is_written = written.is_ok();
    complaints::set_news(!is_written);
    report(written);
    is_written
}

/// The log has each reason once: slurmd tries again and again.
fn report(written: Result<(), String>) {
    static LAST_WHY: Mutex<Option<String>> = Mutex::new(None);
    let mut last = LAST_WHY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(why) = &written
        && last.as_ref() != Some(why)
    {
        log::warn!("berth doctor cannot show this slurmd's state: {why}");
    }
    *last = written.err();
}

/// `22.05.6-11`
pub(crate) fn range(layout: &Layout) -> String {
    format!(
        "{}.{}-{}",
        layout.line, layout.first_micro, layout.last_verified_micro
    )
}

/// Slurm's release in its own words.
pub(crate) fn release() -> String {
    match &Slurm::get().version {
        Ok(version) => version.to_string(),
        Err(unknown) => unknown.to_string(),
    }
}

/// The rules as every user may read them, so that `berth plan` answers here as slurmd will.
fn site_rules(slurm: Abi, node: &Node) -> SiteRules {
    let settings = settings::current();
    SiteRules {
        slurm_line: slurm.layout.line.to_string(),
        compat: settings.fixes.to_string(),
        cpu_bind: convert::default_cpu_bind(slurm).map(|bind| bind.to_string()),
        binding_off: !settings.binding,
        reserved: settings.reserved.to_string(),
        cpusets: settings
            .cpusets
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        pools: settings
            .pools
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        pool_cpus: pool::most_threads(node, settings.pool_reserve),
        cpu_threads: pool::threads_of_cpu(node),
        confine: settings.confine.to_string(),
        binding_default: settings.binding_default.as_ref().map(ToString::to_string),
        ..SiteRules::of(node)
    }
}

/// The settings that differ from the defaults, behind `compat`.
fn settings_line(settings: &Settings) -> String {
    const OTHERS: [&str; 13] = [
        "shadow",
        "binding",
        "strict",
        "counters",
        "reserved",
        "cpusets",
        "pools",
        "pool_reserve",
        "cpuset_best",
        "cpuset_fail",
        "confine",
        "quarantine",
        "binding_default",
    ];
    let defaults = Settings::default();
    let others = OTHERS.map(|key| (settings.in_force(key), defaults.in_force(key)));
    let changed = others.into_iter().filter(|(now, default)| now != default);
    let mut words = vec![settings::compat(settings.fixes)];
    words.extend(changed.map(|(now, _)| now));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_younger_slurmd_that_lives_stays_announced() {
        let own = Process::own();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let younger = Process::of(child.id().try_into().unwrap()).unwrap();
        // The two can start within one tick of the clock.
        let before = Process {
            start: own.start.min(younger.start - 1),
            ..own
        };
        assert!(!is_younger(own, Some(own)));
        assert!(is_younger(before, Some(younger)));
        assert!(!is_younger(own, Process::of(1)), "the parent of a daemon");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_younger(before, Some(younger)), "it has ended");
        assert!(!is_younger(own, None));
    }
}
