//! The cpuset of a step or a batch script: its job's request, merged with its partition's words, and the one
//! that the job has on this node already.

use berth_host::ledger::Session;
use berth_placement::request::cpuset::{Attribute, Attributes, Choice, Given, Words};
use berth_placement::sets::bounded::shown;
use berth_placement::sets::limits::{CPUSET_BYTES, USER_TEXT};
use berth_placement::{
    Allocation, ChosenSet, Claims, CpuSet, CpusetRequest, NodeSet, Refusal, Request, SetMemory,
    StepCpuset,
};
use berth_site::cpusets::{SiteCpusets, Who};
use slurm_sys::views::{Credential, SpankOption};
use slurm_sys::{BatchRequest, LaunchRequest};

use crate::message::handover::{InCpuset, InLedger};
use crate::message::options::Own;
use crate::message::{cpuset_size, routes};
use crate::planning::convert;
use crate::planning::cpuset::Asked;
use crate::site::settings::Settings;
use crate::slurmd::cpusets;
use crate::slurmd::job_cpusets::{self, JobCpuset};

/// What a step's cpuset is to be.
pub(crate) struct Wanted {
    /// The request that holds.
    pub request: CpusetRequest,
    /// Whether it is the cpuset of all steps of the job.
    pub of_job: bool,
    /// Whether the step has no request, and slurmd remembers the job's. A slurmctld that begins again gives
    /// numbers of jobs again, so it counts only while a step of the job is in it.
    pub is_remembered: bool,
    /// Whether a debugger starts the step. Slurm itself then waits for its tasks and could not cancel them, so they must
    /// not wait.
    pub is_debugged: bool,
    cpuset: StepCpuset,
    /// What the job owns on this node.
    job_allocation: Allocation,
    /// The number of the job's nodes.
    nodes: u32,
}

/// The cpuset of a step.
///
/// # Errors
/// What is wrong with the request, for the user.
pub(crate) fn of_step(
    launch: &LaunchRequest<'_>,
    (options, settings): (&[SpankOption], &Settings),
    index: u32,
) -> Result<Option<Wanted>, String> {
    let texts = routes::of_step(options);
    let asked = Asked::read(
        texts.get(Own::Cpuset),
        routes::cpuset_size_of_step(options).as_deref(),
    )?;
    if !settings.binding {
        return Ok(None);
    }
    // An srun whose environment has lost the job's option is in the job's cpuset all the same.
    let of_job = job_cpusets::of(launch.step_id().job_id);
    if asked.is_none() && of_job.is_none() && !may_have_default() {
        return Ok(None);
    }
    let cred = launch.cred().map_err(|why| why.to_string())?;
    let is_remembered = asked.is_none() && of_job.is_some();
    let found = match (asked, of_job) {
        (None, Some(known)) => of_request(known.request, true, (&cred, index))?,
        (asked, _) => wanted(asked, &cred, index)?,
    };
    Ok(found.map(|found| Wanted {
        is_remembered,
        is_debugged: launch.is_debugged(),
        ..found
    }))
}

/// The cpuset of a batch script, and a note to a user whose request this node does not honour.
///
/// # Errors
/// As [`of_step`].
pub(crate) fn of_batch(
    batch: &BatchRequest<'_>,
    settings: &Settings,
    node_name: &str,
) -> Result<(Option<Wanted>, Option<String>), String> {
    let text = routes::of_batch(Own::Cpuset, |name| {
        batch.env_beginning(name, CPUSET_BYTES + 1)
    });
    if !settings.binding {
        return Ok((None, text.as_deref().map(off_note)));
    }
    let size = routes::cpuset_size_of_batch(|name| batch.env_beginning(name, cpuset_size::MOST));
    let asked = Asked::read(text.as_deref(), size.as_deref())?;
    if asked.is_none() && !may_have_default() {
        return Ok((None, None));
    }
    let cred = batch.cred().map_err(|why| why.to_string())?;
    let index = cred.node_index(node_name).map_err(|why| why.to_string())?;
    Ok((wanted(asked, &cred, index)?, None))
}

