//! The site's file of cpusets in slurmd: read when slurmd starts, and again by our thread when it has
//! changed. A launch hook gets what is in force, and waits for no reading.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_host::kept::Kept;
use berth_host::site_file::{self, Stamp};
use berth_placement::sets::count::counted;
use berth_site::cpusets::{Site, SiteCpusets};
use nix::unistd::User;

use crate::site::{node, settings};
use crate::slurmd::complaints::{self, About};
use crate::slurmd::{discovery, held};

/// A file with users that this node does not know is read again after this time: a directory service
/// may have been away.
const USERS_AGAIN: Duration = Duration::from_secs(300);

/// The file as it was last looked at, whether it could be read or not.
#[derive(PartialEq, Eq)]
struct Looked {
    path: PathBuf,
    stamp: Option<Stamp>,
}

/// What is in force, and the last look.
struct Known {
    sets: Option<Arc<SiteCpusets>>,
    looked: Option<Looked>,
    /// The time at which the same file is read again; never, if all of it holds.
    again: Option<Instant>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    sets: None,
    looked: None,
    again: None,
});

/// Held for a clone or an exchange, never while a file is read.
fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is in force; nothing without `cpusets=`, or if the file has never been readable.
pub(crate) fn in_force() -> Option<Arc<SiteCpusets>> {
    known().sets.clone()
}

/// Whether there is a file to look at again and again.
pub(crate) fn has_file() -> bool {
    settings::current().cpusets.is_some()
}

/// Reads the file if it is another one than at the last look, has changed, or did not hold then; never in a
/// launch hook. Returns whether slurmd's announcement must be written again. It may take long: the file can lie on another
/// machine, and so can the names of its users.
pub(crate) fn look(node_name: &str) -> bool {
    let Some(path) = settings::current().cpusets.clone() else {
        let mut known = known();
        let had = known.looked.take().is_some() | known.sets.take().is_some();
        drop(known);
        held::forget(Kept::Cpusets, node_name);
        return complaints::set(About::Cpusets, None, Vec::new()) | had;
    };
    // The stamp is taken first: what changes while the file is read is read at the next look.
    let looked = Looked {
        stamp: Stamp::of(&path),
        path,
    };
    let is_other = {
        let known = known();
        let is_other = known.looked.as_ref() != Some(&looked);
        if !is_other && known.again.is_none_or(|then| Instant::now() < then) {
            return false;
        }
        is_other
    };
    let (again, is_news) = read(&looked.path, node_name, is_other);
    let mut known = known();
    (known.looked, known.again) = (Some(looked), again.map(|pause| Instant::now() + pause));
    is_other || is_news
}

/// The next look reads the file whatever is known of it: what is kept of it may be gone.
pub(super) fn look_again() {
    known().looked = None;
}

/// Reads the file, and puts it in force; one that does not hold leaves what was in force. Returns after which
/// time the same file is to be read again, and whether there is news for the administrator. The log has a
/// line for news only.
fn read(path: &Path, node_name: &str, is_other: bool) -> (Option<Duration>, bool) {
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        uid: &|name| {
            let user = User::from_name(name).ok().flatten()?;
            Some(user.uid.as_raw())
        },
    };
    let read = site_file::text("cpusets", path).and_then(|text| {
        let sets = site_file::cpusets_of(path, &text, &site)?;
        Ok((sets, text))
    });
    match read {
        Ok((sets, text)) => {
            held::keep(Kept::Cpusets, node_name, &text);
            let doubts = doubts(&sets);
            let is_news = complaints::set(About::Cpusets, None, doubts.clone());
            if is_other || is_news {
                log::info!(
                    "{}: {} of this node, words of {}",
                    path.display(),
                    counted(sets.here().count(), "static cpuset"),
                    counted(sets.partitions().len(), "partition"),
                );
                doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
            }
            let again = (!sets.doubts.is_empty()).then_some(USERS_AGAIN);
            known().sets = Some(Arc::new(sets));
            (again, is_news)
        }
        Err(why) => {
            if in_force().is_none() {
                known().sets = kept(path, node_name, &site).map(Arc::new);
            }
            let why = match in_force() {
                Some(sets) if sets.path == path => {
                    format!("{why}; the file as it was read before stays in force")
                }
                Some(_) => format!("{why}; the file that was named before stays in force"),
                None => format!(
                    "{why}; this node has no static cpusets, and partitions add no words to a --cpuset"
                ),
            };
            let is_news = complaints::set(About::Cpusets, Some(why.clone()), Vec::new());
            if is_news {
                log::error!("{why}");
            }
            (Some(Duration::ZERO), is_news)
        }
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
