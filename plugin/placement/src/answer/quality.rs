//! How good a plan is, in figures: tasks that span objects, cores that are shared or idle, and how
//! tasks lie on NUMA nodes and L3 caches.
//! In: a plan and its node. Out: [`Quality`]. Pure; nothing is decided by it.

use crate::answer::plan::{Plan, TaskPlan};
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::NumaId;
use crate::topology::machine::Machine;
use crate::topology::node::Node;
use crate::topology::objects::{ObjectKind, ObjectOfCpu};

/// The figures of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Quality {
    /// Tasks with CPUs of several NUMA nodes.
    #[cfg_attr(feature = "serde", serde(rename = "spanning_numa"))]
    pub span_numa: u32,
    /// Tasks with CPUs of several L3 caches.
    #[cfg_attr(feature = "serde", serde(rename = "spanning_l3"))]
    pub span_l3: u32,
    /// Tasks with CPUs of several packages.
    #[cfg_attr(feature = "serde", serde(rename = "spanning_packages"))]
    pub span_packages: u32,
    /// Cores with CPUs of several tasks.
    pub shared_cores: u32,
    /// Cores that the step owns, and no task has a CPU of.
    pub idle_cores: u32,
    /// Tasks on each NUMA node of which the step owns a CPU.
    pub tasks_per_numa: Range,
    /// Tasks on each L3 cache of which the step owns a CPU; none where the machine has no L3 cache.
    pub tasks_per_l3: Option<Range>,
    /// The CPUs of all tasks that are far from their task's memory: in no NUMA node that it is bound to.
    /// Memory that is not bound counts as being in the node with most of the task's CPUs.
    pub far_cpus: u32,
    /// Pairs of tasks with successive numbers on the node that have CPUs of no NUMA node in common.
    pub neighbours_apart: u32,
}

/// The smallest and the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(into = "[u32; 2]"))]
pub struct Range {
    /// The smallest.
    pub least: u32,
    /// The largest.
    pub most: u32,
}

impl From<Range> for [u32; 2] {
    fn from(range: Range) -> Self {
        [range.least, range.most]
    }
}

impl Quality {
    /// The figures; none without the machine's tree.
    #[must_use]
    pub fn of(plan: &Plan, node: &Node) -> Option<Self> {
        let machine = node.machine()?;
        // A task that is bound to nothing may run on every CPU of the step.
        let cpus = |task: &TaskPlan| match task.cpus.is_empty() {
            true => plan.decision.own.clone(),
            false => task.cpus.clone(),
        };
        let masks: Vec<CpuSet> = plan.tasks.iter().map(cpus).collect();
        let numa = Touched::of(&machine.objects(ObjectKind::Numa), &masks, &plan.own);
        let l3 = Touched::of(&machine.objects(ObjectKind::L3), &masks, &plan.own);
        let packages = Touched::of(&machine.objects(ObjectKind::Package), &masks, &plan.own);
        let cores = Touched::of(&machine.objects(ObjectKind::Core), &masks, &plan.own);
        let far = plan.tasks.iter().zip(&masks);
        Some(Self {
            span_numa: numa.spanning,
            span_l3: l3.spanning,
            span_packages: packages.spanning,
            shared_cores: count(&cores.tasks, |tasks| tasks > 1),
            idle_cores: count(&cores.tasks, |tasks| tasks == 0),
            tasks_per_numa: numa.range().unwrap_or_default(),
            tasks_per_l3: l3.range(),
            far_cpus: far.map(|(task, cpus)| far_from(machine, task, cpus)).sum(),
            neighbours_apart: numa.apart,
        })
    }
}

fn count(tasks: &[u32], is_counted: impl Fn(u32) -> bool) -> u32 {
    tasks.iter().filter(|tasks| is_counted(**tasks)).count() as u32
}

/// Which tasks have CPUs of which objects of a kind.
struct Touched {
    /// Tasks of several objects.
    spanning: u32,
    /// Pairs of successive tasks without an object in common, where each of the two has one.
    apart: u32,
    /// Tasks of each object that the step owns something of.
    tasks: Vec<u32>,
}

impl Touched {
    fn of(objects: &[CpuSet], masks: &[CpuSet], own: &CpuSet) -> Self {
        let of_cpu = ObjectOfCpu::new(objects);
        let object = |cpu| of_cpu.get(cpu).map(|object| object as usize);
        let mut tasks = vec![0; objects.len()];
        let (mut spanning, mut apart, mut before) = (0, 0, 0);
        // Tasks count from 1 here.
        let mut last = vec![0; objects.len()];
        for (task, mask) in (1..).zip(masks) {
            let (mut touched, mut common) = (0, false);
            for object in mask.iter().filter_map(object) {
                if last[object] != task {
                    common |= last[object] + 1 == task;
                    last[object] = task;
                    tasks[object] += 1;
                    touched += 1;
                }
            }
            spanning += u32::from(touched > 1);
            apart += u32::from(before > 0 && touched > 0 && !common);
            before = touched;
        }
        let mut owned = vec![false; objects.len()];
        for object in own.iter().filter_map(object) {
            owned[object] = true;
        }
        let kept = tasks.into_iter().zip(owned).filter(|(_, own)| *own);
        Self {
            spanning,
            apart,
            tasks: kept.map(|(tasks, _)| tasks).collect(),
        }
    }

    fn range(&self) -> Option<Range> {
        Some(Range {
            least: *self.tasks.iter().min()?,
            most: *self.tasks.iter().max()?,
        })
    }
}

/// The task's CPUs that are in none of the NUMA nodes where its memory is.
fn far_from(machine: &Machine, task: &TaskPlan, cpus: &CpuSet) -> u32 {
    let domains = machine.memory_domains();
    let common = |domain: &CpuSet| domain.intersection(cpus).count();
    let near: CpuSet = match &task.mems {
        Some(mems) => {
            let is_bound = |id: &NumaId| mems.contains(*id);
            let bound = machine
                .parts()
                .numa_nodes
                .iter()
                .filter(|node| is_bound(&node.id));
            bound.flat_map(|node| node.cpus.iter()).collect()
        }
        None => {
            let mut all = domains.iter().map(|(_, domain)| domain);
            let Some(mut most) = all.next() else { return 0 };
            for domain in all {
                if common(domain) > common(most) {
                    most = domain;
                }
            }
            most.clone()
        }
    };
    cpus.difference(&near).count() as u32
}
