//! `--cpuset` in the submitting command: how many CPUs it means on each node, whose it is, and what can
//! never be served. Slurm tells the nodes only the option's text, so the rest travels in an option of berth's
//! own ([`crate::message::cpuset_size`]).

use std::sync::OnceLock;

use berth_placement::CpusetRequest;
use berth_srun::submission::Words;
use berth_srun::submission::by_default;

use crate::message::cpuset_size::{OPTION, Size};

/// What an outer command requested, before this command's own words take its place.
static OUTER: OnceLock<Option<String>> = OnceLock::new();

fn outer() -> Option<&'static str> {
    let names = &by_default::CPUSET;
    let env = |name: &str| std::env::var(name).ok();
    let outer = OUTER.get_or_init(|| env(names.sure).or_else(|| env(names.routed)));
    outer.as_deref()
}

/// Before defaults are set: remembers the outer command's.
pub(super) fn begin() {
    let _ = outer();
}

/// Whether the command starts a step in a job that is there already.
fn is_in_job(words: &Words) -> bool {
    let is_set = |name| std::env::var_os(name).is_some();
    words.is_srun && (is_set("SLURM_JOB_ID") || is_set("SLURM_JOBID") || words.has("jobid"))
}

/// The word for the nodes beside this command's own `--cpuset`; none if an outer command has said it.
pub(super) fn size(own: &str, words: &Words) -> Option<(String, String)> {
    let is_in_job = is_in_job(words);
    if is_in_job && is_same(own) {
        return None;
    }
    let size = Size {
        of_job: !is_in_job,
        cpus: words.cpus_per_node(|name| std::env::var(name).ok()),
    };
    Some((OPTION.to_string_lossy().into_owned(), size.to_string()))
}

/// Whether the job around has the same cpuset.
fn is_same(own: &str) -> bool {
    let read = |text: &str| text.parse::<CpusetRequest>().ok();
    outer().is_some_and(|outer| read(outer) == read(own))
}

/// Whether there is one at all, from an outer command.
pub(super) fn is_inherited() -> bool {
    outer().is_some()
}

/// Why a request cannot be served, whatever the nodes are.
pub(super) fn why_not(own: &str, words: &Words) -> Option<String> {
    let other = outer().filter(|_| is_in_job(words) && !is_same(own))?;
    Some(format!(
        "--cpuset={own}: this job has the cpuset {other}, and its steps run inside it; leave --cpuset out, or \
         request another one for the job"
    ))
}
