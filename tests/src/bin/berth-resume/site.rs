//! A cluster with two partitions that share their cores, jobs there, and what the kernel says of their tasks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use berth_tests::{Cluster, process};

/// A line beside the first partition's.
const HIGH: &str = "PartitionName=high Nodes=ALL OverSubscribe=FORCE:1 PriorityTier=10\n";
/// MiB of each task.
const SIZE: u64 = 48;

pub struct Site {
    pub cluster: Cluster,
    me: String,
}

/// A job whose tasks fill memory.
pub struct Job {
    pub id: String,
    mark: String,
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its mask.
    pub mask: String,
    /// The CPUs of its cgroup.
    pub fence: String,
}

impl Site {
    /// With Slurm's own confinement of jobs to their cores, or without.
    pub fn up(constrains: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let high = folder.path().join("high.conf");
        fs::write(&high, HIGH).expect("a partition");
        let cluster = Cluster::builder()
            .example("cgroup")
            .file(&high)
            .set("Include high.conf")
            .plugstack(Some(""))
            .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:1 PriorityTier=1")
            .set("SlurmdDebug=debug");
        let cluster = match constrains {
            true => cluster,
            false => cluster.task_plugin("task/berth"),
        };
        let me = std::env::current_exe().expect("this program");
        Self {
            cluster: cluster.up(),
            me: me.to_string_lossy().into_owned(),
        }
    }

    pub fn log(&self) -> String {
        let log = self.cluster.slurmd_log();
        let is_ours = |line: &&str| line.contains("berth: ");
        let ours: Vec<_> = log.lines().filter(is_ours).collect();
        let from = ours.len().saturating_sub(60);
        ours[from..].join("\n")
    }

    /// Nothing is left of a scene.
    pub fn clear(&self) {
        for cpu in 1..16 {
            online(cpu, true);
        }
        self.cluster.run("scancel", &["--user=root"]);
        self.cluster.wait_idle();
    }

    /// A job of two tasks that owns the node, in a cpuset: its script, and a step with the tasks.
    pub fn job(&self, cpuset: &str) -> Job {
        let folder = self.cluster.folder().join("log");
        let mark = folder.join(format!("fill-{}", cpuset.replace(['=', ';', '|'], "-")));
        let mark = mark.to_string_lossy().into_owned();
        for task in 0..2 {
            let _ = fs::remove_file(format!("{mark}.{task}"));
        }
        let wrap = format!(
            "--wrap=srun -n2 --cpu-bind=cores {} fill {mark} {SIZE}",
            self.me
        );
        let out = format!("--output={}/filler-%j.out", folder.display());
        let cpuset = format!("--cpuset={cpuset}");
        let words = ["--parsable", "-n16", "-N1", &out, &cpuset, &wrap];
        let done = self.cluster.run("sbatch", &words);
        let job = Job {
            id: done.expect_ok().trim().to_owned(),
            mark,
        };
        self.cluster.wait_for("the tasks' memory", || {
            (job.beats().len() == 2).then_some(())
        });
        job
    }

    /// Another job, on the first CPUs.
    pub fn other(&self, cpus: u32) -> String {
        let count = format!("-n{cpus}");
        self.other_with(&[&count, "--distribution=block:block"])
    }

    /// Another job.
    pub fn other_with(&self, options: &[&str]) -> String {
        let words = [
            "--parsable",
            "--partition=high",
            "-N1",
            "--output=/dev/null",
        ];
        let words = [&words, options, &["--wrap=sleep 600"]].concat();
        let id = self.cluster.run("sbatch", &words).expect_ok();
        let id = id.trim().to_owned();
        self.wait_state(&id, "RUNNING");
        // Its cgroup is made when its slurmstepd starts.
        let mark = format!("SLURM_JOB_ID={id}");
        self.cluster.wait_for("the other job's sleep", || {
            process::find("sleep", &mark).first().copied()
        });
        id
    }

