//! slurmd's key, with which it marks its handover to slurmstepd ([`crate::step::seal`]).

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use berth_host::key::Key;

use crate::site::node::state_dir;
use crate::slurmd::complaints::{self, About};
use crate::slurmd::refusal::NotPlanned;
use crate::step::handover::Handover;
use crate::step::seal::{self, StepIdentity};

/// The time until a launch tries again to make a key.
const AGAIN: Duration = Duration::from_secs(1);

/// slurmd keeps its key for as long as it runs.
static KEY: OnceLock<Key> = OnceLock::new();

/// slurmd's key, read or made when slurmd is ready, and before the first launch at the latest.
/// The reason why there is none, which is logged once, and again if a launch finds none.
pub(crate) fn current(node_name: &str) -> Option<Key> {
    static TRIED: Mutex<Option<Instant>> = Mutex::new(None);
    if let Some(key) = KEY.get() {
        return Some(*key);
    }
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    if tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
        return KEY.get().copied();
    }
    *tried = Some(Instant::now());
    made(node_name).map(|key| *KEY.get_or_init(|| key))
}

/// slurmd is ready, or has other settings, whose state directory may be another one.
pub(crate) fn begin(node_name: &str) {
    if current(node_name).is_some() {
        put_back(node_name);
    }
}

/// Writes slurmd's key again where the directory has none or another one: somebody has removed it, or put an old one back.
/// Returns whether that was so. The log has each reason once why it cannot be written.
pub(super) fn put_back(node_name: &str) -> bool {
    static LAST: Mutex<Option<String>> = Mutex::new(None);
    let Some((key, dir)) = KEY.get().zip(state_dir(node_name).ok()) else {
        return false;
    };
    let kept = key.keep(&dir).map_err(|why| why.to_string());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &kept {
        Ok(true) => log::info!("slurmd's key is in {} again", dir.path().display()),
        Err(why) if last.as_ref() != Some(why) => {
            log::error!("slurmd's key could not be put back: {why}");
        }
        Ok(false) | Err(_) => {}
    }
    let is_back = kept == Ok(true);
    *last = kept.err();
    is_back
}

/// The handover with slurmd's mark; nothing while slurmd has no key.
///
/// # Errors
/// It is longer than slurmstepd reads: a client of a user's own has sent lists beyond all use.
pub(crate) fn sealed(
    handover: &Handover,
    identity: &StepIdentity<'_>,
) -> Result<Option<String>, NotPlanned> {
    let sealed = current(identity.node_name).map(|key| seal::sealed(handover, identity, &key));
    match sealed {
        Some(long) if long.len() > seal::MOST => Err(NotPlanned::refused(format!(
            "what was requested for this step has {} bytes, and slurmstepd reads {} at most; use shorter lists",
            long.len(),
            seal::MOST
        ))),
        sealed => Ok(sealed),
    }
}

fn made(node_name: &str) -> Option<Key> {
    let made = state_dir(node_name).and_then(|dir| {
        dir.prepare().map_err(|why| why.to_string())?;
        Key::read_or_make(&dir).map_err(|why| why.to_string())
    });
    let wrong = made.as_ref().err().map(|why| {
        format!(
            "slurmd has no key for its messages to slurmstepd: {why}; until it has one, tasks \
             keep their step's CPUs, without placement"
        )
    });
    if let Some(why) = &wrong {
        log::error!("{why}");
    }
    complaints::set(About::Key, wrong, None);
    made.ok()
}
