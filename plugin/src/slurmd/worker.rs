//! Our one thread in slurmd, for all work that a launch hook must not wait for: discovery after a
//! CPU went online or offline and after a failure, the announcement of the process that slurmd has
//! become, the counts, slurmd's key when it is lost, and the site's files when they change. The first hook starts it, when
//! slurmd has become a daemon, or slurmd's start where it does not become another process; between two looks it sleeps.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::slurmd::{abandoned, announce, complaints, cpusets, discovery, key, pools, thread};

/// After a failed discovery the next one follows after this time, then after twice this time, and
/// so on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A changed file of the site is read within this time, or later where a look uses much of a CPU. A lost key is put back
/// within this time.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// The pause is at least so many times as long as what the look before it used: all looks never take more than a
/// twentieth of a CPU, however many jobs there are.
const LEISURE: u32 = 19;

/// The work to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Todo {
    /// The machine must be discovered, for this node.
    discover: Option<String>,
    announce: bool,
    /// The site's files may have changed.
    look: bool,
    /// slurmd's key may be lost.
    key: bool,
    stop: bool,
}

static TODO: Mutex<Todo> = Mutex::new(Todo {
    discover: None,
    announce: false,
    look: false,
    key: false,
    stop: false,
});

/// Requests discovery of the machine; from a hook.
pub(crate) fn discover(node_name: &str) {
    let mut todo = todo();
    if todo.discover.is_none() {
        todo.discover = Some(node_name.into());
        thread::wake();
    }
    drop(todo);
    start();
}

/// Slurmd's announcement must be written again; from a hook.
pub(crate) fn announce_again() {
    todo().announce = true;
    thread::wake();
    start();
}

fn todo() -> MutexGuard<'static, Todo> {
    TODO.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread if it does not run yet. Only a hook may call it: slurmd loads its plugins
/// before it becomes a daemon, and a thread does not survive that.
pub(crate) fn start() {
    thread::start(work);
}

/// slurmd starts. One that never becomes another process needs no hook for the thread, and the site's files may change
/// long before the first launch.
pub(crate) fn start_at_once() {
    if thread::stays() {
        start();
    }
}

/// Ends the thread: slurmd is about to end. A later hook would start it again.
pub(crate) fn stop() {
    thread::stop(|| {
        todo().stop = true;
        thread::wake();
    });
}

/// The time at which the work may be done.
struct Times {
    discover: Instant,
    pause: Duration,
    look: Instant,
    key: Instant,
}

impl Times {
    /// All work may be done at once.
    fn new() -> Self {
        let now = Instant::now();
        Self {
            discover: now,
            pause: FIRST_PAUSE,
            look: now,
            key: now,
        }
    }
}

fn work() {
    let mut times = Times::new();
    // The process did not have its final number when slurmd loaded its plugins.
    announce::again();
    if let Some(node_name) = announce::node_name() {
        abandoned::thaw(&node_name);
    }
    if discovery::has_failed()
        && let Some(node_name) = announce::node_name()
    {
        todo().discover.get_or_insert(node_name);
    }
    let mut last = None;
    while let Some(due) = wait(&times) {
        let node_name = announce::node_name();
        if due.look {
            times.look = Instant::now() + BETWEEN_LOOKS;
        }
        let looks = node_name.as_deref().filter(|_| due.look);
        let has_changed = looks.is_some_and(|node| look(node, &mut times));
        let is_back = due.key && look_at_key(node_name.as_deref(), &mut times);
        let is_lost = due.key && announce::is_lost();
        let has_news = complaints::have_changed();
        if due.announce || has_changed || has_news || is_back || is_lost {
            announce::again();
        }
        if let Some(node_name) = due.discover {
            discover_again(&node_name, &mut times, &mut last);
        }
    }
    thread::ended();
}

/// What this thread has used of a CPU; on a full node it waits for one itself, and that is no use.
fn cpu_time() -> Duration {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    used.map_or(Duration::ZERO, Duration::from)
}

