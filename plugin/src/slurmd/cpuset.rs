//! The site's file of cpusets in slurmd, and the cpuset of a step or a batch script: its job's request, merged with
//! its partition's words.

use std::path::Path;

use berth_host::site_file::{self, LastGoodConfig};
use berth_placement::request::cpuset::{Choice, ExistingCpuset, Keyword, Words};
use berth_placement::sets::limits::{CPUSET_BYTES, USER_TEXT};
use berth_placement::sets::text::{counted, shown};
use berth_placement::{Allocation, CpusetRequest, Request, StepCpuset};
use berth_site::cpusets::{JobIdentity, Site, SiteCpusets, StaticSet};
use nix::unistd::User;
use slurm_sys::views::{Credential, SpankOption};
use slurm_sys::{BatchRequest, LaunchRequest};

use crate::site::node;
use crate::site::settings::{self, Settings};
use crate::slurmd::complaints::About;
use crate::slurmd::discovery;
use crate::slurmd::site_file::SiteFile;
use crate::step::CpusetWish;
use crate::step::convert::NodeCredential;
use crate::step::cpuset_size::{self, Size};
use crate::step::own_options::{self, Own, Texts};

/// The cpuset that a step requests.
pub(crate) struct CpusetOfStep {
    /// The request, for slurmstepd.
    pub wish: CpusetWish,
    cpuset: StepCpuset,
    /// The job's allocation on this node.
    job_allocation: Allocation,
}

/// The cpuset of a step.
///
/// # Errors
/// A request that cannot be read, as a text for the user.
pub(crate) fn of_step(
    launch: &LaunchRequest<'_>,
    (options, texts): (&[SpankOption], &Texts),
    settings: &Settings,
    index: u32,
) -> Result<Option<CpusetOfStep>, String> {
    let size = own_options::cpuset_size_of_step(options);
    let words = words(texts.get(Own::Cpuset))?;
    if !settings.binding {
        return Ok(None);
    }
    if words.is_none() && !may_have_default() {
        return Ok(None);
    }
    let cred = launch.cred().map_err(|why| why.to_string())?;
    let requested = RequestedCpuset { words, size };
    let here = NodeCredential { cred: &cred, index };
    cpuset_of(requested, here, launch.is_debugged())
}

/// The cpuset of a batch script, and a note to a user whose request this node does not honour.
///
/// # Errors
/// As [`of_step`].
pub(crate) fn of_batch(
    batch: &BatchRequest<'_>,
    settings: &Settings,
    node_name: &str,
) -> Result<(Option<CpusetOfStep>, Option<String>), String> {
    let text = own_options::of_batch(Own::Cpuset, |name| {
        batch.env().beginning(name, CPUSET_BYTES + 1)
    });
    if !settings.binding {
        return Ok((None, text.as_deref().map(off_note)));
    }
    let size =
        own_options::cpuset_size_of_batch(|name| batch.env().beginning(name, cpuset_size::MOST));
    let words = words(text.as_deref())?;
    if words.is_none() && !may_have_default() {
        return Ok((None, None));
    }
    let cred = batch.cred().map_err(|why| why.to_string())?;
    let index = cred.node_index(node_name).map_err(|why| why.to_string())?;
    let requested = RequestedCpuset { words, size };
    let here = NodeCredential { cred: &cred, index };
    Ok((cpuset_of(requested, here, false)?, None))
}

/// The words of the option's text; it can be read as a request.
fn words(text: Option<&str>) -> Result<Option<Words>, String> {
    let Some(text) = text else {
        return Ok(None);
    };
    let words: Words = text.parse().map_err(wrong)?;
    CpusetRequest::of(&words).map_err(wrong)?;
    Ok(Some(words))
}

fn wrong(why: impl ToString) -> String {
    shown(USER_TEXT, why.to_string())
}

fn off_note(text: &str) -> String {
    let text = shown(USER_TEXT / 4, text);
    format!(
        "--cpuset={text} is not honoured on this node (binding=off); leave it out, or ask the administrator"
    )
}

/// Whether a step without a `--cpuset` may get one by its partition.
fn may_have_default() -> bool {
    FILE.in_force()
        .is_some_and(|site| !site.partitions().is_empty())
}

/// A user's request.
struct RequestedCpuset {
    /// Its words; none if the user requests nothing.
    words: Option<Words>,
    /// The CPUs that the submitting command has worked out.
    size: Size,
}

/// The cpuset of a step whose job requests one, or whose partition does.
fn cpuset_of(
    requested: RequestedCpuset,
    here: NodeCredential<'_>,
    is_debugged: bool,
) -> Result<Option<CpusetOfStep>, String> {
    let cred = here.cred;
    let site = FILE.in_force();
    let Some(held) = effective_request(requested, cred, site.as_deref())? else {
        return Ok(None);
    };
    let Some(cpuset) = step_cpuset(&held.request, cred, held.is_count_written)? else {
        return Ok(None);
    };
    let job_allocation = here.job_allocation().map_err(|why| why.to_string())?;
    Ok(Some(CpusetOfStep {
        wish: CpusetWish {
            request: held.request,
            of_job: held.of_job,
            is_debugged,
            nodes: cred.job_nhosts(),
        },
        cpuset,
        job_allocation,
    }))
}

