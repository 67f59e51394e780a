//! The submitting command's own words: srun, sbatch and salloc tell a SPANK plugin nothing but
//! its option, yet a binding that can never fit should be refused before anything is queued, and
//! no record of Slurm's says that a step was started with `--overlap`.
//! In: the command's arguments, a script's `#SBATCH` lines. Out: what they say for sure; where
//! that is not enough, nothing is refused here and the node decides.
//! Source: src/common/slurm_opt.c, whose options these are.

use std::collections::HashMap;

/// Options of one letter that have an argument; sbatch's `-W` has none.
const LETTERS: &str = "AaBbcCdDeFGiJLMmnNopqrStTwWx";
/// Long options without one that people write; any other one before a bare word makes us unsure.
const BARE: [&str; 26] = [
    "contiguous",
    "disable-status",
    "exact",
    "exclusive",
    "external-launcher",
    "hold",
    "immediate",
    "interactive",
    "kill-on-bad-exit",
    "label",
    "multi-prog",
    "no-kill",
    "no-requeue",
    "overcommit",
    "overlap",
    "oversubscribe",
    "parsable",
    "preserve-env",
    "pty",
    "quiet",
    "requeue",
    "spread-job",
    "test-only",
    "unbuffered",
    "use-min-nodes",
    "verbose",
];
/// With these a job may have more cores than tasks × `-c`.
const GROWING: [&str; 14] = [
    "core-spec",
    "cpus-per-gpu",
    "exclusive",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "jobid",
    "mem-per-cpu",
    "mincpus",
    "no-allocate",
    "thread-spec",
    "tres-per-task",
];

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// srun, whose steps are of the job around it, if there is one; the others make new jobs.
    pub is_srun: bool,
    options: HashMap<String, String>,
    /// The first word that is no option: program, script or command.
    pub program: Option<String>,
    /// Another component follows (`:`), or a word could not be told from an argument.
    unsure: bool,
}

impl Words {
    /// Reads the words behind the command's name.
    pub(crate) fn read<'a>(command: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut found = Self {
            is_srun: command.starts_with("srun"),
            ..Self::default()
        };
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                if long.is_empty() {
                    found.program = words.next().map(String::from);
                    break;
                }
                let (name, value) = long.split_once('=').unwrap_or((long, ""));
                let bare = long.contains('=') || BARE.contains(&name);
                let next = words.peek().is_some_and(|next| !next.starts_with('-'));
                let value = if bare || !next {
                    value
                } else {
                    words.next().unwrap_or_default()
                };
                found.unsure |= !bare && next && !is_known(name);
                found.set(&full(name), value);
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                found.short(command, letters, &mut words);
            } else {
                found.program = Some(word.into());
                break;
            }
        }
        found.unsure |= words.any(|word| word == ":");
        found
    }

    fn short<'a>(
        &mut self,
        command: &str,
        letters: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) {
        for (at, letter) in letters.char_indices() {
            let has_argument =
                LETTERS.contains(letter) && (letter != 'W' || !command.starts_with("sbatch"));
            if !has_argument {
                self.set(&letter.to_string(), "");
                // What is attached to these is theirs.
                if matches!(letter, 'I' | 'K') {
                    return;
                }
                continue;
            }
            let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let value = match attached {
                "" => rest.next().unwrap_or_default(),
                attached => attached,
            };
            return self.set(&letter.to_string(), value);
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        let long = match name {
            "c" => "cpus-per-task",
            "G" => "gpus",
            "n" => "ntasks",
            "S" => "core-spec",
            "Z" => "no-allocate",
            other => other,
        };
        self.options.insert(long.into(), value.into());
    }

    /// The options of a script's `#SBATCH` lines, below those of the command line.
    pub(crate) fn with_script(mut self, script: &str) -> Self {
        // sbatch itself stops at the first line that is neither empty nor a comment.
        let lines = script
            .lines()
            .take_while(|line| line.is_empty() || line.starts_with('#'));
        for line in lines.filter_map(|line| line.strip_prefix("#SBATCH")) {
            let line = line.split(" #").next().unwrap_or_default();
            let words = Self::read("sbatch", line.split_whitespace());
            self.unsure |= words.unsure || line.contains("hetjob") || line.contains("packjob");
            for (name, value) in words.options {
                self.options.entry(name).or_insert(value);
            }
        }
        self
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    fn number(&self, option: &str) -> Option<Option<u32>> {
        let value = self.options.get(option)?;
        Some(value.parse().ok())
    }

    /// CPUs of each task, where the job cannot have more; `None` where that is not sure.
    /// `env` are the environment's variables, some of which are options too.
    pub(crate) fn most_cpus_per_task(&self, env: impl Fn(&str) -> Option<String>) -> Option<u32> {
        let inputs = ["SBATCH", "SALLOC", "SLURM", "SRUN"];
        let from_env = |option: &str| {
            let name = option.to_ascii_uppercase().replace('-', "_");
            inputs
                .iter()
                .any(|prefix| env(&format!("{prefix}_{name}")).is_some())
        };
        let grows = |option: &&str| self.has(option) || from_env(option);
        if self.unsure || GROWING.iter().any(grows) {
            return None;
        }
        let from_env = || {
            let names = ["SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK"];
            let found = names.iter().find_map(|name| env(name));
            found.filter(|_| self.is_srun).map(|text| text.parse().ok())
        };
        self.number("cpus-per-task")
            .or_else(from_env)
            .unwrap_or(Some(1))
    }

    /// Tasks asked for, where that is known.
    pub(crate) fn tasks(&self, env: impl Fn(&str) -> Option<String>) -> Option<u32> {
        let found = || env("SLURM_NTASKS").filter(|_| self.is_srun);
        let from_env = || found().map(|text| text.parse().ok());
        self.number("ntasks").or_else(from_env).unwrap_or(Some(1))
    }

    /// Whether words could be misread.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure
    }
}

