//! Launchers of tasks: programs under srun that start or bind tasks themselves, an mpirun in place of srun, and scripts that
//! start none.

use berth_placement::counted;

use crate::check::case::Case;
use crate::check::command::{Kind, without};
use crate::check::finding::{Finding, Repair, replaced};
use crate::check::rules::openmp;
use crate::check::script::is_launcher;
use crate::lines::base;
use crate::shell::Word;
use crate::text::has_word;

/// The program that srun starts, behind `env` and assignments.
fn program<'a>(case: &Case<'a>) -> Option<(&'a Word, &'a [Word])> {
    let mut words = case.command.program();
    loop {
        let (first, rest) = words.split_first()?;
        let is_before =
            ["env", "time", "exec"].contains(&base(&first.text)) || first.text.contains('=');
        if !is_before {
            return Some((first, rest));
        }
        words = rest;
    }
}

/// srun or mpirun inside of srun.
pub(super) fn in_srun(case: &Case<'_>) -> Option<Finding> {
    let (word, rest) = program(case)?;
    let name = base(&word.text);
    let (rule, is_srun) = match name {
        "srun" => ("srun-in-srun", true),
        name if is_launcher(name) => ("nested-launcher", false),
        _ => return None,
    };
    let found = match case.tasks() {
        Some(1) => format!("srun starts {name}, which starts tasks of its own inside one task"),
        Some(tasks) => {
            format!("srun starts {name} {tasks} times, and each starts tasks of its own")
        }
        None => format!("srun starts {name} in every task, and each starts tasks of its own"),
    };
    let finding = case.warning(
        rule,
        found,
        "the processes that it starts get the mask of its own task, which is often one core",
    );
    let outer = case.command.name.range.start..word.range.start;
    let inner = |program: &Word| word.range.start..program.range.start;
    // Words of one srun go: of the inner one if it has no options, else of the outer one.
    let range = match is_srun {
        true => rest
            .first()
            .filter(|next| !is_option(next))
            .map(inner)
            .or(Some(outer)),
        false if !is_number_known(case, rest) => None,
        // In its job mpirun starts the tasks. Elsewhere it would start them where the line is typed.
        false if case.script.job.is_some() => Some(outer),
        false => program_alone(rest).map(inner),
    };
    Some(finding.or(range.and_then(|range| only_words(case, range))))
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with('-')
}

/// The number of tasks that two words of mpirun give.
fn number_of_tasks(words: &[Word]) -> Option<u32> {
    let number = words.get(1)?.text.parse().ok();
    number.filter(|_| has_word("-n -np --n --np -c", &words[0].text))
}

/// Whether srun and the mpirun that it starts agree on the number of tasks, or only one of them has more than one. `words`
/// stand behind mpirun.
fn is_number_known(case: &Case<'_>, words: &[Word]) -> bool {
    let mut pairs = words.windows(2);
    let has_options = words.first().is_some_and(is_option);
    let own = pairs.find_map(number_of_tasks).filter(|_| has_options);
    let tasks = case.tasks();
    let in_job = case.script.job.is_some();
    own.is_none() || own == tasks || in_job && tasks == Some(1)
}

/// The program behind an mpirun that has no option but the number of tasks.
fn program_alone(words: &[Word]) -> Option<&Word> {
    let own = number_of_tasks(words).map_or(0, |_| 2);
    words.get(own).filter(|word| !is_option(word))
}

/// srun or mpirun in a here-document that srun's shell runs.
pub(in crate::check) fn in_tasks(case: &Case<'_>) -> Finding {
    let name = base(&case.command.name.text);
    let rule = match case.command.kind {
        Kind::Srun => "srun-in-srun",
        _ => "nested-launcher",
    };
    case.warning(
        rule,
        format!("{name} in a here-document that srun's shell runs in every task"),
        "the processes that it starts get the mask of its own task, which is often one core",
    )
}

