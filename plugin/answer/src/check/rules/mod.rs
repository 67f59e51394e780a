//! The traps. Each rule is a function that gives what was found, the reason, and changes that may
//! repair it. A line without a trap must give no finding.

mod at_once;
mod launchers;
pub(super) mod openmp;
pub(super) mod options;
mod own_options;
mod steps;
mod values;

use super::case::Case;
use super::finding::Finding;

pub(super) use launchers::{in_tasks, mpirun};

/// A rule.
type Rule = fn(&Case<'_>) -> Option<Finding>;

/// Errors in the options as such, for srun, sbatch and salloc. The command is refused then, and
/// the other rules are not asked.
pub(super) fn refused(case: &Case<'_>) -> Vec<Finding> {
    let all = options::misspelt(case);
    if !all.is_empty() {
        return all;
    }
    let first = OPTIONS.iter().find_map(|rule| rule(case));
    first.into_iter().collect()
}

const OPTIONS: &[Rule] = &[
    options::single_dash,
    options::other_dash,
    values::wrong,
    options::not_an_option,
];

/// Findings by the submitting command's own functions.
pub(super) const AT_SUBMISSION: &[&str] = &[
    "binding-per-task",
    "binding-never-fits",
    "mapping-never-fits",
    "cpuset-never-fits",
    "cpuset-and-job",
];

/// Rules for a job: sbatch, salloc, and the directives of a script.
pub(super) const JOB: &[Rule] = &[
    own_options::binding_never_fits,
    own_options::mapping_never_fits,
    own_options::contradicted,
    own_options::cpuset_never_fits,
    own_options::cpuset_has_little_choice,
    steps::tasks_and_nodes,
    steps::late_directives,
    launchers::none,
];

/// Rules for an srun.
pub(super) const SRUN: &[Rule] = &[
    steps::unset_variable,
    steps::cpus_per_task_not_taken_over,
    values::hint_dropped,
    values::on_several_nodes,
    values::on_part_of_a_node,
    values::rank,
    own_options::binding_never_fits,
    own_options::start_on_shared_nodes,
    own_options::mapping_never_fits,
    own_options::contradicted,
    own_options::gives_way,
    own_options::cpuset_never_fits,
    own_options::cpuset_has_little_choice,
    own_options::cpuset_other_than_job,
    steps::tasks_and_nodes,
    steps::tasks_per_socket,
    steps::more_than_the_job,
    steps::input_of_loop,
    at_once::beside_each_other,
    at_once::memory_of_steps,
    at_once::no_wait,
    steps::not_exported,
    openmp::without_places,
    openmp::more_threads_than_cpus,
    launchers::in_srun,
    launchers::affinity_in_srun,
    launchers::torchrun,
];
