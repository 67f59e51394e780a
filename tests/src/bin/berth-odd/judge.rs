//! One request judged: the kernel's masks beside the plan, the machine's tree and the step's cgroup.

use std::fmt;

use berth_tests::real::{Answer, cores_of, same_as_plan};

use crate::room;
use crate::tree::{Core, Cpus, Tree, list};

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel has what was planned, and that is sound.
    Equal,
    /// It was refused, and by whom.
    Refused(&'static str),
    /// The step's cgroup allows fewer CPUs than were planned, although the log says so.
    Cut(String),
    /// The kernel has other CPUs than were planned.
    Different,
    /// A mask breaks a law.
    Wrong(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::Refused(by) => write!(f, "refused by {by}"),
            Self::Cut(said) => write!(f, "cut by the cgroup ({said})"),
            Self::Different => f.write_str("DIFFERENT"),
            Self::Wrong(why) => write!(f, "WRONG, {why}"),
        }
    }
}

/// How many there are of each.
#[derive(Debug, Default)]
pub struct Tally {
    requests: u32,
    equal: u32,
    slurm: u32,
    berth: u32,
    cut: u32,
    different: u32,
    broken: u32,
}

impl Tally {
    /// Counts one.
    pub fn count(&mut self, verdict: &Verdict) {
        self.requests += 1;
        let place = match verdict {
            Verdict::Equal => &mut self.equal,
            Verdict::Refused("Slurm") => &mut self.slurm,
            Verdict::Refused(_) => &mut self.berth,
            Verdict::Cut(_) => &mut self.cut,
            Verdict::Different => &mut self.different,
            Verdict::Wrong(_) => &mut self.broken,
        };
        *place += 1;
    }

    /// What must not be.
    pub fn wrong(&self) -> u32 {
        self.different + self.broken + self.cut
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests, {} equal to the plan, {} refused by Slurm, {} by berth, {} cut by the cgroup, \
             {} unlike the plan, {} with a CPU twice or absent: {} differences",
            self.requests,
            self.equal,
            self.slurm,
            self.berth,
            self.cut,
            self.different,
            self.broken,
            self.wrong()
        )
    }
}

/// Judges one request.
pub fn judge(request: &str, kernel: &Answer, planned: &str, tree: &Tree, log: &str) -> Verdict {
    if kernel.tasks.is_empty() {
        return refused(kernel, planned);
    }
    let cores = cores_of(kernel, log);
    let owned = cores.map_or_else(|| tree.all(), |cores| tree.owned(words_of(&cores)));
    let owned = inside(kernel, owned);
    let is_planned = same_as_plan(kernel, planned);
    if let (false, Some(said)) = (is_planned, cut(kernel, planned, &owned, log)) {
        return Verdict::Cut(said);
    }
    let wrong = broken_law(request, kernel, &owned).or_else(|| told_wrongly(kernel, tree));
    match (wrong, is_planned) {
        (Some(why), _) => Verdict::Wrong(why),
        (None, true) => Verdict::Equal,
        (None, false) => Verdict::Different,
    }
}

/// What the step's cgroup has of its cores.
fn inside(kernel: &Answer, mut owned: Vec<Core>) -> Vec<Core> {
    let fence: Cpus = kernel.fences.values().flat_map(|cpus| list(cpus)).collect();
    for core in &mut owned {
        core.cpus
            .retain(|cpu| fence.is_empty() || fence.contains(cpu));
    }
    owned.retain(|core| !core.cpus.is_empty());
    owned
}

/// `0-7/8` as `0-7`.
fn words_of(cores: &str) -> &str {
    cores.split('/').next().unwrap_or_default()
}

fn refused(kernel: &Answer, planned: &str) -> Verdict {
    match (
        kernel.said.contains("berth: error"),
        planned.starts_with("error:"),
    ) {
        (false, _) => Verdict::Refused("Slurm"),
        (true, true) => Verdict::Refused("berth"),
        (true, false) => Verdict::Different,
    }
}

fn broken_law(request: &str, kernel: &Answer, owned: &[Core]) -> Option<String> {
    let all = cpus_of(owned);
    let masks: Vec<Cpus> = kernel.cpus().into_iter().map(list).collect();
    if let Some(mask) = masks.iter().find(|mask| !mask.is_subset(&all)) {
        return Some(format!(
            "the step's CPUs are {all:?}, and a task has {mask:?}"
        ));
    }
    let bound = masks.iter().any(|mask| *mask != all);
    let mut seen = Cpus::new();
    let twice = masks.iter().flatten().find(|cpu| !seen.insert(**cpu));
    match twice {
        Some(cpu) if bound && room::is_enough(request, owned) => Some(format!("CPU {cpu} twice")),
        _ => None,
    }
}

/// A task that is told other cores than those of its CPUs.
fn told_wrongly(kernel: &Answer, tree: &Tree) -> Option<String> {
    let pairs = kernel
        .told
        .iter()
        .map(|(task, told)| (told, &kernel.tasks[task].0));
    let mut wrong = pairs.filter(|(told, cpus)| tree.cores_of(&list(cpus)) != list(told));
    wrong
        .next()
        .map(|(told, cpus)| format!("BERTH_CORES={told} for CPUs {cpus}"))
}

/// What the log says of a step whose every mask is the plan's within the task's cgroup, or where
/// nothing would be left all that the cgroup has of the step's CPUs.
fn cut(kernel: &Answer, planned: &str, owned: &[Core], log: &str) -> Option<String> {
    let plan = planned.split(" # ").next().unwrap_or_default().trim();
    // Neither a refusal nor an unbound step.
    if !plan.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let plan = plan.split(' ').map(list);
    let all = cpus_of(owned);
    let masks = kernel.cpus().into_iter().map(list);
    let fences = kernel.fences.values().map(|cpus| list(cpus));
    let inside = |plan: &Cpus, fence: &Cpus| plan.intersection(fence).copied().collect::<Cpus>();
    let explained = masks.zip(fences).zip(plan).all(|((mask, fence), plan)| {
        let some = inside(&plan, &fence);
        mask == if some.is_empty() {
            inside(&all, &fence)
        } else {
            some
        }
    });
    let marker = format!("berth: step={}.{} tasks=", kernel.job, kernel.step);
    let line = log.lines().find(|line| line.contains(&marker))?;
    let (_, said) = line.split_once(" deviations=")?;
    (explained && said.contains(" outside-cgroup=")).then(|| said.into())
}

fn cpus_of(cores: &[Core]) -> Cpus {
    cores
        .iter()
        .flat_map(|core| core.cpus.iter().copied())
        .collect()
}
