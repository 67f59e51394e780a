//! Grid Engine's lines in Slurm's words: `#$ -pe smp N -binding linear:N`.

use super::Finding;
use super::script::Command;

/// Parallel environments of one process with threads, by the names that sites give them.
const THREADED: &[&str] = &[
    "smp", "thread", "openmp", "omp", "shm", "shared", "make", "mp",
];

/// The same request for Slurm, if the line has one about CPUs.
pub(super) fn translated(command: &Command) -> Option<Finding> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1..)
    };
    let pe = after("-pe").and_then(|rest| Some((*rest.first()?, *rest.get(1)?)));
    let binding = after("-binding").and_then(binding);
    if pe.is_none() && binding.is_none() {
        return None;
    }
    let slots = pe.map_or("1", |(_, slots)| slots.rsplit('-').next().unwrap_or(slots));
    let mut options = match pe {
        Some((name, _)) if !is_threaded(name) => vec![format!("-n{slots}")],
        Some(_) => vec!["-n1".into(), format!("-c{slots}")],
        None => {
            let cores = binding.as_deref().and_then(amount).unwrap_or("1");
            vec!["-n1".into(), format!("-c{cores}")]
        }
    };
    if let Some(tasks) = after("-t").and_then(|rest| rest.first().copied()) {
        // 1-10:2 is Slurm's spelling too; 1:4 is a range.
        let range = match tasks.contains('-') {
            true => tasks.to_string(),
            false => tasks.replacen(':', "-", 1),
        };
        options.push(format!("--array={range}"));
    }
    options.extend(
        binding
            .as_ref()
            .map(|binding| format!("--binding={binding}")),
    );
    let options = options.join(" ");
    Some(Finding::warning(
        command,
        "grid-engine",
        format!("this is a line of Grid Engine: {}", command.words.join(" ")),
        "Slurm counts processes (-n) and CPUs of each (-c) where Grid Engine counts slots",
        format!("#SBATCH {options}\nsrun {options} ./program"),
    ))
}

/// The value of `-binding`: a strategy, perhaps after an instance.
fn binding(words: &[&str]) -> Option<String> {
    let first = *words.first()?;
    match first {
        "set" => words.get(1).map(|strategy| (*strategy).into()),
        "env" | "pe" => words.get(1).map(|strategy| format!("{first}:{strategy}")),
        strategy => Some(strategy.into()),
    }
}

fn amount(binding: &str) -> Option<&str> {
    let mut parts = binding
        .split(':')
        .skip_while(|part| !["linear", "striding"].contains(part));
    parts.nth(1)
}

fn is_threaded(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.contains("mpi") && THREADED.iter().any(|known| name.contains(known))
}
