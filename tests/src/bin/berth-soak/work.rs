//! The workers: one random step after another, until all are done.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use berth_tests::process::{find, signal, status};
use berth_tests::{Cluster, command};
use nix::sys::signal::Signal;

use crate::confined;
use crate::counts::{Counts, count};
use crate::options::Options;
use crate::processes::{age_of, patiently};
use crate::samples::Samples;
use crate::task::OUTLIVE;
use crate::upgrade::Builds;

/// Jobs that last, in which half of the steps run.
const JOBS: usize = 2;
/// From so many tenths of the steps on slurmd is neither killed nor upgraded.
const SPARES_FROM: u64 = 6;
/// A step whose slurmstepd was killed may leave its srun waiting.
const PATIENCE: &str = "6";
const PATIENCE_EMULATED: &str = "60";

/// No srun lasts so long.
const LOST: Duration = Duration::from_secs(120);
/// What starts an srun here: `timeout`, srun itself for the process that outlives it, and a job's script.
const PARENTS: [&str; 5] = ["timeout", "srun", "sh", "bash", "slurm_script"];

/// On an emulated machine kills and suspensions cost as much as the steps: they come more slowly there.
const SLOWER_EMULATED: u64 = 10;

/// The run.
pub struct Soak {
    pub cluster: Cluster,
    pub counts: Counts,
    pub done: AtomicBool,
    /// Why the node was out of service, and how often.
    pub reasons: Mutex<BTreeMap<String, u32>>,
    /// Whether tasks are fenced.
    pub confines: bool,
    /// Whether this is a machine of `ci/vm`.
    pub is_emulated: bool,
    /// Of a hundred kills those of slurmd, and as many of slurmctld; by itself few of slurmd alone.
    pub daemons: Option<u32>,
    /// Milliseconds from kill to kill, on average.
    pub kill_every: u64,
    /// Both builds of an upgrade.
    pub builds: Option<Builds>,
    pub samples: Samples,
    steps: u64,
    /// CPUs that a step may ask for.
    cpus: u32,
    started: AtomicU64,
    jobs: Mutex<Vec<String>>,
}

/// What the tasks wrote down.
pub struct Told {
    pub bound: usize,
    pub unbound: usize,
    pub shared: usize,
    /// Tasks whose mask was another while a CPU went off or on.
    pub moved: usize,
    pub bad: Vec<String>,
}

