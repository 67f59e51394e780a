//! `berth-pools [WORD…]`: the experiment of the paper on multi-CPU pools, for the virtual machines of `ci/vm` (eight
//! CPUs without hardware threads). Pool jobs of one CPU, of four and of half the node meet one wide normal job, or a
//! serial one with two busy threads on each CPU; the kernel's accounting of each job's cgroup says who got what.
//! Words choose lines. It is also the jobs' program.
//!
//! The virtual CPUs are emulated and get only a part of the host's. The guest's kernel does not know of that and
//! charges all of its time to the thread that runs, so shares among contending threads hold; latency does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use berth_tests::Cluster;

/// How long the jobs are watched.
const WINDOW: Duration = Duration::from_secs(20);
/// How long a job may take to start on a full, emulated machine.
const START: Duration = Duration::from_secs(180);
/// `cpus=` of the example's pool, from which its weights follow.
const POOL: u32 = 8;
const OTHERS: u32 = 10_000 / POOL / 25;
/// A pool job on a busy node gets this part of what it asked for, and on a quiet one that.
const BUSY: f64 = 0.95;
const QUIET: f64 = 0.99;
/// A normal job keeps this part of a CPU.
const KEPT: f64 = 0.01;

/// Who runs beside the pool job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nobody,
    /// One job on all CPUs.
    Wide,
    /// A job on each CPU.
    Serial,
}

/// A job of the experiment, while it runs.
struct Job {
    child: Child,
    /// Its folder among the cgroups.
    folder: PathBuf,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, threads, folder] = words.as_slice()
        && role == "spin"
    {
        return spin(
            threads.parse().expect("a number of threads"),
            Path::new(folder),
        );
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-pools: only inside a machine of ci/vm with eight CPUs");
        return ExitCode::from(2);
    }
    let cluster = Cluster::builder().example("pools").up();
    let cpus = thread::available_parallelism()
        .expect("this machine's CPUs")
        .get() as u32;
    let (mut passed, mut failed) = (0, 0);
    let mut asked = vec![(1, true), (4, true), (cpus / 2, true), (4, false)];
    asked.dedup();
    for beside in [Beside::Nobody, Beside::Wide, Beside::Serial] {
        for (asked, is_pool) in asked.iter().copied() {
            let line = format!(
                "{beside:?} {asked} {}",
                if is_pool { "pool" } else { "none" }
            );
            if !words.is_empty() && !words.iter().any(|word| line.contains(word.as_str())) {
                continue;
            }
            match play(&cluster, (asked, is_pool), beside, cpus) {
                Ok(()) => passed += 1,
                Err(why) => {
                    failed += 1;
                    println!("FAIL {line}: {why}");
                }
            }
        }
    }
    println!("{passed} lines as expected, {failed} not");
    match (passed, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The jobs' program: says where it lives, and keeps some threads busy until it is killed.
fn spin(threads: u32, folder: &Path) -> ExitCode {
    let id = std::env::var("SLURM_PROCID").unwrap_or_default();
    let told: Vec<_> = ["NCPUS", "OMP_NUM_THREADS"]
        .iter()
        .map(|name| std::env::var(name).unwrap_or_default())
        .collect();
    fs::write(folder.join(format!("told.{id}")), told.join(" ")).expect("a file");
    let own = fs::read_to_string("/proc/self/cgroup").expect("a cgroup");
    let spinners: Vec<_> = (0..threads)
        .map(|_| {
            thread::spawn(|| {
                loop {
                    std::hint::black_box(());
                }
            })
        })
        .collect();
    fs::write(folder.join(format!("cgroup.{id}")), own).expect("a file");
    spinners.into_iter().for_each(|one| drop(one.join()));
    ExitCode::SUCCESS
}

/// Starts a job of so many tasks, each with so many busy threads, and waits until all of them are busy.
fn start(cluster: &Cluster, options: &[&str], tasks: u32, threads: u32) -> Result<Job, String> {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let me = std::env::current_exe().expect("this program's path");
    let mut command: Command = cluster.program("srun");
    command.args(options).arg(format!("-n{tasks}"));
    command
        .arg(me)
        .arg("spin")
        .arg(threads.to_string())
        .arg(&folder);
    let mut job = Job {
        child: command.spawn().expect("srun"),
        folder: PathBuf::new(),
    };
    let since = Instant::now();
    loop {
        let all: Option<Vec<_>> = (0..tasks)
            .map(|id| fs::read_to_string(folder.join(format!("cgroup.{id}"))).ok())
            .map(|text| text.filter(|text| text.ends_with('\n')))
            .collect();
        if let Some(own) = all.as_ref().and_then(|all| all.first()) {
            let path = own.trim().strip_prefix("0::").unwrap_or_default();
            let place = path.split("/step_").next().unwrap_or_default();
            let told = fs::read_to_string(folder.join("told.0")).unwrap_or_default();
            println!(
                "  {} tasks of {options:?} in {place}, NCPUS and OMP_NUM_THREADS: {told}",
                tasks
            );
            job.folder = Path::new("/sys/fs/cgroup").join(place.trim_start_matches('/'));
            return Ok(job);
        }
        if since.elapsed() > START {
            let _ = job.child.kill();
            let _ = job.child.wait();
            return Err(format!("{options:?} -n{tasks} has not started"));
        }
        thread::sleep(Duration::from_millis(200));
    }
}

impl Job {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    fn weight(&self) -> u32 {
        self.file("cpu.weight").trim().parse().unwrap_or_default()
    }

    /// Its CPUs: a list without steps.
    fn cpus(&self) -> Vec<u32> {
        let text = self.file("cpuset.cpus.effective");
        let parts = text.trim().split(',').filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
        });
        parts.flatten().collect()
    }

    /// Its CPU time in seconds.
    fn used(&self) -> f64 {
        let text = self.file("cpu.stat");
        let used = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "));
        used.and_then(|text| text.parse::<f64>().ok())
            .unwrap_or_default()
            / 1e6
    }
}