fn off_note(text: &str) -> String {
    let text = shown(USER_TEXT / 4, text);
    format!(
        "--cpuset={text} is not honoured on this node (binding=off); leave it out, or ask the administrator"
    )
}

/// Whether a step without a `--cpuset` may get one by its partition.
fn may_have_default() -> bool {
    cpusets::in_force().is_some_and(|site| !site.partitions().is_empty())
}

/// The cpuset of a step whose job requests one, or whose partition does.
fn wanted(
    asked: Option<Asked>,
    cred: &Credential<'_>,
    index: u32,
) -> Result<Option<Wanted>, String> {
    let site = cpusets::in_force();
    match request(asked, cred, site.as_deref())? {
        Some((of_job, request)) => of_request(request, of_job, (cred, index)),
        None => Ok(None),
    }
}

/// The cpuset that a request leads to; none for `CPUSET_TYPE=none`.
fn of_request(
    request: CpusetRequest,
    of_job: bool,
    (cred, index): (&Credential<'_>, u32),
) -> Result<Option<Wanted>, String> {
    let cpuset = match &request {
        CpusetRequest::None => return Ok(None),
        CpusetRequest::Dynamic(asked) => StepCpuset::Choose(Choice {
            asked: asked.clone(),
            job_nodes: cred.job_nhosts(),
        }),
        CpusetRequest::Static(named) => {
            let (account, partition) = (cred.job_account(), cred.job_partition());
            let who = Who {
                uid: cred.uid(),
                account: account.as_deref().unwrap_or_default(),
                partition: partition.as_deref().unwrap_or_default(),
            };
            let site = cpusets::in_force().unwrap_or_default();
            let set = site.set(named.name.as_str(), who);
            let set = set.map_err(|why| shown(USER_TEXT, format!("--cpuset: {why}")))?;
            StepCpuset::Given(Given {
                asked: request.clone(),
                cpus: set.cpus.clone(),
                mems: set.mems.clone(),
                attributes: set.options,
            })
        }
    };
    let text = |why: slurm_sys::Error| why.to_string();
    let cores = cred.node_cores(index).map_err(text)?;
    let of_job_here = cred.job_cores(&cores).map_err(text)?;
    Ok(Some(Wanted {
        request,
        of_job,
        is_remembered: false,
        is_debugged: false,
        cpuset,
        job_allocation: convert::allocation(of_job_here, &cores),
        nodes: cred.job_nhosts(),
    }))
}

/// The request that holds, and whether it is the whole job's.
fn request(
    asked: Option<Asked>,
    cred: &Credential<'_>,
    site: Option<&SiteCpusets>,
) -> Result<Option<(bool, CpusetRequest)>, String> {
    let site = site.filter(|site| !site.partitions().is_empty());
    let Some(site) = site else {
        return asked
            .map(|asked| Ok((asked.of_job, asked.request()?)))
            .transpose();
    };
    let partition = cred.job_partition().unwrap_or_default();
    let of_job = asked.as_ref().is_none_or(|asked| asked.of_job);
    let own = asked.as_ref().map(Asked::words).unwrap_or_default();
    let (words, line) = site.merged(&partition, &own);
    if asked.is_none() && words == Words::default() {
        return Ok(None);
    }
    let read = CpusetRequest::of(&words).map_err(|why| match line {
        Some(line) => format!(
            "{why}; the partition {partition} adds words to --cpuset ({}, line {line})",
            site.path.display()
        ),
        None => why.to_string(),
    });
    let read = read.map_err(|why| shown(USER_TEXT, why))?;
    Ok(Some((of_job, read)))
}

impl Wanted {
    /// Puts it into the request, to be chosen.
    pub(crate) fn put(&self, request: &mut Request) {
        request.cpuset = Some(self.cpuset.clone());
        request.job_allocation = Some(self.job_allocation.clone());
    }

    /// What slurmstepd is told of it.
    pub(crate) fn handed(&self, set: &ChosenSet, (node_name, job): (&str, u32)) -> InCpuset {
        let (kind, name) = match &self.request {
            CpusetRequest::Static(named) => ("static", named.name.as_str().to_owned()),
            CpusetRequest::None | CpusetRequest::Dynamic(_) => {
                ("dynamic", format!("/{node_name}/{job}"))
            }
        };
        InCpuset {
            cpus: set.cpus.clone(),
            line: format!(
                "CPUSET_TYPE={kind};NHOSTS={};HOST={node_name};CPUSET_NAME={name};NCPUS={};",
                self.nodes, set.count
            ),
            // Nodes without a meaning are not needed.
            mems: match set.memory {
                SetMemory::Open => NodeSet::default(),
                SetMemory::Preferred | SetMemory::Only { .. } => set.mems.clone(),
            },
            memory: set.memory,
            asked: match self.is_chosen_here() {
                true => self.request.to_string(),
                false => String::new(),
            },
            is_held: false,
            is_debugged: self.is_debugged,
            held: self.is_chosen_here().then(|| InLedger {
                exclusive: set.exclusive,
                of_job: self.of_job,
                memory: self.wants_memory(),
                mark: self.mark(),
            }),
        }
    }

    /// Equal for equal requests.
    pub(crate) fn mark(&self) -> u64 {
        mark(&self.request)
    }

    /// Whether this node chooses it, for the ledger: the site's own cpusets are shared.
    pub(crate) fn is_chosen_here(&self) -> bool {
        matches!(self.cpuset, StepCpuset::Choose(_))
    }

    /// The cpuset that the job has on this node already, if its CPUs are still its own.
    ///
    /// # Errors
    /// The refusal of a request other than the job's.
    pub(crate) fn of_job_already(
        &self,
        session: &mut Session<'_>,
        job: u32,
        (own, claims): (&CpuSet, &Claims),
    ) -> Result<Option<Given>, Refusal> {
        if !self.is_chosen_here() {
            return Ok(None);
        }
        if let Some(living) = session.cpuset_of(job) {
            return match living.mark == self.mark() {
                true => Ok(Some(self.given(living.cpus))),
                false => Err(Refusal::BindingFailed(format!(
                    "--cpuset={}: this job has the cpuset {} on this node, CPUs {}, and its steps run inside \
                     it; leave --cpuset out",
                    self.request, living.request, living.cpus
                ))),
            };
        }
        let before = job_cpusets::of(job);
        let before = before.filter(|known| self.of_job && known.request == self.request);
        // A job that was requeued may own others now.
        let is_free = |known: &JobCpuset| {
            known.cpus.is_subset(own)
                && !known.cpus.intersects(&claims.taken)
                && !(self.is_exclusive() && known.cpus.intersects(&claims.cpusets))
        };
        Ok(before.filter(is_free).map(|known| self.given(known.cpus)))
    }

    /// The same with CPUs that were chosen.
    pub(crate) fn given(&self, cpus: CpuSet) -> Given {
        Given {
            asked: self.request.clone(),
            cpus,
            mems: None,
            attributes: self.attributes(),
        }
    }

    fn attributes(&self) -> Attributes {
        match &self.request {
            CpusetRequest::Dynamic(asked) => asked.attributes,
            CpusetRequest::None | CpusetRequest::Static(_) => Attributes::default(),
        }
    }

    /// Whether it wants the memory of its NUMA nodes for itself.
    pub(crate) fn wants_memory(&self) -> bool {
        self.attributes().has(Attribute::MemoryExclusive)
    }

    fn is_exclusive(&self) -> bool {
        self.attributes().has(Attribute::CpuExclusive)
    }
}

/// A number that is equal for equal requests, for the ledger: its text may be too long for an entry.
fn mark(request: &CpusetRequest) -> u64 {
    berth_host::ledger::mark(&request.to_string())
}

#[cfg(test)]
#[path = "cpuset_laws.rs"]
mod laws;
