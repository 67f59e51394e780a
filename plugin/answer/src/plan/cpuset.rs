//! A job's cpuset in a plan: what the request asks, and the choice in words and for scripts.

use std::collections::BTreeMap;

use berth_placement::controller::select::options::LineOptions;
use berth_placement::request::cpuset::{Attributes, Choice, ExistingCpuset, Static};
use berth_placement::{
    ChosenSet, CpuSet, CpusetRequest, NumaId, Rejected, SetFrom, SetMemory, StepCpuset, counted,
};
use berth_site::announcement::StaticCpuset;
use berth_srun::submission::cpuset::{ncpus, on_a_node};
use serde::Serialize;

use super::step::PlannedStep;
use crate::Question;
use crate::lines::NoAnswer;

impl Question {
    /// The cpuset that the request and its partition ask for.
    pub(crate) fn effective_cpuset(&self) -> Option<StepCpuset> {
        let (ncpus, job_nodes) = self.ncpus_and_nodes();
        match self.merged_cpuset().ok()?? {
            CpusetRequest::Dynamic(requested) => Some(StepCpuset::Choose(Choice {
                is_count_typed: self.types_ncpus() || requested.ncpus != ncpus,
                requested,
                job_nodes,
            })),
            requested @ CpusetRequest::Static(_) => self.of_site(&requested).map(StepCpuset::Given),
            CpusetRequest::None => None,
        }
    }

    /// Whether the user wrote the number of CPUs.
    pub(super) fn types_ncpus(&self) -> bool {
        self.cpuset
            .as_ref()
            .and_then(CpusetRequest::ncpus)
            .is_some()
    }

    /// The number of CPUs on each node that the submitting command would write into the request.
    pub(super) fn ncpus_of_line(&self) -> Option<u32> {
        self.ncpus_and_nodes().0
    }

    /// That number, and the least number of nodes.
    fn ncpus_and_nodes(&self) -> (Option<u32>, u32) {
        let least = || self.srun.nodes.map_or(1, |nodes| nodes.least);
        match self.job() {
            Some(job) => ncpus_and_nodes(&job.selection.options),
            None => (ncpus(&self.srun), least()),
        }
    }

    /// The site's cpuset that a request names, as the site's file has it.
    fn announced_cpuset(&self, requested: &CpusetRequest) -> Option<&StaticCpuset> {
        let CpusetRequest::Static(named) = requested else {
            return None;
        };
        let mut sets = self.site_cpusets()?.words.static_cpusets.iter();
        sets.find(|set| set.name == named.name.as_str())
    }

    /// The site's cpuset that a request names.
    fn of_site(&self, requested: &CpusetRequest) -> Option<ExistingCpuset> {
        let set = self.announced_cpuset(requested)?;
        let mems = CpuSet::from_list(&set.mems)
            .ok()
            .filter(|mems| !mems.is_empty());
        let options = format!("CPUSET_OPTIONS={}", set.options);
        let options = options.parse().ok().filter(|_| !set.options.is_empty());
        Some(ExistingCpuset {
            requested: requested.clone(),
            cpus: CpuSet::from_list(&set.cpus).ok()?,
            mems: mems.map(|mems| mems.iter().map(|node| NumaId(node.0)).collect()),
            attributes: match options {
                Some(CpusetRequest::Dynamic(words)) => words.attributes,
                _ => Attributes::default(),
            },
        })
    }

    /// Checks that the cpuset of a request can be planned.
    ///
    /// # Errors
    /// [`NoAnswer`]
    pub(super) fn has_known_cpuset(&self) -> Result<(), NoAnswer> {
        let requested = self.merged_cpuset().map_err(NoAnswer::Refused)?;
        let Some(named) = &requested else {
            return Ok(());
        };
        let CpusetRequest::Static(Static { name, .. }) = named else {
            return Ok(());
        };
        if let Some(set) = self.announced_cpuset(named) {
            return self.is_open(set).map_err(NoAnswer::Refused);
        }
        let site = self.site_cpusets();
        let sets = site.map_or(&[][..], |site| &site.words.static_cpusets);
        if sets.is_empty() {
            let why = self.unread_cpusets().map_or(
                "no slurmd here has announced cpusets of the site; ask on the node",
                String::as_str,
            );
            return Err(NoAnswer::NotModelled(format!(
                "--cpuset names {name}, and {why}"
            )));
        }
        let names: Vec<_> = sets.iter().map(|set| set.name.as_str()).collect();
        Err(NoAnswer::Refused(format!(
            "--cpuset: this node has no static cpuset {name}; it has {}",
            names.join(", ")
        )))
    }

    /// Refuses a cpuset of the site that is not open to the job's partition.
    fn is_open(&self, set: &StaticCpuset) -> Result<(), String> {
        let partition = self.partition().or_else(|| self.default_partition());
        let open = &set.partitions;
        match partition.filter(|name| !open.is_empty() && !open.contains(name)) {
            None => Ok(()),
            Some(_) => Err(format!(
                "--cpuset: the static cpuset {} is open to jobs of the partitions {}; choose one of them with -p, or \
                 leave CPUSET_NAME out",
                set.name,
                open.join(", ")
            )),
        }
    }

