//! In cgroup v1 Slurm 22.05 removes a step's folder once, before berth learns that the step has ended.
//! Where a task's orphan lived in a child of ours until then, the folder stays, and with it those of the
//! job and user. berth removes them then, under the lock that Slurm itself takes for that.
//! Source: `_step_destroy_internal`, `common_cgroup_lock`.

use std::thread::sleep;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

use super::{Folder, Place};

/// The folders of Slurm's tree above a task, from the lowest.
const FOLDERS: [&str; 3] = ["step_", "job_", "uid_"];
/// Slurm keeps the lock for as long as it makes or removes some folders. Others may open the folder and
/// lock it too, so nobody is waited for much longer.
const TRIES: u32 = 20;
const A_MOMENT: Duration = Duration::from_millis(1);

/// Removes the folders of a step in which nobody lives any more; the first that is in use ends it.
pub fn remove_slurms_step(place: &Place) {
    if !place.is_slurms_step() {
        return;
    }
    let root = place.above(usize::MAX).open().ok();
    // The lock ends with this value.
    let Some(_locked) = root.and_then(locked) else {
        return;
    };
    for (level, prefix) in FOLDERS.iter().enumerate() {
        let own = place.above(level);
        let Some(name) = own.folders.last().filter(|name| name.starts_with(prefix)) else {
            return;
        };
        let above = own.above(1).open();
        if !above.is_ok_and(|above| above.remove(name).is_ok()) {
            return;
        }
    }
}

fn locked(root: Folder) -> Option<Flock<std::os::fd::OwnedFd>> {
    let mut fd = root.into_fd();
    for _ in 0..TRIES {
        match Flock::lock(fd, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Some(locked),
            Err((back, _)) => fd = back,
        }
        sleep(A_MOMENT);
    }
    None
}
