//! The site's file of cpusets in slurmd: read when slurmd starts, and after `berth reload`. A launch hook gets what is in
//! force, and waits for no reading.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_host::kept::Kept;
use berth_host::site_file;
use berth_placement::sets::count::counted;
use berth_site::cpusets::{Site, SiteCpusets};
use nix::unistd::User;

use crate::site::{node, settings};
use crate::slurmd::complaints::{self, About};
use crate::slurmd::{discovery, held};

/// What is in force, and the stamp of its file.
static IN_FORCE: Mutex<Option<(Arc<SiteCpusets>, String)>> = Mutex::new(None);

/// Held for a clone or an exchange, never while a file is read.
fn known() -> MutexGuard<'static, Option<(Arc<SiteCpusets>, String)>> {
    IN_FORCE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is in force; nothing without `cpusets=`, or if the file has never been readable.
pub(crate) fn in_force() -> Option<Arc<SiteCpusets>> {
    known().as_ref().map(|(sets, _)| sets.clone())
}

/// The stamp of the file as it was read; empty where another slurmd read it.
pub(crate) fn stamp() -> String {
    let known = known();
    known
        .as_ref()
        .map(|(_, stamp)| stamp.clone())
        .unwrap_or_default()
}

/// Reads the file and puts it in force; one that does not hold leaves what was in force. Never in a launch hook: it may
/// take long, because the file can lie on another machine, and so can the names of its users.
pub(crate) fn read(node_name: &str) {
    let Some(path) = settings::current().cpusets.clone() else {
        *known() = None;
        held::forget(Kept::Cpusets, node_name);
        complaints::set(About::Cpusets, None, None);
        return;
    };
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        uid: &|name| {
            let user = User::from_name(name).ok().flatten()?;
            Some(user.uid.as_raw())
        },
    };
    // It is taken first: a file that changes while it is read has another one.
    let stamp = site_file::stamp(&path);
    let read = site_file::text("cpusets", &path).and_then(|text| {
        let sets = site_file::cpusets_of(&path, &text, &site)?;
        Ok((sets, text))
    });
    match read {
        Ok((sets, text)) => {
            held::keep(Kept::Cpusets, node_name, &text);
            let doubts = doubts(&sets);
            log::info!(
                "{}: {} of this node, words of {}",
                path.display(),
                counted(sets.here().count(), "static cpuset"),
                counted(sets.partitions().len(), "partition"),
            );
            doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
            complaints::set(About::Cpusets, None, doubts);
            *known() = Some((Arc::new(sets), stamp));
        }
        Err(why) => {
            if in_force().is_none() {
                *known() =
                    kept(&path, node_name, &site).map(|sets| (Arc::new(sets), String::new()));
            }
            complain(&why.to_string(), &path);
        }
    }
}

/// Says what is wrong with the file, and what is in force instead. The log has each reason once.
fn complain(why: &str, path: &Path) {
    let why = match in_force() {
        Some(sets) if sets.path == path => {
            format!("{why}; the file as it was read before stays in force")
        }
        Some(_) => format!("{why}; the file that was named before stays in force"),
        None => format!(
            "{why}; this node has no static cpusets, and partitions add no words to a --cpuset"
        ),
    };
    if complaints::set(About::Cpusets, Some(why.clone()), None) {
        log::error!("{why}");
    }
}

/// What was in force for the slurmd before this one.
fn kept(path: &Path, node_name: &str, site: &Site<'_>) -> Option<SiteCpusets> {
    site_file::cpusets_of(path, &held::text(Kept::Cpusets, node_name)?, site).ok()
}

/// What the administrator should know of a file that holds: users and CPUs that this node does not
/// have.
fn doubts(sets: &SiteCpusets) -> Vec<String> {
    let path = sets.path.display();
    let users = sets.doubts.iter().map(|doubt| format!("{path}, {doubt}"));
    let machine = discovery::machine();
    let cpus = sets.here().filter_map(|set| {
        let missing = set.cpus.difference(machine.as_ref()?.cpus());
        (!missing.is_empty()).then(|| {
            format!(
                "{path}, line {}: this node has no CPUs {missing}, so the cpuset {} is smaller here",
                set.line, set.name
            )
        })
    });
    users.chain(cpus).collect()
}
