//! A job of the experiment, while it runs: its place among the cgroups, and what the kernel says of it there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use berth_tests::Cluster;

use crate::left;
use crate::thread::list;

/// How long a job may take to start on a full, emulated machine.
const START: Duration = Duration::from_secs(180);

/// Jobs that end take less than this: Slurm drains a node 60 s after it has killed them.
const SLOW: Duration = Duration::from_secs(40);

/// A user without rights.
const USER: &str = "65534";

/// A job.
pub(crate) struct Job {
    child: Child,
    /// Its folder among the cgroups.
    pub folder: PathBuf,
    /// Where its program writes.
    pub told: PathBuf,
    /// Its number.
    pub id: String,
}

/// A job that was submitted.
pub(crate) struct Begun {
    job: Job,
    what: String,
    tasks: u32,
}

/// Starts a job of so many tasks in a role, each with so many threads, and waits until all of them work.
pub(crate) fn start(
    cluster: &Cluster,
    options: &[&str],
    what: (&str, u32, u32),
) -> Result<Job, String> {
    begin(cluster, options, what).wait()
}

/// The same, as a user without rights.
pub(crate) fn start_as_user(
    cluster: &Cluster,
    options: &[&str],
    what: (&str, u32, u32),
) -> Result<Job, String> {
    let mut srun = cluster.program("setpriv");
    srun.args(["--reuid", USER, "--regid", USER, "--clear-groups", "srun"]);
    submit(srun, options, what).wait()
}

/// Submits such a job.
pub(crate) fn begin(cluster: &Cluster, options: &[&str], what: (&str, u32, u32)) -> Begun {
    submit(cluster.program("srun"), options, what)
}

fn submit(
    mut command: Command,
    options: &[&str],
    (role, tasks, threads): (&str, u32, u32),
) -> Begun {
    let told = tempfile::tempdir().expect("a folder").keep();
    // The job may be a user's.
    fs::set_permissions(&told, Permissions::from_mode(0o777)).expect("a folder");
    let me = std::env::current_exe().expect("this program's path");
    command.args(options).arg(format!("-n{tasks}")).arg(me);
    command.arg(role).arg(threads.to_string()).arg(&told);
    if role == "talk" {
        command.stdout(Stdio::null());
    }
    let job = Job {
        child: command.spawn().expect("srun"),
        folder: PathBuf::new(),
        told,
        id: String::new(),
    };
    Begun {
        job,
        what: format!("{options:?}"),
        tasks,
    }
}

impl Begun {
    /// Waits until all of its tasks work.
    pub(crate) fn wait(self) -> Result<Job, String> {
        let Self {
            mut job,
            what,
            tasks,
        } = self;
        let since = Instant::now();
        while since.elapsed() < START {
            let all: Option<Vec<_>> = (0..tasks)
                .map(|id| fs::read_to_string(job.told.join(format!("cgroup.{id}"))).ok())
                .map(|text| text.filter(|text| text.ends_with('\n')))
                .collect();
            if let Some(own) = all.as_ref().and_then(|all| all.first()) {
                let path = own.trim().strip_prefix("0::/");
                let path = path.ok_or("a task is in no cgroup of version 2")?;
                let place = path.split("/step_").next().unwrap_or_default();
                let says = fs::read_to_string(job.told.join("told.0")).unwrap_or_default();
                println!(
                    "  {tasks} tasks of {what} in {place}, NCPUS, OMP_NUM_THREADS, job: {says}"
                );
                job.folder = Path::new("/sys/fs/cgroup").join(place);
                job.id = says.rsplit(' ').next().unwrap_or_default().into();
                return Ok(job);
            }
            thread::sleep(Duration::from_millis(200));
        }
        Err(format!("{what} -n{tasks} has not started"))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Its children are of Slurm, which ends them.
        self.is_left();
    }
}

/// Ends every job, and waits until they are gone. Prints what is left if that takes long.
pub(crate) fn end_all(cluster: &Cluster) {
    let since = Instant::now();
    for user in ["root", USER] {
        let _ = cluster.run("scancel", &["-u", user, "--signal=KILL"]);
        let _ = cluster.run("scancel", &["-u", user]);
    }
    let mut told = 0;
    cluster.wait_for("all jobs to end", || {
        if since.elapsed() > SLOW * (told + 1) {
            told += 1;
            println!("  after {:.1?}:", since.elapsed());
            left::print();
        }
        let left = cluster.run("squeue", &["-h"]).stdout;
        left.trim().is_empty().then_some(())
    });
}

impl Job {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    pub(crate) fn weight(&self) -> u32 {
        self.file("cpu.weight").trim().parse().unwrap_or_default()
    }

    /// Whether the tasks of its first step are idle ones.
    pub(crate) fn is_idle(&self) -> bool {
        self.file("step_0/user/cpu.idle").trim() == "1"
    }

    /// The weight of the slurmstepd of its first step beside its tasks.
    pub(crate) fn weight_of_slurmstepd(&self) -> u32 {
        let text = self.file("step_0/slurm/cpu.weight");
        text.trim().parse().unwrap_or_default()
    }

    /// Its srun is killed.
    pub(crate) fn is_left(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its CPUs: a list without steps.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        list(&self.file("cpuset.cpus.effective"))
    }

    /// The CPU time of its first step's tasks, in seconds: slurmstepds are no part of what a job asks CPUs for, and
    /// below a busy pool berth itself lets them go first.
    pub(crate) fn used(&self) -> Result<f64, String> {
        let text = self.file("step_0/user/cpu.stat");
        let used = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "));
        let used = used.and_then(|text| text.parse::<f64>().ok());
        let used = used.ok_or_else(|| format!("job {} has no CPU time", self.id))?;
        Ok(used / 1e6)
    }

    /// The seconds in which tasks of its first step wanted a CPU and none had one.
    pub(crate) fn waited(&self) -> Result<f64, String> {
        let text = self.file("step_0/user/cpu.pressure");
        let full = text.lines().find(|line| line.starts_with("full "));
        let total = full.and_then(|line| line.rsplit("total=").next()?.parse::<f64>().ok());
        let total = total.ok_or_else(|| format!("job {} has no pressure", self.id))?;
        Ok(total / 1e6)
    }

    /// The slurmstepd of its first step.
    pub(crate) fn slurmstepd(&self) -> String {
        self.file("step_0/slurm/cgroup.procs")
            .lines()
            .next()
            .unwrap_or_default()
            .into()
    }

    /// Waits until its srun has ended by itself.
    pub(crate) fn ends(&mut self, most: Duration) -> Result<(), String> {
        let since = Instant::now();
        while since.elapsed() < most {
            match self.child.try_wait().map_err(|why| why.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("job {}: {status}", self.id)),
                None => thread::sleep(Duration::from_millis(100)),
            }
        }
        Err(format!("job {} has not ended after {most:?}", self.id))
    }

    /// The processes of its first step's tasks.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.processes_of("step_0")
    }

    /// The same of another step's.
    pub(crate) fn processes_of(&self, step: &str) -> Vec<u32> {
        let mut found = Vec::new();
        gather(&self.folder.join(step).join("user"), &mut found);
        found
    }
}

fn gather(folder: &Path, found: &mut Vec<u32>) {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    found.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
    for below in fs::read_dir(folder).into_iter().flatten().flatten() {
        if below.path().is_dir() {
            gather(&below.path(), found);
        }
    }
}
