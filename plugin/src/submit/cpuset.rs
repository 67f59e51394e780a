//! `--cpuset` in the submitting command: how many CPUs it means on each node, whose it is, and what can never be
//! served. Slurm tells the nodes only the option's text, so the rest travels in an option of berth's own
//! ([`crate::step::cpuset_size`]). The job's partition in slurm.conf says whether the job may get more cores than it
//! requests; the file is read only where a request would be refused, and what scontrol or a job_submit plugin changes
//! is not in it.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use berth_host::script_file;
use berth_placement::CpusetRequest;
use berth_srun::conf::Config;
use berth_srun::options::Own;
use berth_srun::submission::{Words, cpuset};
use slurm_sys::SlurmConf;

use crate::site::standing;
use crate::step::cpuset_size::{OPTION, Size};
use crate::submit::env;

/// An outer command's request, before this command's own words take its place.
static OUTER: OnceLock<Option<String>> = OnceLock::new();

fn outer_request() -> Option<&'static str> {
    let outer =
        OUTER.get_or_init(|| env(Own::Cpuset.routed_sure).or_else(|| env(Own::Cpuset.routed)));
    outer.as_deref()
}

/// Before defaults are set: remembers the outer command's.
pub(super) fn remember_outer() {
    let _ = outer_request();
}

/// Whether the command starts a step in a job that is there already.
fn is_in_job(words: &Words) -> bool {
    let is_set = |name| std::env::var_os(name).is_some();
    words.is_srun && (is_set("SLURM_JOB_ID") || is_set("SLURM_JOBID") || words.has("jobid"))
}

/// The word for the nodes beside this command's own `--cpuset`, or beside the one that a partition may have for its
/// jobs; none if an outer command has said it.
pub(super) fn size_word(own: Option<&str>, words: &Words) -> Option<(String, String)> {
    let is_in_job = is_in_job(words);
    if is_in_job && own.is_none_or(is_same_as_job) {
        return None;
    }
    let size = Size {
        of_job: !is_in_job,
        cpus: cpuset::ncpus_of(words, env),
    };
    Some((OPTION.to_string_lossy().into_owned(), size.to_string()))
}

/// Whether the job around has the same cpuset.
fn is_same_as_job(own: &str) -> bool {
    outer_request().is_some_and(|outer| cpuset::is_same(own, outer))
}

/// Whether the job of a request has to be asked for with one node.
pub(super) fn needs_one_node(own: &str, words: &Words) -> bool {
    let request = own.parse().ok().filter(|_| !is_in_job(words));
    request.is_some_and(|request| cpuset::needs_one_node(&request, words, env))
}

/// Whether the cpuset of the job around may be a part of the job's CPUs. `size` is the variable of the outer command's word.
pub(super) fn is_part_of_job(words: &Words, size: &str) -> bool {
    let request = outer_request().and_then(|outer| outer.parse().ok());
    let request = request.filter(|_| is_in_job(words));
    request.is_some_and(|request| {
        let counted = Size::of(env(size).as_deref()).cpus;
        cpuset::is_part_of_job(&request, counted, env)
    })
}

/// Whether there is one at all, from an outer command.
pub(super) fn is_inherited() -> bool {
    outer_request().is_some()
}

/// The note on a request that has little to choose from.
pub(super) fn note_on_choice(own: &str, words: &Words) -> Option<String> {
    let request = own.parse().ok().filter(|_| !is_in_job(words))?;
    cpuset::little_choice(&request, words)
}

/// Why a request cannot be served, whatever the nodes are.
pub(super) fn refusal(own: &str, words: &Words) -> Option<String> {
    let is_in_job = is_in_job(words);
    let request: CpusetRequest = own.parse().ok()?;
    if is_in_job {
        return cpuset::other_than_job(own, outer_request()?);
    }
    cpuset::never_fits(&request, words, env)
}

/// Ten thousand nodes have less.
const MOST: u64 = 64 << 20;

/// The reason for a refusal, if it holds whatever the job's partition gives. A file that cannot be read may say
/// anything.
pub(super) fn certain_refusal(
    words: &Words,
    ask: impl Fn(&Words) -> Option<String>,
) -> Option<String> {
    let why = ask(words)?;
    let config = slurm_conf_path().and_then(|path| read_slurm_conf(&path));
    match config.is_some_and(|config| !words.may_get_more(&config, super::env)) {
        true => Some(why),
        false => ask(&words.clone().where_jobs_may_get_more()),
    }
}

/// The slurm.conf of this process. Slurm names it in a variable, unless it got the file from slurmctld.
/// Source: `slurm_conf_init`.
fn slurm_conf_path() -> Option<PathBuf> {
    let of_slurmctld = || {
        let slurm = standing::unjudged()?;
        SlurmConf::path_beside(c"slurm.conf", slurm.symbols).map(PathBuf::from)
    };
    let named = env::var_os("SLURM_CONF").map(PathBuf::from);
    named.or_else(of_slurmctld)
}

fn read_slurm_conf(path: &Path) -> Option<Config> {
    let folder = path.parent()?;
    let text = script_file::text(path, MOST).ok()?;
    let mut included = |name: &str| script_file::text(&folder.join(name), MOST);
    Config::read(&path.to_string_lossy(), &text, &mut included).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_with_its_included_files() {
        let folder = env::temp_dir().join(format!("berth-partition.{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("slurm.conf");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        assert!(read_slurm_conf(&path).is_none(), "there is none");
        write(
            "slurm.conf",
            "SelectType=select/cons_tres\nInclude parts.conf\n",
        );
        assert!(read_slurm_conf(&path).is_none(), "a part is missing");
        write(
            "parts.conf",
            "NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 OverSubscribe=EXCLUSIVE Default=YES\n\
             PartitionName=q Nodes=n1\n",
        );
        let found = read_slurm_conf(&path).unwrap();
        for (partition, more) in [("p", true), ("q", false)] {
            let words = ["-n4", "-p", partition, "a"];
            let words = Words::read("srun", words, berth_srun::Release::NEWEST);
            assert_eq!(words.may_get_more(&found, |_| None), more, "{partition}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