    pub fn wait_state(&self, id: &str, state: &str) {
        let words = ["-h", "-o", "%T", "-j", id];
        self.cluster.wait_for(state, || {
            let done = self.cluster.run("squeue", &words);
            (done.stdout.trim() == state).then_some(())
        });
    }

    pub fn suspend(&self, job: &Job) {
        self.cluster.scontrol(&["suspend", &job.id]).expect_ok();
        self.cluster.wait_for("the frozen tasks", || {
            let pids = job.pids();
            (pids.len() == 2 && pids.iter().all(|pid| is_frozen(*pid))).then_some(())
        });
    }

    pub fn resume(&self, job: &Job) {
        self.cluster.scontrol(&["resume", &job.id]).expect_ok();
    }

    /// Waits until the tasks run again; returns how long that took.
    pub fn wait_running(&self, job: &Job) -> Duration {
        let start = Instant::now();
        let before = job.beats();
        self.cluster.wait_for("running tasks", || {
            let now = job.beats();
            let is_later =
                |(task, beat): (&u32, &u64)| before.get(task).is_none_or(|was| beat > was);
            (now.len() == 2 && now.iter().all(is_later)).then_some(())
        });
        start.elapsed()
    }
}

impl Job {
    pub fn pids(&self) -> Vec<i32> {
        let mut pids = process::find("berth-resume", &self.mark);
        pids.sort_by_key(|pid| task_of(*pid));
        pids
    }

    /// How far each task has counted.
    pub fn beats(&self) -> BTreeMap<u32, u64> {
        let beat = |task| {
            let text = fs::read_to_string(format!("{}.{task}", self.mark)).ok()?;
            Some((task, text.parse().ok()?))
        };
        (0..2).filter_map(beat).collect()
    }

    /// Where its tasks are, in their order.
    pub fn seen(&self) -> Vec<Seen> {
        let seen = |pid: i32| Seen {
            mask: process::status(pid, "Cpus_allowed_list").unwrap_or_default(),
            fence: leaf(pid, "cpuset.cpus.effective"),
        };
        self.pids().into_iter().map(seen).collect()
    }

    /// The share of the tasks' own pages on a NUMA node.
    pub fn share_on(&self, node: u32) -> f64 {
        let mut pages = BTreeMap::<u32, u64>::new();
        for pid in self.pids() {
            let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
            for line in maps.lines().filter(|line| line.contains("anon=")) {
                let words = line.split(' ').filter_map(|word| {
                    let (node, count) = word.strip_prefix('N')?.split_once('=')?;
                    Some((node.parse().ok()?, count.parse::<u64>().ok()?))
                });
                words.for_each(|(node, count)| *pages.entry(node).or_default() += count);
            }
        }
        let all: u64 = pages.values().sum();
        assert!(all >= 2 * SIZE * 256, "{pages:?}");
        pages.get(&node).copied().unwrap_or_default() as f64 / all as f64
    }
}

fn task_of(pid: i32) -> u32 {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let found = environment
        .split('\0')
        .find_map(|pair| pair.strip_prefix("SLURM_PROCID="));
    found.and_then(|text| text.parse().ok()).unwrap_or(u32::MAX)
}

/// A file of a process's cgroup.
fn leaf(pid: i32, file: &str) -> String {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let path = own
        .trim()
        .strip_prefix("0::")
        .unwrap_or_default()
        .to_owned();
    let file = format!("/sys/fs/cgroup{path}/{file}");
    fs::read_to_string(file)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Whether Slurm and berth have frozen it.
fn is_frozen(pid: i32) -> bool {
    let own = leaf(pid, "cgroup.freeze");
    own == "1" && leaf(pid, "cgroup.events").contains("frozen 1")
}

/// Takes a CPU offline, or back.
pub fn online(cpu: u32, is_online: bool) {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let value = if is_online { "1" } else { "0" };
    let now = fs::read_to_string(&path).unwrap_or_default();
    if Path::new(&path).exists() && now.trim() != value {
        fs::write(&path, value).expect("the CPU's state");
    }
}