impl Told {
    pub fn is_well(&self) -> bool {
        self.bad.is_empty() && self.bound > 0
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks bound, {} not; {} met a step of their own job started with --overlap; {} were \
             moved by a CPU that went off or on; {} met another live step, or found another mask",
            self.bound,
            self.unbound,
            self.shared,
            self.moved,
            self.bad.len()
        )?;
        self.bad
            .iter()
            .take(10)
            .try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl Soak {
    pub fn new(cluster: Cluster, options: &Options) -> Self {
        let pretended = options.machine.is_some();
        let builds = options.upgrades.as_ref().map(|other| {
            Builds::read(&cluster, other).unwrap_or_else(|why| panic!("{}: {why}", other.display()))
        });
        let cores = cluster.folder().join("cores");
        fs::create_dir(&cores).expect("a folder for the locks");
        if !pretended {
            fs::write(cores.join("real"), "").expect("a mark");
        }
        if options.confines {
            fs::write(cores.join(OUTLIVE), "").expect("a mark");
        }
        let soak = Self {
            cluster,
            counts: Counts::default(),
            done: AtomicBool::new(false),
            reasons: Mutex::default(),
            confines: options.confines,
            daemons: options.daemons,
            kill_every: options.kill_every,
            builds,
            samples: Samples::default(),
            is_emulated: std::env::var_os("BERTH_VM_OUT").is_some(),
            steps: options.steps,
            cpus: if pretended { 4 } else { 2 },
            started: AtomicU64::new(0),
            jobs: Mutex::default(),
        };
        soak.keep_jobs();
        soak
    }

    /// Whether so many steps are done that slurmd is not killed any more.
    pub fn spares_slurmd(&self) -> bool {
        self.counts.steps.load(Ordering::Relaxed) * 10 >= SPARES_FROM * self.steps
    }

    fn may_start(&self) -> bool {
        self.started.fetch_add(1, Ordering::Relaxed) < self.steps
    }

    /// Waits for a random time before the next deed: so many milliseconds, more on an emulated machine.
    pub fn pause(&self, random: &mut fastrand::Rng, milliseconds: Range<u64>) {
        let slower = match self.is_emulated {
            true => SLOWER_EMULATED,
            false => 1,
        };
        std::thread::sleep(Duration::from_millis(random.u64(milliseconds) * slower));
    }

    /// Starts steps until all are started.
    pub fn work(&self, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        while self.may_start() {
            let overlaps = random.bool();
            let job = self
                .jobs
                .lock()
                .ok()
                .and_then(|jobs| random.choice(jobs.iter()).cloned());
            let confined = match self.confines {
                true => confined::words(&mut random),
                false => None,
            };
            let overlaps = overlaps && confined.is_none();
            let kind = if overlaps { "overlap" } else { "exact" };
            let (words, kind) = confined.unwrap_or_else(|| {
                let job = job.filter(|_| overlaps);
                (words(&mut random, job, self.cpus), kind)
            });
            let own = std::env::current_exe().expect("this program has a path");
            let (own, folder) = (own.to_string_lossy(), self.cluster.folder().join("cores"));
            let folder = folder.to_string_lossy();
            let patience = match self.is_emulated {
                true => PATIENCE_EMULATED,
                false => PATIENCE,
            };
            let mut all = vec!["srun", "--quiet"];
            all.extend(words.iter().map(String::as_str));
            all.extend([&*own, "task", &*folder, kind]);
            let done = patiently(&self.cluster, patience, &all);
            count(&self.counts.steps);
            if overlaps {
                count(&self.counts.overlapping);
            }
            // A strict binding is refused where its cores are not free.
            if !done.ok() && !words.iter().any(|word| word.contains("strict:")) {
                count(&self.counts.failed);
            }
            if done.stderr.contains("berth: note:") {
                count(&self.counts.unbound);
            }
            let all = self.counts.steps.load(Ordering::Relaxed);
            if all.is_multiple_of(self.report_each()) {
                eprintln!("{all} of {} steps: {}", self.steps, self.counts);
            }
        }
    }

    /// A line of progress after so many steps.
    fn report_each(&self) -> u64 {
        if self.is_emulated { 100 } else { 1000 }
    }

    /// Steps that run, as scancel names them; not the lasting jobs' scripts.
    pub fn steps(&self) -> Vec<String> {
        let shown = self.cluster.run("squeue", &["-h", "-s", "-o", "%i"]).stdout;
        let is_step = |name: &&str| !name.contains("batch") && !name.contains("extern");
        shown
            .split_whitespace()
            .filter(is_step)
            .map(String::from)
            .collect()
    }

    /// Slurm takes a node out of service for what cannot be killed; it comes back, and so do the
    /// lasting jobs.
    pub fn nurse(&self) {
        self.nurse_nodes();
        self.keep_jobs();
        self.end_abandoned();
        self.end_orphans();
    }

    /// An srun whose `timeout` has gone may wait for ever for a step that is lost, and a worker for that srun's output.
    fn end_orphans(&self) {
        let cores = self.cluster.folder().join("cores");
        for srun in find("srun", &cores.to_string_lossy()) {
            let parent = status(srun, "PPid").and_then(|pid| status(pid.parse().ok()?, "Name"));
            let has_parent = parent.is_none_or(|name| PARENTS.contains(&name.as_str()));
            if !has_parent && age_of(srun).is_some_and(|age| age > LOST) {
                signal(srun, Signal::SIGKILL);
                count(&self.counts.abandoned);
            }
        }
    }

    /// An srun that ended while slurmctld was away, or whose slurmstepd was killed, may leave a job that Slurm keeps
    /// for ever. Without this such jobs fill the node after a while, and nothing else can run.
    fn end_abandoned(&self) {
        let shown = self
            .cluster
            .run("squeue", &["-h", "-t", "R,S", "-o", "%A %j %M"]);
        let minutes = if self.is_emulated { 3 } else { 1 };
        let is_old = |time: &str| match time.split_once(':') {
            Some((most, rest)) => {
                rest.contains(':') || most.parse().is_ok_and(|m: u32| m >= minutes)
            }
            None => false,
        };
        for line in shown.stdout.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            if let [job, name, time] = words.as_slice()
                && *name != "lasting"
                && is_old(time)
            {
                let patient = ["--preserve-status", "20", "scancel", job];
                if self.cluster.run("timeout", &patient).ok() {
                    count(&self.counts.abandoned);
                }
            }
        }
    }

