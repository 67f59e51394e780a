//! A job of the experiment, while it runs: its place among the cgroups, and what the kernel says of it there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Instant;

use berth_tests::Cluster;

/// A job.
pub(crate) struct Job {
    child: Child,
    /// Its folder among the cgroups.
    folder: PathBuf,
    /// Its number.
    pub id: String,
}

/// A job that was submitted: where its tasks write which they are.
pub(crate) struct Begun {
    child: Child,
    written: PathBuf,
    tasks: u32,
}

/// Plays a task's part, if the words say so: so many threads that are busy until they are killed.
pub(crate) fn spins(words: &[String]) -> bool {
    let [role, threads, folder] = words else {
        return false;
    };
    if role != "spin" {
        return false;
    }
    let threads: u32 = threads.parse().expect("a number of threads");
    let all: Vec<_> = (0..threads)
        .map(|_| {
            std::thread::spawn(|| {
                loop {
                    std::hint::spin_loop()
                }
            })
        })
        .collect();
    let variable = |name| std::env::var(name).unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").expect("a cgroup");
    let [task, job, count] = ["SLURM_PROCID", "SLURM_JOB_ID", "NCPUS"].map(variable);
    let text = format!("{job} {count} {}\nend\n", own.trim());
    fs::write(Path::new(folder).join(task), text).expect("a file");
    all.into_iter().for_each(|one| drop(one.join()));
    true
}

/// Submits a job of so many tasks, each with so many busy threads.
pub(crate) fn begin(cluster: &Cluster, options: &[&str], (tasks, threads): (u32, u32)) -> Begun {
    let written = tempfile::tempdir().expect("a folder").keep();
    let me = std::env::current_exe().expect("this program's path");
    let mut srun = cluster.program("srun");
    srun.args(options).arg(format!("-n{tasks}")).arg(me);
    srun.arg("spin").arg(threads.to_string()).arg(&written);
    Begun {
        child: srun.spawn().expect("srun"),
        written,
        tasks,
    }
}

/// The same, and waits until all of its tasks work.
pub(crate) fn start(cluster: &Cluster, options: &[&str], tasks: (u32, u32)) -> Job {
    begin(cluster, options, tasks).wait(cluster)
}

impl Begun {
    /// Waits until all of its tasks work.
    pub(crate) fn wait(self, cluster: &Cluster) -> Job {
        let first = cluster.wait_for("a job's tasks", || {
            let read = |task: u32| fs::read_to_string(self.written.join(task.to_string())).ok();
            let all: Option<Vec<_>> = (0..self.tasks)
                .map(|task| read(task).filter(|text| text.ends_with("end\n")))
                .collect();
            all?.into_iter().next()
        });
        println!(
            "  {} tasks: {}",
            self.tasks,
            first.lines().next().unwrap_or_default()
        );
        let (id, rest) = first.split_once(' ').expect("a job's number");
        let place = rest.split("0::/").nth(1).expect("a cgroup of version 2");
        let place = place.split("/step_").next().unwrap_or_default();
        Job {
            child: self.child,
            folder: Path::new("/sys/fs/cgroup").join(place),
            id: id.to_owned(),
        }
    }
}

/// Ends every job, and waits until they are gone.
pub(crate) fn end_all(cluster: &Cluster) {
    cluster.run("scancel", &["-u", "root"]);
    cluster.wait_for("all jobs to end", || {
        let left = cluster.run("squeue", &["-h"]).stdout;
        left.trim().is_empty().then_some(())
    });
    let state = cluster.sinfo_state();
    assert!(!state.contains("drain"), "the node is {state}");
}

impl Drop for Job {
    fn drop(&mut self) {
        // Its children are of Slurm, which ends them.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Job {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    pub(crate) fn weight(&self) -> u32 {
        self.file("cpu.weight").trim().parse().unwrap_or_default()
    }

    /// Its CPUs: a list without steps.
    pub(crate) fn cpus(&self) -> berth_placement::CpuSet {
        let list = self.file("cpuset.cpus.effective");
        berth_placement::CpuSet::from_list(list.trim()).expect("a list of CPUs")
    }

    /// The CPU time of its first step's tasks, in seconds, at a moment.
    pub(crate) fn used(&self) -> (Instant, f64) {
        let text = self.file("step_0/user/cpu.stat");
        let used = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "));
        let used: f64 = used.and_then(|text| text.parse().ok()).expect("CPU time");
        (Instant::now(), used / 1e6)
    }

    /// Whether a task of its first step lives.
    pub(crate) fn has_tasks(&self) -> bool {
        let events = self.file("step_0/user/cgroup.events");
        events.lines().any(|line| line == "populated 1")
    }
}
