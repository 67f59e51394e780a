//! A cluster with two partitions that share their cores, jobs there, and what the kernel says of their tasks.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use berth_tests::{Cluster, Service, process};

use crate::tasks::Tasks;

/// A line beside the first partition's.
const HIGH: &str = "PartitionName=high Nodes=ALL OverSubscribe=FORCE:1 PriorityTier=10\n";
/// Jobs of the first partition take turns there, and leave when one of the second comes. A third partition shares
/// its cores with both.
const GANG: [&str; 4] = [
    "PreemptType=preempt/partition_prio",
    "PreemptMode=SUSPEND,GANG",
    "SchedulerTimeSlice=10",
    "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:2 PriorityTier=1",
];
const SIDE: &str = "PartitionName=side Nodes=ALL OverSubscribe=FORCE:1 PriorityTier=1\n";
/// MiB of each task.
pub const SIZE: u64 = 48;

/// Kinds of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Slurm confines jobs to their cores.
    Confined,
    /// It does not.
    Unconfined,
    /// It does, and jobs suspend each other.
    Gang,
    /// It does, and each job has a step for processes that are adopted.
    Adopting,
}

pub struct Site {
    pub cluster: Cluster,
    service: Service,
    me: String,
    /// Why the scene that is played proves nothing here.
    skipped: RefCell<Option<String>>,
}

/// What the tasks do when they get SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It ends them.
    Fill,
    /// They note it first.
    Hear,
}

/// A job whose tasks fill memory.
pub struct Job {
    pub id: String,
    pub tasks: Tasks,
    pub role: Role,
}

impl Role {
    /// The first word of the tasks' program.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Hear => "hear",
        }
    }
}

