//! mpirun in a job that has several CPUs per task. Only Open MPI binds ranks without looking at
//! `-c`, so it matters whose mpirun it is.

use crate::check::case::Case;
use crate::check::finding::{Finding, replaced};
use crate::check::rules::openmp;
use crate::text::has_word;

/// Options with which the user places the ranks.
const PLACEMENT: &str = "map-by bind-to rank-by cpus-per-rank cpus-per-proc rankfile rf cpu-set";

/// What only Open MPI has.
const OPEN: &str = "openmpi open-mpi ompi hpcx prte";

/// What only other libraries have.
const OTHER: &str = "impi intel-mpi intelmpi intel_mpi i_mpi mpich mvapich psmpi parastation mpiexec.hydra oneapi \
                     platform_mpi intel";

/// Options of Open MPI's mpirun, and of others'.
const OPEN_OPTIONS: &str = "--mca -mca --prtemca -x --report-bindings --oversubscribe --hostfile";
const OTHER_OPTIONS: &str = "-ppn -perhost -genv -genvall -env -bootstrap -print-rank-map";

/// Commands whose words may name a library.
const LOADERS: &str = "module ml source . export spack setenv mpiexec.hydra conda";

/// Whose mpirun it is, as far as the script shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Open,
    Other,
    Unknown,
}

/// The finding about an mpirun.
pub(in crate::check) fn check(case: &Case<'_>) -> Option<Finding> {
    let words = case.command.words.iter().map(|word| word.text.as_str());
    let mut options = words.filter_map(|text| text.strip_prefix('-'));
    let is_placed = options.any(|option| {
        let name = option.trim_start_matches('-').split('=').next();
        name.is_some_and(|name| has_word(PLACEMENT, name))
    });
    let threads = openmp::threads(case).flatten().unwrap_or(1);
    let cpus = case.cpus_per_task().unwrap_or(1).max(threads);
    let library = library(case);
    if cpus < 2 || is_placed || library == Library::Other || case.script.has_components {
        return None;
    }
    let found = format!("mpirun with {cpus} CPUs per rank and no --map-by");
    let finding = match library {
        Library::Open => case.warning(
            "mpirun-one-core",
            found,
            "Open MPI does not read -c: it binds each of one or two ranks to a core, and more of them \
             to a NUMA node or socket that they share",
        ),
        _ => case.hint(
            "mpirun-one-core",
            found,
            "if this is Open MPI, it does not read -c and binds one or two ranks to a core each; \
             --map-by slot:PE=N gives each rank N cores",
        ),
    };
    let end = case.command.name.range.end;
    let option = format!(" --map-by slot:PE={cpus}");
    Some(finding.or(Some(replaced(end..end, option))))
}

fn library(case: &Case<'_>) -> Library {
    let words = &case.command.words;
    let has_one_of = |options| words.iter().any(|word| has_word(options, &word.text));
    let loads = |words: &&Vec<String>| words.first().is_some_and(|first| has_word(LOADERS, first));
    let loads = case.script.all.iter().filter(loads).flatten();
    let text = loads.map(|word| word.to_ascii_lowercase() + " ");
    let text: String = text.collect();
    let names = |names: &str| names.split(' ').any(|name| text.contains(name));
    // The program's own name says it, whatever modules are loaded.
    if case.command.name.text.ends_with("hydra") {
        Library::Other
    } else if has_one_of(OPEN_OPTIONS) || names(OPEN) {
        Library::Open
    } else if has_one_of(OTHER_OPTIONS) || names(OTHER) {
        Library::Other
    } else {
        Library::Unknown
    }
}
