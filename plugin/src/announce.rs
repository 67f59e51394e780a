//! slurmd tells `berth doctor` who it is: once when it is ready, in a file beside the machine's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use berth_host::StateDir;
use berth_host::announcement::{self, Announcement};
use berth_placement::{Fixes, Host};
use slurm_sys::{Layout, Slurm};

use crate::settings::{self, Settings};
use crate::standing;

/// What was wrong so far; slurmd's settings are read before it is ready.
static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Something the administrator should know; it was logged.
pub(crate) fn complain(why: String) {
    let mut all = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains(&why) {
        all.push(why);
    }
}

/// Whether plugstack.conf names us: Slurm has called.
static IS_SPANK_PLUGIN: AtomicBool = AtomicBool::new(false);

/// slurmd has read plugstack.conf, and it names us.
pub(crate) fn in_plugstack() {
    IS_SPANK_PLUGIN.store(true, Ordering::Relaxed);
}

/// What is to be announced beside the settings and complaints.
pub(crate) enum Role<'a> {
    /// The task plugin, with the table and the node as slurmd counts it.
    Task(&'static Layout, &'a Host),
    /// Not; why.
    Aside(&'a str),
}

/// Writes the file. A directory that cannot be written was complained about already.
pub(crate) fn announce(node_name: &str, role: &Role<'_>) {
    let settings = settings::current();
    let mut words = Announcement {
        berth: env!("CARGO_PKG_VERSION").into(),
        command_line: std::env::args_os()
            .map(|word| word.to_string_lossy().into())
            .collect(),
        slurm: release(),
        serves_binding_only: standing::serves_binding_only(),
        is_spank_plugin: IS_SPANK_PLUGIN.load(Ordering::Relaxed),
        settings: told(&settings),
        complaints: COMPLAINTS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone(),
        warnings: Slurm::get()
            .flag()
            .map(ToString::to_string)
            .into_iter()
            .collect(),
        ..Announcement::default()
    };
    match role {
        Role::Task(layout, host) => {
            words.is_task_plugin = true;
            words.layout = range(layout);
            words.shape = host.shape.to_string();
            let machine = host.machine.as_deref();
            words.topology = machine
                .map(|machine| machine.topology_string(host.socket))
                .unwrap_or_default();
        }
        Role::Aside(why) => words.aside = (*why).into(),
    }
    let written = StateDir::new(&settings.state_dir, node_name)
        .map_err(|why| why.to_string())
        .and_then(|dir| {
            dir.prepare().map_err(|why| why.to_string())?;
            announcement::write(&dir, &words).map_err(|why| why.to_string())
        });
    if let Err(why) = written {
        log::warn!("berth doctor will not know this slurmd: {why}");
    }
}

/// `22.05.6-11`
pub(crate) fn range(layout: &Layout) -> String {
    format!(
        "{}.{}-{}",
        layout.line, layout.first_micro, layout.last_verified_micro
    )
}

/// Slurm's release as it says itself.
pub(crate) fn release() -> String {
    match &Slurm::get().version {
        Ok(version) => version.to_string(),
        Err(unknown) => unknown.to_string(),
    }
}

/// `compat=` as the ready line has it.
pub(crate) fn compat(fixes: Fixes) -> String {
    match fixes {
        Fixes::ALL => "compat=berth".into(),
        Fixes::NONE => "compat=affinity".into(),
        some => format!("compat=affinity with {some:?}"),
    }
}

fn told(settings: &Settings) -> String {
    let mut words = vec![compat(settings.fixes)];
    words.extend(settings.shadow.then(|| "shadow=on".into()));
    words.extend((!settings.binding).then(|| "binding=off".into()));
    words.extend(settings.strict.then(|| "strict=on".into()));
    let default = settings.binding_default.as_ref();
    words.extend(default.map(|binding| format!("binding_default={binding}")));
    words.join(" ")
}