    /// The note on a cpuset of the site whose users are the administrator's to know.
    pub(super) fn limited_cpuset(&self) -> Option<String> {
        let requested = self.merged_cpuset().ok()??;
        let set = self.announced_cpuset(&requested)?;
        set.is_limited.then(|| {
            format!(
                "only some users and accounts may use the static cpuset {}; this plan does not look at who asks",
                set.name
            )
        })
    }
}

/// The number of CPUs on each node that a job's line asks for, and the least number of its nodes.
pub(super) fn ncpus_and_nodes(options: &LineOptions) -> (Option<u32>, u32) {
    let nodes = options
        .nodes
        .as_ref()
        .map(|nodes| (nodes.least, nodes.most));
    let least = nodes.map_or(1, |(least, _)| least);
    let tasks = options.tasks.unwrap_or(least);
    let per_node = options.tasks_per_node;
    if (options.tasks, per_node, options.cpus_per_task) == (None, None, None) {
        return (None, least);
    }
    (
        on_a_node(tasks, per_node, nodes, options.cpus_per_task),
        least,
    )
}

/// A cpuset for scripts.
#[derive(Serialize)]
pub(super) struct CpusetJson {
    request: String,
    cpus: String,
    ncpus: u32,
    /// `threads` or `cores`: what `ncpus` counts.
    counts: &'static str,
    radius: u32,
    memory_nodes: String,
    /// `open`, `preferred` or `only`.
    memory: &'static str,
    exclusive: bool,
    /// `best_fit`, `first_fit` or `given`.
    chosen_by: &'static str,
    rejected: Vec<String>,
}

impl CpusetJson {
    fn of(set: &ChosenSet) -> Self {
        Self {
            request: set.requested.to_string(),
            cpus: set.cpus.to_string(),
            ncpus: set.count,
            counts: if set.counts_cores { "cores" } else { "threads" },
            radius: set.radius,
            memory_nodes: set.mems.to_string(),
            memory: match set.memory {
                SetMemory::Open => "open",
                SetMemory::Preferred => "preferred",
                SetMemory::Only { .. } => "only",
            },
            exclusive: set.exclusive,
            chosen_by: match set.from {
                SetFrom::BestFit => "best_fit",
                SetFrom::FirstFit => "first_fit",
                SetFrom::Given => "given",
            },
            rejected: set.rejected.iter().map(rejected).collect(),
        }
    }

    /// Those of a step, by the number of tasks on a node.
    pub(super) fn of_step(step: &PlannedStep) -> BTreeMap<u32, Self> {
        let sets = step
            .plans()
            .filter_map(|(count, plan)| Some((count, Self::of(plan.cpuset.as_ref()?))));
        sets.collect()
    }
}

/// The CPUs that were not chosen, for `--explain`; the choice stands at the head of the answer.
pub(super) fn not_chosen(set: &ChosenSet) -> Vec<String> {
    let not = set.rejected.iter().map(rejected);
    not.map(|why| format!("not         {why}")).collect()
}

/// The choice in one line.
pub(super) fn in_words(set: &ChosenSet) -> String {
    let by = match set.from {
        SetFrom::BestFit => "best fit: the smallest radius that holds the number",
        SetFrom::FirstFit => "first fit: the first free ones",
        SetFrom::Given => match &set.requested {
            CpusetRequest::Static(named) => &format!("the site's cpuset {}", named.name),
            CpusetRequest::Dynamic(_) | CpusetRequest::None => "an earlier step of the job has it",
        },
    };
    let unit = if set.counts_cores { "core" } else { "CPU" };
    let memory = match set.memory {
        SetMemory::Open => String::new(),
        SetMemory::Preferred => format!("; memory comes from NUMA nodes {} first", set.mems),
        SetMemory::Only { .. } => format!("; memory comes from NUMA nodes {} alone", set.mems),
    };
    let exclusive = if set.exclusive { ", exclusive" } else { "" };
    format!(
        "CPUs {} ({}, radius {}{exclusive}), {by}{memory}",
        set.cpus,
        counted(set.count, unit),
        set.radius
    )
}

/// CPUs that were not chosen, and why.
fn rejected(what: &Rejected) -> String {
    match what {
        Rejected::NotOwned(cpus) => format!("CPUs {cpus} of CPU_LIST: the job does not own them"),
        Rejected::NotListed(cpus) => format!("CPUs {cpus}: CPU_LIST does not name them"),
        Rejected::Taken(cpus) => format!("CPUs {cpus}: others hold them"),
        Rejected::Avoided(cpus) => format!("CPUs {cpus}: they are in other cpusets"),
        Rejected::Isolated(cpus) => format!("CPUs {cpus}: the kernel isolates them"),
        Rejected::ExclusiveMemory(mems) => {
            format!("NUMA nodes {mems}: another cpuset wants their memory for itself")
        }
        Rejected::PartOfNode(node) => format!("NUMA node {node}: the job does not own it whole"),
        Rejected::Radius { radius, holds } => format!(
            "radius {radius}: a cpuset of this radius has at most {}",
            counted(*holds, "CPU")
        ),
    }
}
