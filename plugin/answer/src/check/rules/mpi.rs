//! mpirun in a job that has several CPUs per task. Only Open MPI binds ranks without looking at
//! `-c`, so it matters whose mpirun it is.

use crate::check::case::Case;
use crate::check::finding::{Edit, Finding};
use crate::check::rules::openmp;

/// Options with which the user places the ranks.
const PLACEMENT: &[&str] = &[
    "map-by",
    "bind-to",
    "rank-by",
    "cpus-per-rank",
    "cpus-per-proc",
    "rankfile",
    "rf",
    "cpu-set",
];

/// What only Open MPI has.
const OPEN: &[&str] = &["openmpi", "open-mpi", "ompi", "hpcx", "prte"];

/// What only other libraries have.
const OTHER: &[&str] = &[
    "impi",
    "intel-mpi",
    "intelmpi",
    "intel_mpi",
    "i_mpi",
    "mpich",
    "mvapich",
    "psmpi",
    "parastation",
    "mpiexec.hydra",
    "oneapi",
    "platform_mpi",
    "intel",
];

/// Options of Open MPI's mpirun, and of others'.
const OPEN_OPTIONS: &[&str] = &[
    "--mca",
    "-mca",
    "--prtemca",
    "-x",
    "--report-bindings",
    "--oversubscribe",
    "--hostfile",
];
const OTHER_OPTIONS: &[&str] = &[
    "-ppn",
    "-perhost",
    "-genv",
    "-genvall",
    "-env",
    "-bootstrap",
    "-print-rank-map",
];

/// Whose mpirun it is, as far as the script shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Open,
    Other,
    Unknown,
}

/// The finding about an mpirun.
pub(in crate::check) fn check(case: &Case<'_>) -> Option<Finding> {
    let words = &case.command.words;
    let is_placed = words.iter().any(|word| {
        let name = word
            .text
            .trim_start_matches('-')
            .split('=')
            .next()
            .unwrap_or_default();
        word.text.starts_with('-') && PLACEMENT.contains(&name)
    });
    let threads = openmp::threads(case).flatten().unwrap_or(1);
    let cpus = case.cpus_per_task().unwrap_or(1).max(threads);
    let is_open = library(case);
    if cpus < 2 || is_placed || is_open == Library::Other || case.script.has_components {
        return None;
    }
    let found = format!("mpirun with {cpus} CPUs per rank and no --map-by");
    let finding = match is_open {
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
    Some(finding.or(Some(vec![Edit {
        range: end..end,
        text: format!(" --map-by slot:PE={cpus}"),
    }])))
}

fn library(case: &Case<'_>) -> Library {
    let of_command = |options: &[&str]| {
        case.command
            .words
            .iter()
            .any(|word| options.contains(&word.text.as_str()))
    };
    let loads = case.script.all.iter().filter(|words| {
        let first = words.first().map(String::as_str).unwrap_or_default();
        [
            "module",
            "ml",
            "source",
            ".",
            "export",
            "spack",
            "setenv",
            "mpiexec.hydra",
            "conda",
        ]
        .contains(&first)
    });
    let text = loads
        .flatten()
        .map(|word| word.to_ascii_lowercase())
        .collect::<Vec<_>>()
        .join(" ");
    let has = |names: &[&str]| names.iter().any(|name| text.contains(name));
    let is_hydra = case.command.name.text.ends_with("hydra");
    // The program's own name says it, whatever modules are loaded.
    if is_hydra {
        Library::Other
    } else if of_command(OPEN_OPTIONS) || has(OPEN) {
        Library::Open
    } else if of_command(OTHER_OPTIONS) || has(OTHER) {
        Library::Other
    } else {
        Library::Unknown
    }
}
