//! The cpuset of a step or a batch script: its job's request, merged with its partition's words.

use berth_placement::request::cpuset::{Choice, Given, Words};
use berth_placement::sets::bounded::shown;
use berth_placement::sets::limits::{CPUSET_BYTES, USER_TEXT};
use berth_placement::{Allocation, CpusetRequest, Request, StepCpuset};
use berth_site::cpusets::{SiteCpusets, Who};
use slurm_sys::views::{Credential, SpankOption};
use slurm_sys::{BatchRequest, LaunchRequest};

use crate::message::options::Own;
use crate::message::step::CpusetWish;
use crate::message::{cpuset_size, routes};
use crate::planning::convert;
use crate::planning::cpuset::Asked;
use crate::site::settings::Settings;
use crate::slurmd::cpusets;

/// What a step's cpuset is to be.
pub(crate) struct Wanted {
    /// The request, for slurmstepd.
    pub wish: CpusetWish,
    cpuset: StepCpuset,
    /// What the job owns on this node.
    job_allocation: Allocation,
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
    if asked.is_none() && !may_have_default() {
        return Ok(None);
    }
    let cred = launch.cred().map_err(|why| why.to_string())?;
    wanted(asked, (&cred, index), launch.is_debugged())
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
    Ok((wanted(asked, (&cred, index), false)?, None))
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
    (cred, index): (&Credential<'_>, u32),
    is_debugged: bool,
) -> Result<Option<Wanted>, String> {
    let site = cpusets::in_force();
    let is_typed = asked.as_ref().is_some_and(Asked::has_ncpus);
    let Some((of_job, request)) = request(asked, cred, site.as_deref())? else {
        return Ok(None);
    };
    let Some(cpuset) = of_request(&request, cred, is_typed)? else {
        return Ok(None);
    };
    let text = |why: slurm_sys::Error| why.to_string();
    let cores = cred.node_cores(index).map_err(text)?;
    let of_job_here = cred.job_cores(&cores).map_err(text)?;
    Ok(Some(Wanted {
        wish: CpusetWish {
            request,
            of_job,
            is_debugged,
            nodes: cred.job_nhosts(),
        },
        cpuset,
        job_allocation: convert::allocation(of_job_here, &cores),
    }))
}

/// The cpuset that a request leads to; none for `CPUSET_TYPE=none`.
fn of_request(
    request: &CpusetRequest,
    cred: &Credential<'_>,
    is_count_typed: bool,
) -> Result<Option<StepCpuset>, String> {
    Ok(match request {
        CpusetRequest::None => None,
        CpusetRequest::Dynamic(asked) => Some(StepCpuset::Choose(Choice {
            asked: asked.clone(),
            job_nodes: cred.job_nhosts(),
            is_count_typed,
        })),
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
            Some(StepCpuset::Given(Given {
                asked: request.clone(),
                cpus: set.cpus.clone(),
                mems: set.mems.clone(),
                attributes: set.options,
            }))
        }
    })
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
}