    /// The node alone.
    pub fn nurse_nodes(&self) {
        let state = self.cluster.run("sinfo", &["-h", "-o", "%T %N %E"]).stdout;
        if state.contains("inval") {
            // slurmd has started while a CPU was off, and keeps that count.
            self.cluster.restart_slurmd();
        } else if state.contains("drain") || state.contains("down") {
            let reason = state.trim().splitn(3, ' ').nth(2).unwrap_or_default();
            if let Ok(mut reasons) = self.reasons.lock() {
                *reasons.entry(reason.to_owned()).or_default() += 1;
            }
            let name = state.split_whitespace().nth(1).unwrap_or_default();
            let name = format!("nodename={name}");
            self.cluster
                .run("scontrol", &["update", &name, "state=resume"]);
        }
    }

    fn keep_jobs(&self) {
        let running = self
            .cluster
            .run("squeue", &["-h", "-n", "lasting", "-t", "R", "-o", "%A"]);
        let mut jobs: Vec<String> = running
            .stdout
            .split_whitespace()
            .map(String::from)
            .collect();
        while jobs.len() < JOBS {
            let tasks = format!("-n{}", self.cpus);
            let asked = [
                "--parsable",
                "-J",
                "lasting",
                &tasks,
                "-o",
                "/dev/null",
                "--wrap=sleep 3600",
            ];
            let done = self.cluster.run("sbatch", &asked);
            if !done.ok() {
                break;
            }
            jobs.push(done.stdout.trim().into());
        }
        if let Ok(mut known) = self.jobs.lock() {
            *known = jobs;
        }
    }

    /// Ends everything, and waits for the ledger. What is left in it, if anything.
    pub fn wait_for_empty_ledger(&self, patience: Duration) -> Option<String> {
        self.cluster.run("scancel", &["--full", "-u", "root"]);
        let state = format!(
            "--state-dir={}",
            self.cluster.folder().join("run/berth").display()
        );
        let berth = command();
        let end = Instant::now() + patience;
        loop {
            let shown = self
                .cluster
                .run(&berth.to_string_lossy(), &["status", &state]);
            if shown.ok() && shown.stdout.contains("no step is bound") {
                return None;
            }
            if Instant::now() > end {
                return Some(shown.stdout + &shown.stderr);
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    pub fn told_by_tasks(&self) -> Told {
        let read = |what: &str| {
            let file = self.cluster.folder().join("cores").join(what);
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines().map(String::from).collect::<Vec<_>>()
        };
        let bad = ["collisions", "differs", "lingering", "escaped"];
        Told {
            bound: read("bound").len(),
            unbound: read("unbound").len(),
            shared: read("shared").len(),
            moved: read("moved").len(),
            bad: bad.iter().flat_map(|what| read(what)).collect(),
        }
    }

    pub fn keep_logs(&self) {
        // What else lies on an emulated machine is gone with it.
        let kept = std::env::var_os("BERTH_VM_OUT").map_or_else(std::env::temp_dir, PathBuf::from);
        let log = kept.join("berth-soak.log");
        if fs::write(&log, self.cluster.slurmd_log()).is_ok() {
            eprintln!("slurmd's log is {}", log.display());
        }
    }
}

/// A random step: in a lasting job with `--overlap`, or a job of its own on shared CPUs.
fn words(random: &mut fastrand::Rng, job: Option<String>, most: u32) -> Vec<String> {
    let mut words = match job {
        Some(job) => vec![format!("--jobid={job}"), "--overlap".into()],
        None => vec![],
    };
    let tasks = random.u32(1..=2);
    let cpus = random.u32(1..=most / tasks);
    let start = match random.u32(0..4) {
        0 => format!(":0,{}", random.u32(0..most)),
        _ => String::new(),
    };
    let amount = random.u32(1..=cpus);
    let strategy = match random.u32(0..4) {
        0 | 1 => format!("linear:{amount}{start}"),
        2 => format!("striding:{amount}:{}{start}", random.u32(1..=3)),
        _ => format!("explicit:0,{}", random.u32(0..most)),
    };
    let before = ["", "strict:", "host:", "host:strict:"][random.usize(0..4)];
    words.extend([
        format!("-n{tasks}"),
        format!("-c{cpus}"),
        format!("--binding={before}{strategy}"),
    ]);
    words
}