/// torchrun starts the workers of its node itself.
pub(super) fn torchrun(case: &Case<'_>) -> Option<Finding> {
    let (word, rest) = program(case)?;
    let modules = ["torch.distributed.run", "torch.distributed.launch"];
    let is_module = |pair: &[Word]| pair[0].text == "-m" && modules.contains(&&*pair[1].text);
    let is_python = base(&word.text).starts_with("python") && rest.windows(2).any(is_module);
    if base(&word.text) != "torchrun" && !is_python {
        return None;
    }
    let (tasks, nodes) = (case.tasks()?, case.nodes()?);
    let workers = rest.iter().enumerate().find_map(|(at, word)| {
        let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let is_it = name.replace('_', "-") == "--nproc-per-node";
        let value = Some(value).filter(|value| !value.is_empty());
        is_it.then(|| value.or(Some(&rest.get(at + 1)?.text)).map(String::from))?
    });
    // Without that option it starts one worker.
    let is_single = workers.is_none_or(|count| count == "1");
    if tasks <= nodes || is_single {
        return None;
    }
    let finding = case.warning(
        "nested-launcher",
        format!("srun starts torchrun {tasks} times on {}", counted(nodes, "node")),
        "torchrun starts all workers of a node itself, so one task for each node is enough; their CPUs \
         are those of that task (-c)",
    );
    let each = tasks
        .checked_div(nodes)?
        .checked_mul(case.cpus_per_task()?)?;
    let settings = [
        format!("-n{nodes}"),
        "--ntasks-per-node=1".into(),
        format!("-c{each}"),
    ];
    Some(finding.or(case.set(&settings)))
}

/// Takes a range of words away, if nothing but words and blanks stands there.
fn only_words(case: &Case<'_>, range: std::ops::Range<usize>) -> Option<Repair> {
    let removed = case.script.text.get(range.clone())?;
    let mut left = removed.to_vec();
    let words = std::iter::once(&case.command.name).chain(&case.command.words);
    for word in words.filter(|word| range.contains(&word.range.start)) {
        (word.is_plain && !word.is_computed).then_some(())?;
        let place = word.range.start - range.start..word.range.end - range.start;
        left.get_mut(place)?.fill(b' ');
    }
    let is_blank = left.iter().all(|byte| b" \t".contains(byte));
    // bash takes a word such as `$={dir:-/tmp}` literally. Its author probably meant a variable, so it stays.
    let is_simple = !removed.iter().any(|byte| b"${}`*?[]~".contains(byte));
    (is_simple && is_blank).then(|| replaced(range, ""))
}

/// `taskset` and `numactl`, which give every task the same CPUs.
pub(super) fn affinity_in_srun(case: &Case<'_>) -> Option<Finding> {
    let (word, rest) = program(case)?;
    let own = match base(&word.text) {
        "taskset" => taskset(rest)?,
        "numactl" => numactl(rest)?,
        _ => return None,
    };
    // A value that depends on the task's own number differs from task to task.
    let is_list = |letter: char| letter.is_ascii_hexdigit() || ",-:xX".contains(letter);
    let text = own.list.text.as_str();
    let value = text.starts_with("--").then(|| text.split_once('='));
    let list = value.flatten().map_or(text, |(_, value)| value);
    let list = list.trim_start_matches(['-', 'C', 'N']);
    if own.list.is_computed || list.is_empty() || !list.chars().all(is_list) {
        return None;
    }
    let finding = case.warning(
        "affinity-in-srun",
        format!("srun starts {} with the CPUs {}", base(&word.text), own.list.text),
        "every task gets the same CPUs by number, over what srun has given it; CPUs that the job does \
         not have are refused",
    );
    let gone = own.words.iter().map(|at| without(&case.script.text, at));
    let mut edits: Option<Vec<_>> = gone.collect();
    if own.is_all {
        let name = without(&case.script.text, word);
        edits = edits.zip(name).map(|(mut edits, name)| {
            edits.push(name);
            edits
        });
    }
    Some(finding.or(edits))
}