/// The cpuset that a request leads to; none for `CPUSET_TYPE=none`.
fn step_cpuset(
    request: &CpusetRequest,
    cred: &Credential<'_>,
    is_count_written: bool,
) -> Result<Option<StepCpuset>, String> {
    Ok(match request {
        CpusetRequest::None => None,
        CpusetRequest::Dynamic(requested) => Some(StepCpuset::Choose(Choice {
            requested: requested.clone(),
            job_nodes: cred.job_nhosts(),
            is_count_typed: is_count_written,
        })),
        CpusetRequest::Static(named) => {
            let (account, partition) = (cred.job_account(), cred.job_partition());
            let identity = JobIdentity {
                uid: cred.uid(),
                account: account.as_deref().unwrap_or_default(),
                partition: partition.as_deref().unwrap_or_default(),
            };
            let site = FILE.in_force().unwrap_or_default();
            let set = site.set(named.name.as_str(), identity);
            let set = set.map_err(|why| shown(USER_TEXT, format!("--cpuset: {why}")))?;
            Some(StepCpuset::Given(ExistingCpuset {
                requested: request.clone(),
                cpus: set.cpus.clone(),
                mems: set.mems.clone(),
                attributes: set.options,
            }))
        }
    })
}

/// The request that holds.
struct EffectiveRequest {
    request: CpusetRequest,
    /// Whether it is the whole job's.
    of_job: bool,
    /// Whether the user or the site wrote its number of CPUs, and the submitting command did not work it out.
    is_count_written: bool,
}

/// The request that holds. Where the partition alone asks, it is for the CPUs that the job asks for.
fn effective_request(
    RequestedCpuset { words, size }: RequestedCpuset,
    cred: &Credential<'_>,
    site: Option<&SiteCpusets>,
) -> Result<Option<EffectiveRequest>, String> {
    let has_count = |words: &Words| words.get(Keyword::Ncpus).is_some();
    let is_typed = words.as_ref().is_some_and(has_count);
    // The submitting command has worked out the number where nobody wrote one.
    let counted = |words: Words| match size.cpus {
        Some(cpus) => words.with_ncpus(cpus),
        None => words,
    };
    let own = words.map(counted);
    let Some(site) = site.filter(|site| !site.partitions().is_empty()) else {
        let held = |own| {
            Ok(EffectiveRequest {
                request: CpusetRequest::of(&own).map_err(wrong)?,
                of_job: size.of_job,
                is_count_written: is_typed,
            })
        };
        return own.map(held).transpose();
    };
    let partition = cred.job_partition().unwrap_or_default();
    let is_asked = own.is_some();
    let own = own.unwrap_or_default();
    let (mut words, line) = site.merged(&partition, &own);
    if !is_asked && words == Words::default() {
        return Ok(None);
    }
    let is_count_written = is_typed || words.get(Keyword::Ncpus) != own.get(Keyword::Ncpus);
    if !is_asked {
        words = counted(words);
    }
    let read = CpusetRequest::of(&words).map_err(|why| match line {
        Some(line) => format!(
            "{why}; the partition {partition} adds words to --cpuset ({}, line {line})",
            site.path.display()
        ),
        None => why.to_string(),
    });
    Ok(Some(EffectiveRequest {
        request: read.map_err(wrong)?,
        of_job: size.of_job,
        is_count_written,
    }))
}

impl CpusetOfStep {
    /// Puts it into the request, to be chosen.
    pub(crate) fn put(&self, request: &mut Request) {
        request.cpuset = Some(self.cpuset.clone());
        request.job_allocation = Some(self.job_allocation.clone());
    }
}

/// The file that `cpusets=` names.
pub(crate) static FILE: SiteFile<SiteCpusets> = SiteFile::new(
    "cpusets",
    About::Cpusets,
    LastGoodConfig::Cpusets,
    "this node has no static cpusets, and partitions add no words to a --cpuset",
);

/// Reads the file and puts it in force. It may take long, because the names of its users can lie on another machine too.
pub(crate) fn read_site_file(node_name: &str) {
    let site = Site {
        is_here: &|list| node::is_listed(Some(node_name), list),
        uid: &|name| {
            let user = User::from_name(name).ok().flatten()?;
            Some(user.uid.as_raw())
        },
    };
    let parse = |path: &Path, text: &[u8], _| site_file::cpusets_of(path, text, &site);
    let named = settings::current();
    FILE.read(named.cpusets.as_deref(), node_name, parse, doubts);
}

/// Warnings to the administrator about a file that is in force: users, CPUs and NUMA nodes that this node does not have.
fn doubts(sets: &SiteCpusets) -> Vec<String> {
    let path = sets.path.display();
    log::info!(
        "{path}: {} of this node, words of {}",
        counted(sets.here().count(), "static cpuset"),
        counted(sets.partitions().len(), "partition"),
    );
    let users = sets.doubts.iter().map(|doubt| format!("{path}, {doubt}"));
    let machine = discovery::machine();
    let of_set = |set: &StaticSet| {
        let machine = machine.as_ref()?;
        let cpus = set.cpus.difference(machine.cpus());
        let mems = set.mems.as_ref();
        let mems = mems.map(|mems| mems.difference(&machine.numa_nodes()));
        let missing = match mems.filter(|mems| !mems.is_empty()) {
            _ if !cpus.is_empty() => format!("CPUs {cpus}"),
            Some(mems) => format!("NUMA nodes {mems}"),
            None => return None,
        };
        Some(format!(
            "{path}, line {}: this node has no {missing}, so the cpuset {} is smaller here",
            set.line, set.name
        ))
    };
    let doubts: Vec<_> = users.chain(sets.here().filter_map(of_set)).collect();
    doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
    doubts
}
