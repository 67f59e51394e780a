//! A line of Open MPI's mpirun as the line of srun that places its tasks by the same rules.
//! In: the words behind mpirun. Out: srun's options. Source: the manual of mpirun of Open MPI 5, options that place tasks
//! or name them; requests.md's mapping language is PRRTE's.

use super::NoAnswer;
use super::job::base;
use crate::text::has_word;

/// The names of the program.
const NAMES: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];

/// Options that say nothing about places, by how many words each takes.
const OTHERS: [&str; 3] = [
    "report-bindings oversubscribe nooversubscribe allow-run-as-root display-map display-allocation tag-output \
     timestamp-output verbose v quiet q",
    "x H host hostfile machinefile wdir wd output output-filename timeout display personality prefix forward-signals",
    "mca gmca prtemca pmixmca",
];

/// Whether a word is its name.
pub(super) fn is_one(word: &str) -> bool {
    NAMES.contains(&base(word))
}

/// The options of an mpirun that number and place its tasks.
#[derive(Default)]
struct MpirunOptions {
    tasks: Option<String>,
    map: Option<String>,
    rank: Option<String>,
    bind: Option<String>,
    counts_threads: bool,
}

/// The options of the srun that places tasks so.
///
/// # Errors
/// [`NoAnswer`]: no number of tasks, or an option that is not known here.
pub(super) fn as_srun(words: &[String]) -> Result<Vec<String>, NoAnswer> {
    if words.iter().any(|word| word == ":") {
        return Err(NoAnswer::NotModelled(
            "an mpirun of several programs (:)".into(),
        ));
    }
    let options = read(words)?;
    let Some(tasks) = options.tasks else {
        let why = "mpirun without -n, which starts a task on each slot; give -n";
        return Err(NoAnswer::NotModelled(why.into()));
    };
    // With no word at all Open MPI maps by slot, and binds two tasks to cores, more to NUMA nodes.
    let by_default = options.bind.is_none().then(|| "slot".to_string());
    let mut map = options.map.or(by_default);
    if options.counts_threads {
        map = Some(map.unwrap_or_else(|| "core".into()) + ":hwtcpus");
    }
    let mut all = vec![format!("--ntasks={tasks}")];
    let named = [
        ("map-by", map),
        ("rank-by", options.rank),
        ("bind-to", options.bind),
    ];
    let named = named.into_iter();
    all.extend(named.filter_map(|(name, value)| Some(format!("--{name}={}", value?))));
    Ok(all)
}

fn read(words: &[String]) -> Result<MpirunOptions, NoAnswer> {
    let mut options = MpirunOptions::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        let option = word.trim_start_matches('-');
        let (name, attached) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (option, None),
        };
        let lacks = || NoAnswer::Usage(format!("mpirun: {word} needs a value"));
        let mut value = || {
            attached
                .clone()
                .or_else(|| words.next().cloned())
                .ok_or_else(lacks)
        };
        match name {
            "n" | "np" | "c" => options.tasks = Some(value()?),
            "map-by" => options.map = Some(value()?),
            "rank-by" => options.rank = Some(value()?),
            "bind-to" => options.bind = Some(value()?),
            "N" | "npernode" => options.map = Some(format!("ppr:{}:node", value()?)),
            "use-hwthread-cpus" => options.counts_threads = true,
            _ => {
                let is_in = |names: &&str| has_word(names, name);
                let Some(count) = OTHERS.iter().position(is_in) else {
                    return Err(NoAnswer::NotModelled(format!("{word} of mpirun")));
                };
                let left = count - usize::from(attached.is_some() && count > 0);
                words.by_ref().take(left).for_each(drop);
            }
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn srun(line: &str) -> Result<String, NoAnswer> {
        let words: Vec<_> = line.split(' ').map(String::from).collect();
        as_srun(&words).map(|all| all.join(" "))
    }

    #[test]
    fn options_that_place_are_srun_s_too() {
        for (line, expected) in [
            (
                "-n 8 --map-by l3cache ./a -n 9",
                "--ntasks=8 --map-by=l3cache",
            ),
            ("--np=4 --bind-to core ./a", "--ntasks=4 --bind-to=core"),
            ("-np 2 ./a", "--ntasks=2 --map-by=slot"),
            (
                "--mca btl self -x A=1 -np 4 -map-by slot:PE=2 --report-bindings ./a",
                "--ntasks=4 --map-by=slot:PE=2",
            ),
            (
                "--host=a,b -N 2 -n 4 --rank-by slot ./a",
                "--ntasks=4 --map-by=ppr:2:node --rank-by=slot",
            ),
            (
                "-n 4 --use-hwthread-cpus ./a",
                "--ntasks=4 --map-by=slot:hwtcpus",
            ),
        ] {
            assert_eq!(srun(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        for line in ["./a", "-n 2 ./a : -n 2 ./b", "-n 2 --rankfile f ./a"] {
            assert!(
                matches!(srun(line), Err(NoAnswer::NotModelled(_))),
                "{line}"
            );
        }
        assert!(matches!(srun("-n"), Err(NoAnswer::Usage(_))));
    }
}