/// One line of the experiment.
fn play(
    cluster: &Cluster,
    (asked, is_pool): (u32, bool),
    beside: Beside,
    cpus: u32,
) -> Result<(), String> {
    println!(
        "{asked} CPUs, {}, beside {beside:?}",
        if is_pool { "a pool job" } else { "--pool=none" }
    );
    let mut normal = Vec::new();
    let done = meet(cluster, (asked, is_pool), beside, (cpus, &mut normal));
    let all = done.as_ref().ok().into_iter();
    for job in all.chain(normal.iter()) {
        // Its children are of Slurm, which ends them.
        drop(
            Command::new("kill")
                .arg(job.child.id().to_string())
                .status(),
        );
    }
    let _ = cluster.run("scancel", &["-u", "root", "--signal=KILL"]);
    let _ = cluster.run("scancel", &["-u", "root"]);
    let result = done.map(drop);
    cluster.wait_for("all jobs to end", || {
        cluster
            .run("squeue", &["-h"])
            .stdout
            .trim()
            .is_empty()
            .then_some(())
    });
    result
}

/// Starts the normal jobs that a pool job meets.
fn fill(
    cluster: &Cluster,
    beside: Beside,
    (cpus, normal): (u32, &mut Vec<Job>),
) -> Result<(), String> {
    let on_normal = ["-pnormal"];
    let (jobs, tasks) = match beside {
        Beside::Nobody => (0, 0),
        Beside::Wide => (1, cpus),
        Beside::Serial => (cpus, 1),
    };
    for _ in 0..jobs {
        normal.push(start(cluster, &on_normal, tasks, 2)?);
    }
    Ok(())
}

fn meet(
    cluster: &Cluster,
    (asked, is_pool): (u32, bool),
    beside: Beside,
    (cpus, normal): (u32, &mut Vec<Job>),
) -> Result<Job, String> {
    fill(cluster, beside, (cpus, normal))?;
    let mut options = vec!["-pmulti8"];
    options.extend((!is_pool).then_some("--pool=none"));
    let pool = start(cluster, &options, asked, 1)?;
    let used = || -> Vec<f64> {
        std::iter::once(&pool)
            .chain(normal.iter())
            .map(Job::used)
            .collect()
    };
    // The first moments are a start, no load.
    thread::sleep(Duration::from_secs(2));
    let (before, since) = (used(), Instant::now());
    thread::sleep(WINDOW);
    let (after, wall) = (used(), since.elapsed().as_secs_f64());
    let part: Vec<_> = after
        .iter()
        .zip(&before)
        .map(|(after, before)| (after - before) / wall)
        .collect();
    let all: f64 = part.iter().sum();
    let delivered = match beside {
        // What the pool and those on its CPUs got together: this program needs CPU time too.
        Beside::Serial => {
            let own = pool.cpus();
            let here = normal
                .iter()
                .zip(&part[1..])
                .filter(|(job, _)| own.contains(&job.cpus()[0]));
            part[0] / (part[0] + here.map(|(_, part)| part).sum::<f64>())
        }
        // All CPUs are busy, so what they delivered together is their number.
        Beside::Wide => part[0] / (f64::from(asked) * all / f64::from(cpus)),
        Beside::Nobody => part[0] / f64::from(asked),
    };
    let least = part[1..].iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<_> = normal.iter().map(Job::weight).collect();
    println!(
        "  delivered/asked {delivered:.3}, normal jobs at least {least:.3} CPUs, all {:.2} CPUs; weights {} and {weights:?}",
        all,
        pool.weight(),
    );
    judge(
        &pool,
        (asked, is_pool),
        beside,
        (delivered, least, &weights),
    )
    .map(|()| pool)
}

fn judge(
    pool: &Job,
    (asked, is_pool): (u32, bool),
    beside: Beside,
    (delivered, least, weights): (f64, f64, &[u32]),
) -> Result<(), String> {
    let weight = if is_pool {
        10_000 * asked / POOL
    } else {
        OTHERS
    };
    if pool.weight() != weight || weights.iter().any(|weight| *weight != OTHERS) {
        return Err(format!("weights {weight} and {OTHERS} were expected"));
    }
    let wanted = match (beside, is_pool) {
        (Beside::Nobody, _) => QUIET,
        (_, true) => BUSY,
        // Measured beside the others.
        (_, false) => return Ok(()),
    };
    match (delivered >= wanted, least >= KEPT) {
        (false, _) => Err(format!("delivered/asked {delivered:.3} is below {wanted}")),
        (_, false) => Err(format!("a normal job has {least:.4} CPUs, below {KEPT}")),
        _ => Ok(()),
    }
}
