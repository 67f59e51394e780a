//! `--cpuset`: requests that can never be had, and those that have little to choose from, each by the
//! submitting command's own function.

use berth_placement::CpusetRequest;
use berth_srun::submission::cpuset as submission;

use crate::check::case::Case;
use crate::check::command::Kind;
use crate::check::finding::Finding;
use crate::check::rules::binding::submitted;

/// A cpuset that the job can never have.
pub(super) fn never_fits(case: &Case<'_>) -> Option<Finding> {
    let request = asked(case).filter(|_| !is_in_job(case))?;
    let why = submitted(case, |words, env| {
        submission::never_fits(&request, words, env)
    })?;
    let reason = "the submitting command refuses it";
    Some(case.warning("cpuset-never-fits", why, reason))
}

/// CPUs are to be chosen among those that slurmctld chose without a look at the request.
pub(super) fn little_choice(case: &Case<'_>) -> Option<Finding> {
    let request = asked(case).filter(|_| !case.is_whole() && !is_in_job(case))?;
    let why = submitted(case, |words, _| submission::little_choice(&request, words))?;
    let reason = "the job may have none of the CPUs that it wants";
    Some(case.hint("cpuset-little-choice", why, reason))
}

/// A cpuset of a step whose job has another one.
pub(super) fn other_than_job(case: &Case<'_>) -> Option<Finding> {
    asked(case).filter(|_| is_in_job(case))?;
    let of_job = case.job_option("cpuset").flatten()?;
    let why = submission::other_than_job(case.has("cpuset")?, of_job)?;
    let given = case.command.given("cpuset")?;
    let finding = case.warning("cpuset-and-job", why, "srun refuses it");
    Some(finding.or(case.command.remove(&case.script.text, given)))
}

/// Whether it is a step of a job that is there already.
fn is_in_job(case: &Case<'_>) -> bool {
    case.command.kind == Kind::Srun && case.script.job.is_some()
}

/// The request of the line itself, if it is known.
fn asked(case: &Case<'_>) -> Option<CpusetRequest> {
    case.command.given("cpuset")?;
    let is_known = case.knows(&["cpuset"]) && !case.script.has_components;
    case.has("cpuset").filter(|_| is_known)?.parse().ok()
}
