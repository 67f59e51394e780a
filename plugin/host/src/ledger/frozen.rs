//! Whether its cgroup is frozen. Slurm stops the tasks of a suspended step, and freezes them two seconds later
//! (`proctrack/cgroup`). Since Linux 6.1 /proc shows one that a freezer of cgroup v1 holds as `R` or `D`, and no longer as
//! `T`; and a program that ignores the stop is frozen all the same, and shown as `S` or `D`.
//! In: a process. Out: yes, or no where that is not certain.

use std::path::Path;

use libc::pid_t;

use crate::kernel_text::read;

/// Where Slurm has the hierarchies if no `CgroupMountpoint` says otherwise: the freezer of version 1, and version 2.
pub(super) const FREEZER: &str = "/sys/fs/cgroup/freezer";
const UNIFIED: &str = "/sys/fs/cgroup";
/// What users may put together themselves.
const USERS: &str = "user.slice/";

/// Whether it is frozen, by version 1 if that has a freezer.
pub(super) fn is_frozen(pid: pid_t) -> bool {
    frozen(pid).unwrap_or(false)
}

/// The same; nothing where Slurm has no freezer for it, and no where that cannot be read.
pub(super) fn frozen(pid: pid_t) -> Option<bool> {
    let Ok(own) = read(format!("/proc/{pid}/cgroup")) else {
        return Some(false);
    };
    is_frozen_in(&own, Path::new(UNIFIED))
}

/// In: the text of `/proc/PID/cgroup`, and where version 2 is mounted.
fn is_frozen_in(own: &str, unified: &Path) -> Option<bool> {
    if let Some(folder) = folder(own, |name| name == "freezer") {
        let state = read(Path::new(FREEZER).join(folder).join("freezer.state"));
        return Some(state.is_ok_and(|state| state.trim_end() == "FROZEN"));
    }
    let folder = folder(own, str::is_empty)?;
    // Its user may take it out of its step.
    if folder.starts_with(USERS) {
        return Some(false);
    }
    // Slurm freezes all tasks of a step at once. What is below belongs to berth and to users.
    let folder = of_step(folder)?;
    let events = read(unified.join(folder).join("cgroup.events")).unwrap_or_default();
    Some(events.lines().any(|line| line == "frozen 1"))
}

/// The folder below the root of the hierarchy with such a controller; none for the root itself, which cannot be
/// frozen.
pub(super) fn folder(own: &str, is_it: impl Fn(&str) -> bool) -> Option<&str> {
    let mut paths = own.lines().filter_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        names.split(',').any(&is_it).then_some(path)
    });
    let path = paths.next()?.strip_prefix('/')?;
    (!path.is_empty() && !path.split('/').any(|name| name == "..")).then_some(path)
}

/// `…/step_0/user` of a task below it: `CG_LEVEL_STEP_USER` in Slurm's cgroup_v2.c.
fn of_step(folder: &str) -> Option<&str> {
    const USER: &str = "/user";
    let step = folder.rfind("/step_").map(|at| at + 1)?;
    let end = step + folder.get(step..)?.find(USER)? + USER.len();
    let (own, rest) = folder.split_at_checked(end)?;
    let is_it =
        own.get(step..)?.matches('/').count() == 1 && (rest.is_empty() || rest.starts_with('/'));
    is_it.then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders() {
        let v1 = |text| folder(text, |name| name == "freezer").map(String::from);
        let text = "12:cpuset:/a\n4:freezer:/slurm_n1/uid_0/job_7/step_0\n0::/b\n";
        assert_eq!(v1(text).as_deref(), Some("slurm_n1/uid_0/job_7/step_0"));
        assert_eq!(v1("4:devices,freezer:/a b\n").as_deref(), Some("a b"));
        assert_eq!(folder(text, str::is_empty), Some("b"));
        let of_step = |text| of_step(text).unwrap_or("-");
        assert_eq!(
            of_step("a/job_7/step_0/user/task_1/own"),
            "a/job_7/step_0/user"
        );
        assert_eq!(of_step("job_7/step_batch/user"), "job_7/step_batch/user");
        for none in [
            "a/step_0",
            "a/step_0/slurm",
            "a/step_0/users",
            "a/step_0/x/user",
            "user/b",
        ] {
            assert_eq!(of_step(none), "-", "{none}");
        }
        for none in ["4:freezer:/\n", "0::/a\n", "4:freezer:/../a\n", ""] {
            assert_eq!(v1(none), None, "{none:?}");
        }
        assert!(!is_frozen(std::process::id() as pid_t) && !is_frozen(pid_t::MAX));
    }

    /// A user's folder may have any name, and a stop of his own makes no room: not even where nothing can be read.
    #[test]
    fn a_stop_alone_is_no_suspension_where_slurm_has_a_freezer() {
        let none = Path::new("/nonexistent");
        assert_eq!(is_frozen_in("0::/user.slice/\u{fffd}\n", none), Some(false));
        assert_eq!(frozen(pid_t::MAX), Some(false));
    }

    /// Version 2 freezes a program that has not stopped; where version 1 has a freezer too, that counts.
    #[test]
    fn frozen_by_version_2() {
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = root
            .into_iter()
            .find(|root| root.join("cgroup.procs").exists());
        let name = format!("berth-frozen-{}", std::process::id());
        let Some(top) = root.map(|root| root.join(name)) else {
            return eprintln!("skipped: no cgroup of version 2 is here");
        };
        let above = top.join("step_0/user");
        let inner = above.join("task_0");
        if let Err(why) = std::fs::create_dir_all(&inner) {
            return eprintln!("skipped: no cgroup can be made here: {why}");
        }
        let mut sleep = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let write = |file: &Path, text: &str| std::fs::write(file, text).unwrap();
        write(&inner.join("cgroup.procs"), &sleep.id().to_string());
        let own = read(format!("/proc/{}/cgroup", sleep.id())).unwrap();
        let has_v1 = folder(&own, |name| name == "freezer").is_some();
        let is = || is_frozen_in(&own, root.unwrap());
        let text = |on| format!("frozen {on}");
        // berth's own hold of a task, or its user's, is no suspension.
        write(&inner.join("cgroup.freeze"), "1");
        while !read(inner.join("cgroup.events"))
            .unwrap()
            .contains("frozen 1")
        {
            std::thread::yield_now();
        }
        assert!(has_v1 || is() == Some(false), "{own}");
        write(&inner.join("cgroup.freeze"), "0");
        for on in [1, 0] {
            write(&above.join("cgroup.freeze"), &on.to_string());
            while !read(inner.join("cgroup.events"))
                .unwrap()
                .contains(&text(on))
            {
                std::thread::yield_now();
            }
            assert!(has_v1 || is() == Some(on == 1), "{on}: {own}");
        }
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        for folder in inner.ancestors().take(4) {
            std::fs::remove_dir(folder).unwrap();
        }
    }
}