/// Options with an argument whose value matters, or that are often written with a blank.
fn is_known(name: &str) -> bool {
    const KNOWN: [&str; 24] = [
        "account",
        "array",
        "berth-binding",
        "binding",
        "chdir",
        "constraint",
        "cpu-bind",
        "cpus-per-task",
        "dependency",
        "distribution",
        "error",
        "export",
        "hint",
        "job-name",
        "mem",
        "mpi",
        "nodelist",
        "nodes",
        "ntasks",
        "ntasks-per-node",
        "output",
        "partition",
        "time",
        "wrap",
    ];
    KNOWN.contains(&name) || GROWING.contains(&name)
}

/// An abbreviation that getopt takes for one of the options that matter here.
fn full(name: &str) -> String {
    let known = ["cpus-per-task", "exclusive", "mem-per-cpu", "overlap"];
    let meant = known.iter().chain(&GROWING).find(|known| {
        known.starts_with(name) && name.len() > 3 && !BARE.contains(&name) && !is_known(name)
    });
    meant.map_or(name, |known| *known).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Words {
        let (command, words) = line.split_once(' ').unwrap_or((line, ""));
        Words::read(command, words.split(' '))
    }

    #[test]
    fn what_a_line_says() {
        for (line, tasks, cpus, program) in [
            (
                "srun -n4 --binding=linear:4 ./a -c 9",
                Some(4),
                Some(1),
                "./a",
            ),
            (
                "srun -vn 4 -c8 --binding linear:4 ./a",
                Some(4),
                Some(8),
                "./a",
            ),
            (
                "srun --ntasks=2 --cpus-per-task 3 -- ./a",
                Some(2),
                Some(3),
                "./a",
            ),
            ("srun --cpus-per-ta=3 -lu ./a", Some(1), Some(3), "./a"),
            ("sbatch -W -c2 job.sh -c9", Some(1), Some(2), "job.sh"),
            ("srun -W 60 -c2 ./a", Some(1), Some(2), "./a"),
            ("srun -K0 -I60 -c2 ./a", Some(1), Some(2), "./a"),
            ("srun --exclusive -n4 ./a", Some(4), None, "./a"),
            ("srun --exclusive=user -n4 ./a", Some(4), None, "./a"),
            ("srun --exclu -n4 ./a", Some(4), None, "./a"),
            ("srun --mem-per-cpu 2G -n4 ./a", Some(4), None, "./a"),
            ("srun -n4 -G 2 ./a", Some(4), None, "./a"),
            ("srun -n4 -S2 ./a", Some(4), None, "./a"),
            ("srun -n4 ./a : -n2 ./b", Some(4), None, "./a"),
            ("srun --strange word -n4 ./a", Some(4), None, "./a"),
            ("srun -n4 -c x ./a", Some(4), None, "./a"),
        ] {
            let words = read(line);
            let found = (words.tasks(|_| None), words.most_cpus_per_task(|_| None));
            assert_eq!(found, (tasks, cpus), "{line}");
            assert_eq!(words.program.as_deref(), Some(program), "{line}");
        }
        assert!(read("srun --overlap -n1 ./a").has("overlap"));
        assert!(!read("srun -n1 ./a --overlap").has("overlap"));
    }

    #[test]
    fn scripts_and_the_environment_are_options_too() {
        let script = "#!/bin/sh\n#SBATCH -n 4 -c 2\n#SBATCH --time=1 # --exclusive\n\n# x\ntrue\n#SBATCH -c9\n";
        let words = read("sbatch job.sh").with_script(script);
        assert_eq!(words.tasks(|_| None), Some(4));
        assert_eq!(words.most_cpus_per_task(|_| None), Some(2));
        let words = read("sbatch -c3 job.sh").with_script(script);
        assert_eq!(words.most_cpus_per_task(|_| None), Some(3));
        let env = |known: &'static str, value: &'static str| {
            move |name: &str| (name == known).then(|| value.to_string())
        };
        let words = read("srun ./a");
        assert_eq!(
            words.most_cpus_per_task(env("SRUN_CPUS_PER_TASK", "5")),
            Some(5)
        );
        assert_eq!(words.most_cpus_per_task(env("SBATCH_EXCLUSIVE", "")), None);
        assert_eq!(words.tasks(env("SLURM_NTASKS", "7")), Some(7));
    }
}
