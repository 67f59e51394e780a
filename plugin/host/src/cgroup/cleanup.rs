//! Removes what a killed slurmstepd left behind: cgroups with our names, whose maker is gone and in
//! which nobody lives.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::{Folder, Name, Place};
use crate::process_stat::living_thread;

/// The most folders that are looked at, so that a strange tree costs little.
const MOST: usize = 20_000;
/// The most children that are looked at in a folder that a user owns. Only those with our names count, and nothing
/// below the others is looked at: Slurm 22.05 gives the folder of a task to its user, and a user makes any number.
const MOST_OF_USER: usize = 1_024;
/// From slurmd's own cgroup so many folders up, and then down: Slurm's steps are beside it, as
/// `NODE_slurmstepd.scope/job_1/step_0/user/task_special` in the unified hierarchy.
const UP: usize = 2;
const DOWN: usize = 7;

/// Looks below the folders around a place, as slurmd does when it starts.
#[must_use]
pub fn leftovers_around(place: &Place) -> Vec<String> {
    leftovers_in(&place.above(UP), DOWN)
}

/// Looks so many folders deep below a place. Returns what it removed.
#[must_use]
pub fn leftovers_in(place: &Place, depth: usize) -> Vec<String> {
    let mut walk = Walk {
        left: MOST,
        removed: Vec::new(),
    };
    if let Ok(folder) = place.open() {
        walk.look(&folder, depth);
    }
    walk.removed
}

struct Walk {
    left: usize,
    removed: Vec<String>,
}

impl Walk {
    fn look(&mut self, folder: &Folder, depth: usize) {
        let is_roots = folder.is_roots();
        let mut names = folder.children(match is_roots {
            true => self.left,
            false => MOST_OF_USER,
        });
        names.retain(|name| is_roots || name.parse::<Name>().is_ok());
        self.left = self.left.saturating_sub(names.len());
        for name in names {
            match name.parse::<Name>() {
                Ok(own) if !is_alive(own.maker) => {
                    let is_ours = folder.child(&name).is_ok_and(|child| child.is_roots());
                    if is_ours && folder.remove(&name).is_ok() {
                        self.removed.push(folder.file(&name));
                    }
                }
                Ok(_) => {}
                Err(()) if depth > 1 && self.left > 0 => {
                    if let Ok(below) = folder.child(&name) {
                        self.look(&below, depth - 1);
                    }
                }
                Err(()) => {}
            }
        }
    }
}

/// Whether a process of root's has this number, and is not only waiting for its parent to ask for it. If
/// it is another process, what is left stays until the next look.
fn is_alive(pid: u32) -> bool {
    let is_roots = || fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == 0);
    let number = libc::pid_t::try_from(pid).ok();
    let lives = number.is_some_and(|pid| living_thread(pid).is_some());
    lives && is_roots()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slurm 22.05 gives the folder of a task to the task's user, who can make others there, by any name.
    #[test]
    fn folders_of_users_hide_nothing() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: only root gives folders away");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let users = dir.path().join("task_0");
        for name in 0..50 {
            fs::create_dir_all(users.join(format!("{name}/deep"))).unwrap();
        }
        fs::create_dir(users.join("berth_1.0.0_4194305")).unwrap();
        fs::create_dir(users.join("7/berth_2.0.0_4194305")).unwrap();
        let users_own = users.join("berth_3.0.0_4194305");
        fs::create_dir(&users_own).unwrap();
        for given in [&users, &users_own] {
            std::os::unix::fs::chown(given, Some(65534), None).unwrap();
        }
        let place = Place::made_up(dir.path());
        let folder = place.open().unwrap();
        let mut walk = Walk {
            left: 10,
            removed: Vec::new(),
        };
        walk.look(&folder, 5);
        assert_eq!(walk.left, 7, "folders with other names do not count");
        assert_eq!(walk.removed.len(), 1, "{:?}", walk.removed);
        assert!(walk.removed[0].ends_with("task_0/berth_1.0.0_4194305"));
        assert!(users_own.exists(), "what root did not make is not ours");
    }

    #[test]
    fn only_dead_ones_of_ours_go() {
        let dir = tempfile::tempdir().unwrap();
        // PID 1 is root's, and 4194305 is beyond the kernel's highest number.
        for name in [
            "berth_1.0.0_4194305",
            "berth_1.0.1_1",
            "berth_x",
            "a/b/berth_2.0.0_4194305",
            "a/b/c/berth_3.0.0_4194305",
            "berth_4.0.0_4194305/kept",
        ] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let place = Place::made_up(dir.path());
        let folder = place.open().unwrap();
        let mut walk = Walk {
            left: MOST,
            removed: Vec::new(),
        };
        walk.look(&folder, 3);
        let mut gone: Vec<_> = walk
            .removed
            .iter()
            .map(|one| one.rsplit('/').next())
            .collect();
        gone.sort_unstable();
        assert_eq!(
            gone,
            [Some("berth_1.0.0_4194305"), Some("berth_2.0.0_4194305")]
        );
        assert!(leftovers_in(&place, 3).is_empty(), "it is no cgroup");
    }
}