/// Whether there are files of the site to look at again and again.
fn has_files() -> bool {
    cpusets::has_file() || pools::has_file()
}

/// Reads those that have changed, thaws what killed slurmstepds have frozen, and plans the next time. Returns whether slurmd's
/// announcement must be written again.
fn look(node_name: &str, times: &mut Times) -> bool {
    let began = cpu_time();
    let has_changed = cpusets::look(node_name) | pools::look(node_name);
    abandoned::thaw(node_name);
    let took = cpu_time().saturating_sub(began);
    times.look = times.look.max(Instant::now() + took * LEISURE);
    has_changed
}

/// Puts slurmd's key back if it is lost, and plans the next time. Returns whether it was: the announcement may be lost too.
fn look_at_key(node_name: Option<&str>, times: &mut Times) -> bool {
    times.key = Instant::now() + BETWEEN_LOOKS;
    let Some(node_name) = node_name.filter(|node| key::look(node)) else {
        return false;
    };
    // Where the directory itself was gone, so are the machine and the site's files as they last held.
    todo().discover.get_or_insert_with(|| node_name.into());
    pools::look_again();
    cpusets::look_again();
    true
}

/// The work that is due now, or nothing when it is time to end. Later work stays.
fn wait(times: &Times) -> Option<Todo> {
    let mut todo = todo();
    loop {
        if todo.stop {
            todo.stop = false;
            return None;
        }
        let now = Instant::now();
        let due = Todo {
            discover: match now >= times.discover {
                true => todo.discover.take(),
                false => None,
            },
            announce: std::mem::take(&mut todo.announce),
            look: now >= times.look && has_files(),
            key: now >= times.key && key::is_made(),
            stop: false,
        };
        if due != Todo::default() {
            return Some(due);
        }
        let later = [
            todo.discover.is_some().then_some(times.discover),
            has_files().then_some(times.look),
            key::is_made().then_some(times.key),
        ];
        todo = match later.into_iter().flatten().min() {
            None => thread::BELL
                .wait(todo)
                .unwrap_or_else(PoisonError::into_inner),
            Some(then) => {
                let left = then.saturating_duration_since(now);
                let woken = thread::BELL.wait_timeout(todo, left);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

/// Tries discovery once; after a failure it plans the next try. It logs a line if something is new.
fn discover_again(node_name: &str, times: &mut Times, last: &mut Option<String>) {
    if last.is_none()
        && let Some(then) = discovery::online_then()
        && discovery::is_outdated()
    {
        log::warn!(
            "the online CPUs are no longer {then}; berth discovers the machine again, and until \
             then plans launches on the machine as it was"
        );
    }
    match discovery::now(node_name) {
        Ok(()) => {
            log::info!(
                "the machine was discovered again: CPUs {} are online",
                discovery::online_then().unwrap_or_default()
            );
            *last = None;
            (times.pause, times.discover) = (FIRST_PAUSE, Instant::now() + FIRST_PAUSE);
        }
        Err(why) => {
            if last.as_ref() != Some(&why) {
                log::error!("{why}; berth tries discovery again, with growing pauses");
            }
            *last = Some(why);
            times.discover = Instant::now() + times.pause;
            times.pause = (times.pause * 2).min(LONGEST_PAUSE);
            todo().discover.get_or_insert_with(|| node_name.into());
        }
    }
    announce::again();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_key_is_looked_at_also_where_nothing_else_is_to_do() {
        key::set(berth_host::key::Key::new([7; 16]));
        let later = Instant::now() + LONGEST_PAUSE;
        let times = Times {
            discover: later,
            look: later,
            key: Instant::now() + FIRST_PAUSE,
            ..Times::new()
        };
        let (tell, told) = channel();
        std::thread::spawn(move || {
            while !wait(&times).is_none_or(|due| due.key) {}
            tell.send(Instant::now() >= times.key)
        });
        let is_due = told.recv_timeout(Duration::from_secs(60));
        assert_eq!(is_due, Ok(true));
    }
}