/// The words of a program that choose CPUs.
struct Own<'a> {
    list: &'a Word,
    words: Vec<&'a Word>,
    /// Whether the program has nothing else to do.
    is_all: bool,
}

/// `taskset [-c] LIST PROGRAM`; with `-p` it looks at a process.
fn taskset(words: &[Word]) -> Option<Own<'_>> {
    let options = words
        .iter()
        .take_while(|word| word.text.starts_with('-'))
        .count();
    let asks =
        |word: &Word| word.text.contains('p') || word.text.contains('h') || word.text.contains('V');
    if words.get(..options)?.iter().any(asks) {
        return None;
    }
    let list = words.get(options)?;
    words.get(options + 1)?;
    Some(Own {
        list,
        words: words.get(..=options)?.iter().collect(),
        is_all: true,
    })
}

/// numactl's options that have a value.
const VALUES: &str = "-C -N -m -i -p -P -w -c --physcpubind --cpunodebind --cpubind --membind --interleave --preferred \
                      --preferred-many --weighted-interleave";

/// numactl's options for CPUs; those for memory stay.
fn numactl(words: &[Word]) -> Option<Own<'_>> {
    let mut own = Own {
        list: words.first()?,
        words: Vec::new(),
        is_all: true,
    };
    let mut at = 0;
    while let Some(word) = words
        .get(at)
        .filter(|word| word.text.starts_with('-') && word.text != "--")
    {
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        let own_words = if value.is_none() && has_word(VALUES, name) {
            2
        } else {
            1
        };
        let is_cpus = ["--physcpubind", "--cpunodebind", "--cpubind"].contains(&name)
            || name.starts_with("-C")
            || name.starts_with("-N");
        match is_cpus {
            true => {
                own.list = words.get(at + own_words - 1)?;
                own.words.extend(words.get(at..at + own_words)?);
            }
            false => own.is_all = false,
        }
        at += own_words;
    }
    let end = words.get(at)?;
    if own.is_all && end.text == "--" {
        own.words.push(end);
    }
    (!own.words.is_empty()).then_some(own)
}

/// A script of several tasks in which nothing starts them.
pub(super) fn none(case: &Case<'_>) -> Option<Finding> {
    let tasks = case.tasks().filter(|tasks| *tasks > 1)?;
    let mut programs = case.script.all.iter().filter_map(|words| words.first());
    let own = programs.find(|word| word.starts_with("./"))?;
    (case.is_script() && !case.script.launches()).then(|| {
        case.hint(
            "no-launcher",
            format!("the job has {tasks} tasks, and the script starts {own} once"),
            "sbatch runs the script itself on the first node only; srun before the program starts it \
             in every task",
        )
    })
}

/// Options with which the user places the ranks.
const PLACEMENT: &str = "map-by bind-to rank-by cpus-per-rank cpus-per-proc rankfile rf cpu-set";

/// Words in names of modules and paths that only Open MPI has.
const OPEN: &str = "openmpi open-mpi ompi hpcx prte";

/// Words in names of modules and paths that only other MPI libraries have.
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

/// An mpirun in a job that has several CPUs per task. Only Open MPI binds ranks without looking at `-c`, so it matters
/// whose mpirun it is.
pub(in crate::check) fn mpirun(case: &Case<'_>) -> Option<Finding> {
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
    let option = format!(" --map-by slot:PE={}", cores(case, cpus));
    Some(finding.or(Some(replaced(end..end, option))))
}

/// The cores that have so many CPUs of Slurm's; as many where the machine is not known.
fn cores(case: &Case<'_>, cpus: u32) -> u32 {
    let place = case.around.place.as_ref();
    let of_core = place.map_or(1, |place| place.node.shape().threads.max(1));
    let limit = case
        .request
        .as_ref()
        .ok()
        .and_then(|one| one.threads_per_core);
    cpus.div_ceil(limit.unwrap_or(of_core).clamp(1, of_core))
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
