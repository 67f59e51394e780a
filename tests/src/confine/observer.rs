//! What root sees of the tasks in /proc, and of the cgroups.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::{Cluster, process};

/// A process of a task.
#[derive(Debug)]
pub struct Member {
    pub pid: i32,
    /// Its task's number.
    pub task: u32,
    /// Its cgroup, as far as cpusets are concerned.
    pub path: String,
}

/// The processes with this name whose arguments or environment have a mark.
pub fn members(name: &str, mark: &str) -> Vec<Member> {
    let found = process::find(name, mark).into_iter();
    let member = |pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let task = environment
            .split('\0')
            .find_map(|pair| pair.strip_prefix("SLURM_PROCID="))?
            .parse()
            .ok()?;
        let lines = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let of = |names: &str| {
            let mut lines = lines.lines();
            lines.find_map(|line| line.split_once(names).map(|(_, path)| path.to_string()))
        };
        let path = of(":cpuset:").or_else(|| of("::"))?;
        Some(Member { pid, task, path })
    };
    found.filter_map(member).collect()
}

/// The process that started another.
pub fn parent(pid: i32) -> i32 {
    let parent = process::status(pid, "PPid").and_then(|text| text.parse().ok());
    parent.expect("a parent")
}

impl Member {
    /// Whether its second thread is there.
    pub fn has_threads(&self) -> bool {
        self.threads().len() == 2
    }

    /// Each thread's CPUs, and the CPU on which it last ran.
    pub fn threads(&self) -> Vec<(String, String)> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid));
        let threads = tasks.into_iter().flatten().flatten();
        let look = |path: PathBuf| {
            let status = fs::read_to_string(path.join("status")).ok()?;
            let allowed = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            let stat = fs::read_to_string(path.join("stat")).ok()?;
            // proc(5): field 39; the name before may have blanks.
            let last = stat.rsplit(')').next()?.split_whitespace().nth(36)?;
            Some((allowed.trim().to_owned(), last.to_owned()))
        };
        threads.filter_map(|entry| look(entry.path())).collect()
    }

    /// Its first thread's CPUs.
    pub fn allowed(&self) -> String {
        process::status(self.pid, "Cpus_allowed_list").unwrap_or_default()
    }

    /// Root gives it every CPU.
    pub fn widen(&self) {
        let mut all = CpuSet::new();
        for cpu in 0..64 {
            let _ = all.set(cpu);
        }
        let _ = sched_setaffinity(Pid::from_raw(self.pid), &all);
    }
}

/// Where cgroups with cpusets are.
fn root() -> &'static Path {
    let v1 = Path::new("/sys/fs/cgroup/cpuset");
    match v1.join("cpuset.cpus").exists() {
        true => v1,
        false => Path::new("/sys/fs/cgroup"),
    }
}

/// The cgroups of tasks and steps that are there.
pub fn cgroups(cluster: &Cluster) -> Vec<String> {
    let mut all = Vec::new();
    walk(root(), &mut all);
    all.retain(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        ["berth_", "task_", "step_", "job_"]
            .iter()
            .any(|start| name.starts_with(start))
    });
    // The newest Slurm names a job's folder otherwise; its steps are known by their names.
    let _ = cluster;
    all
}

/// Removes the folders that a killed slurmstepd of Slurm's own leaves, with this word in their path.
pub fn remove_empty(cluster: &Cluster, word: &str) {
    let mut all = cgroups(cluster);
    all.retain(|path| path.contains(word));
    all.sort_by_key(|path| std::cmp::Reverse(path.len()));
    for path in all {
        let mut inner = Vec::new();
        walk(Path::new(&path), &mut inner);
        inner.sort_by_key(|path| std::cmp::Reverse(path.len()));
        for path in inner.iter().chain([&path]) {
            let _ = fs::remove_dir(path);
        }
    }
}

fn walk(folder: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            all.push(path.to_string_lossy().into_owned());
            walk(&path, all);
        }
    }
}
