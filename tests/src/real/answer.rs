//! Requests asked of a cluster, all in one allocation, and what the kernel says of each task.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::Cluster;
use crate::process::own_status;

/// Every request in turn: a step of the allocation around it.
const STEPS: &str = r#"number=0
echo "$SLURM_JOB_ID" > "$out/job"
# From 24.11 on srun takes what the job was asked for a task; here a request says all by itself.
unset SLURM_CPUS_PER_TASK SLURM_TRES_PER_TASK
while read -r request; do
    set -f; set -- $request
    srun "$@" "$probe" probe > "$out/$number.out" 2> "$out/$number.err" < /dev/null
    number=$((number + 1))
done < "$out/requests""#;

/// What became of a request.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Answer {
    /// CPUs and memory policy by task; empty if nothing started.
    pub tasks: BTreeMap<u32, (String, String)>,
    /// CPUs that the task's cgroup allows, where it has a cpuset.
    pub fences: BTreeMap<u32, String>,
    /// The cores that berth tells each bound task (`BERTH_CORES`).
    pub told: BTreeMap<u32, String>,
    /// The CPUs that berth tells each bound task (`BERTH_CPUS`).
    pub told_cpus: BTreeMap<u32, String>,
    /// The job's number.
    pub job: String,
    /// The step's number; empty if nothing started.
    pub step: String,
    /// What srun said.
    pub said: String,
}

impl Answer {
    /// Whether the tasks have the same.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.tasks == other.tasks
    }

    /// The same answer with the CPUs that each task was told. A node that pretends to be another machine
    /// (`HWLOC_SYNTHETIC`) applies no mask, because the kernel has other CPUs.
    #[must_use]
    pub fn as_told(mut self) -> Self {
        for (task, told) in std::mem::take(&mut self.told_cpus) {
            self.tasks.entry(task).and_modify(|(cpus, _)| *cpus = told);
        }
        self
    }

    /// Each task's CPUs, in the order of the tasks.
    #[must_use]
    pub fn cpus(&self) -> Vec<&str> {
        self.tasks.values().map(|(cpus, _)| cpus.as_str()).collect()
    }

    /// One line for a person.
    #[must_use]
    pub fn show(&self) -> String {
        if self.tasks.is_empty() {
            let why = self.said.lines().rfind(|line| line.contains("error: "));
            return format!("refused: {}", why.unwrap_or_default());
        }
        let tasks = self.tasks.values();
        tasks
            .map(|(cpus, policy)| format!("{cpus}/{policy}"))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Runs every request as a step of one allocation, `salloc OPTIONS…`.
///
/// # Panics
/// If the allocation fails, or a task prints what is not ours.
#[must_use]
pub fn ask(cluster: &Cluster, options: &[&str], requests: &[&str]) -> Vec<Answer> {
    let mut salloc = cluster.program("salloc");
    salloc.arg("-Q").args(options);
    let out = tempfile::tempdir().expect("a temporary folder");
    fs::write(out.path().join("requests"), requests.join("\n") + "\n").expect("requests");
    let status = salloc
        .args(["bash", "-c", STEPS])
        .env("out", out.path())
        .env("probe", std::env::current_exe().expect("this program"))
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the shell failed"
    );
    let read = |name: String| fs::read_to_string(out.path().join(name)).unwrap_or_default();
    let job = read("job".into());
    (0..requests.len())
        .map(|number| Answer {
            job: job.trim().into(),
            said: read(format!("{number}.err")),
            ..answer(&read(format!("{number}.out")))
        })
        .collect()
}

/// What each task prints: its number, its step, its CPUs, its memory policy and its cgroup's CPUs as
/// the kernel has them, and the cores and CPUs that it was told. A shell would take a system call for every letter, which emulation makes felt.
#[must_use]
pub fn probe() -> ExitCode {
    let cpus = own_status("Cpus_allowed_list");
    let maps = fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
    let policy = maps.split(' ').nth(1).unwrap_or_default();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (task, step) = (variable("SLURM_PROCID"), variable("SLURM_STEP_ID"));
    let told = |name| {
        let told = Some(variable(name)).filter(|told| !told.is_empty());
        told.unwrap_or_else(|| "-".into())
    };
    let (cores, told) = (told("BERTH_CORES"), told("BERTH_CPUS"));
    println!("{task} {step} {cpus} {policy} {} {cores} {told}", fence());
    ExitCode::SUCCESS
}

/// The CPUs of the nearest cgroup (version 2) above this process that has a cpuset, or `-`.
fn fence() -> String {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let folder = Path::new("/sys/fs/cgroup").join(path.unwrap_or_default());
    let mut levels = folder
        .ancestors()
        .take_while(|level| level.starts_with("/sys/fs/cgroup"));
    let cpus =
        levels.find_map(|level| fs::read_to_string(level.join("cpuset.cpus.effective")).ok());
    cpus.map_or("-".into(), |cpus| cpus.trim().into())
}

/// What the tasks printed.
///
/// # Panics
/// If it is not [`probe`]'s.
pub(super) fn answer(printed: &str) -> Answer {
    let mut answer = Answer::default();
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [task, step, cpus, policy, fence, cores, told] = words[..] else {
            panic!("a task printed {line:?}");
        };
        answer.step = step.into();
        let task = task.parse().expect("a task's number");
        for (all, word) in [
            (&mut answer.fences, fence),
            (&mut answer.told, cores),
            (&mut answer.told_cpus, told),
        ] {
            if word != "-" {
                all.insert(task, word.into());
            }
        }
        answer.tasks.insert(task, (cpus.into(), policy.into()));
    }
    answer
}