impl Site {
    pub fn up(kind: Kind) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let high = folder.path().join("high.conf");
        let partitions = match kind {
            Kind::Gang => [HIGH, SIDE].concat(),
            Kind::Confined | Kind::Unconfined | Kind::Adopting => HIGH.into(),
        };
        fs::write(&high, partitions).expect("a partition");
        let mut cluster = Cluster::builder()
            .example("cgroup")
            .file(&high)
            .set("Include high.conf")
            // Slurm's own default: a cancelled job ends by itself long before.
            .set("KillWait=30")
            .plugstack(Some(""))
            .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:1 PriorityTier=1")
            .set("SlurmdDebug=debug");
        match kind {
            Kind::Confined => {}
            Kind::Unconfined => cluster = cluster.task_plugin("task/berth"),
            Kind::Adopting => {
                cluster = cluster
                    .plugstack(Some("quarantine=on confine=task"))
                    .set("PrologFlags=contain");
            }
            Kind::Gang => cluster = GANG.iter().fold(cluster, |cluster, line| cluster.set(line)),
        }
        let me = std::env::current_exe().expect("this program");
        let cluster = cluster.up();
        let service = Service::start(&cluster);
        Self {
            cluster,
            service,
            me: me.to_string_lossy().into_owned(),
            skipped: RefCell::default(),
        }
    }

    /// The scene that is played cannot prove anything here.
    pub fn skip(&self, why: &str) {
        *self.skipped.borrow_mut() = Some(why.to_owned());
    }

    /// Why the scene proved nothing, once.
    pub fn was_skipped(&self) -> Option<String> {
        self.skipped.take()
    }

    /// What the service has said.
    pub fn service_log(&self) -> String {
        self.service.log()
    }

    /// The service's process.
    pub fn service(&self) -> i32 {
        self.service.pid()
    }

    pub fn log(&self) -> String {
        let log = self.cluster.slurmd_log();
        let is_ours = |line: &&str| line.contains("berth: ");
        let ours: Vec<_> = log.lines().filter(is_ours).collect();
        let from = ours.len().saturating_sub(60);
        let service = self.service_log();
        let said: Vec<_> = service.lines().collect();
        let last = said.len().saturating_sub(60);
        [&ours[from..], &said[last..]].concat().join("\n")
    }

    /// Nothing is left of a scene.
    pub fn clear(&self) {
        for cpu in 1..16 {
            online(cpu, true);
        }
        self.cluster.run("scancel", &["--user=root"]);
        self.cluster.wait_idle();
    }

    /// A job of two tasks that owns the node, in a cpuset if one is named: its script, and a step with the tasks.
    pub fn job(&self, cpuset: &str) -> Job {
        self.job_with(SIZE, &["-n16"], cpuset)
    }

    /// The same with so many MiB for each task, and other options.
    pub fn job_with(&self, size: u64, options: &[&str], cpuset: &str) -> Job {
        self.job_of(Role::Fill, size, options, cpuset)
    }

    /// The same with tasks of a role.
    pub fn job_of(&self, role: Role, size: u64, options: &[&str], cpuset: &str) -> Job {
        let folder = self.cluster.folder().join("log");
        let tasks = self.tasks(&format!("{}-{}", options.concat(), cpuset), size);
        let wrap = format!(
            "--wrap=srun -n2 --cpu-bind=cores {} {} {} {size}",
            self.me,
            role.word(),
            tasks.mark()
        );
        let out = format!("--output={}/filler-%j.out", folder.display());
        let set = format!("--cpuset={cpuset}");
        let set: &[&str] = if cpuset.is_empty() { &[] } else { &[&set] };
        let words = ["--parsable", "-N1", &out, &wrap];
        let done = self.cluster.run("sbatch", &[options, set, &words].concat());
        let job = Job {
            id: done.expect_ok().trim().to_owned(),
            tasks,
            role,
        };
        self.cluster.wait_for("the tasks' memory", || {
            (job.tasks.beats().len() == 2).then_some(())
        });
        job
    }

    /// Tasks that are to begin.
    fn tasks(&self, name: &str, size: u64) -> Tasks {
        let name = name.replace(['=', ';', '|', ',', '-'], "_");
        let mark = self.cluster.folder().join(format!("log/fill_{name}"));
        Tasks::new(mark.to_string_lossy().into_owned(), size)
    }

    /// Another step of a job, of two tasks, by an srun from outside. What that says goes into the file.
    pub fn step(&self, job: &Job) -> (Child, Tasks, PathBuf) {
        let tasks = self.tasks("step", 1);
        let says = self.cluster.folder().join("log/step.says");
        let file = fs::File::create(&says).expect("a file for what srun says");
        let id = format!("--jobid={}", job.id);
        let step = ["--overlap", "-n2", "--cpu-bind=cores"];
        let child = self
            .cluster
            .program("srun")
            .arg(id)
            .args(step)
            .args([&self.me, "fill", tasks.mark(), "1"])
            .stderr(file)
            .spawn();
        (child.expect("srun"), tasks, says)
    }

    /// Another job, on the first CPUs.
    pub fn other(&self, cpus: u32) -> String {
        let count = format!("-n{cpus}");
        self.other_with(&[&count, "--distribution=block:block"])
    }

    /// Another job.
    pub fn other_with(&self, options: &[&str]) -> String {
        let begun = self.try_other("high", options);
        begun.unwrap_or_else(|why| panic!("the other job did not begin: {why}"))
    }

    /// Another job of a partition; or why this node refused it.
    pub fn try_other(&self, partition: &str, options: &[&str]) -> Result<String, String> {
        let partition = format!("--partition={partition}");
        let words = ["--parsable", &partition, "-N1", "--output=/dev/null"];
        let words = [&words, options, &["--wrap=sleep 600"]].concat();
        let id = self.cluster.run("sbatch", &words).expect_ok();
        let id = id.trim().to_owned();
        // Its cgroup is made when its slurmstepd starts.
        let mark = format!("SLURM_JOB_ID={id}");
        let states = ["-h", "-o", "%T", "-j", &id];
        self.cluster.wait_for("the other job's sleep", || {
            if !process::find("sleep", &mark).is_empty() {
                return Some(Ok(id.clone()));
            }
            let shown = self.cluster.run("squeue", &states);
            let is_over = !shown.stdout.contains("ING");
            let log = self.cluster.slurmd_log();
            let why = log.lines().rfind(|line| line.contains("bound=refused"));
            let why = why.unwrap_or("it is over").to_owned();
            is_over.then_some(Err(why))
        })
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
        self.wait_frozen(job);
    }

    pub fn wait_frozen(&self, job: &Job) {
        self.cluster.wait_for("the frozen tasks", || {
            let pids = job.tasks.pids();
            (pids.len() == 2 && pids.iter().all(|pid| is_frozen(*pid))).then_some(())
        });
    }

    pub fn resume(&self, job: &Job) {
        self.cluster.scontrol(&["resume", &job.id]).expect_ok();
    }

    /// Waits until the tasks run again; returns how long that took.
    pub fn wait_running(&self, tasks: &Tasks) -> Duration {
        let start = Instant::now();
        let before = tasks.beats();
        self.cluster.wait_for("running tasks", || {
            let now = tasks.beats();
            let is_later =
                |(task, beat): (&u32, &u64)| before.get(task).is_none_or(|was| beat > was);
            (now.len() == 2 && now.iter().all(is_later)).then_some(())
        });
        start.elapsed()
    }
}

/// The folder of a process's cgroup, below the mount.
pub fn folder(pid: i32) -> String {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let own = own.trim().strip_prefix("0::").unwrap_or_default();
    own.to_owned()
}

/// A file of a process's cgroup.
pub fn leaf(pid: i32, file: &str) -> String {
    let file = format!("/sys/fs/cgroup{}/{file}", folder(pid));
    fs::read_to_string(file)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Whether Slurm or the service has frozen it.
pub fn is_frozen(pid: i32) -> bool {
    leaf(pid, "cgroup.events").contains("frozen 1")
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
