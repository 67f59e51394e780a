//! One srun of a script with all that holds for it: its own options, the job's that it takes
//! over, the variables it reads.

use berth_placement::Host;

use super::script::{Command, Script};
use super::words::Options;

/// Options of the job that a step does not take over: since 22.05 `-c`, and what is the job's own.
const NOT_INHERITED: &[&str] = &[
    "cpus-per-task",
    "wrap",
    "array",
    "job-name",
    "output",
    "error",
];

/// Variables in which srun looks for options, where the user sets them.
const VARIABLES: &[(&str, &str)] = &[
    ("SRUN_CPUS_PER_TASK", "cpus-per-task"),
    ("SLURM_CPU_BIND", "cpu-bind"),
    ("SLURM_MEM_BIND", "mem-bind"),
    ("SLURM_DISTRIBUTION", "distribution"),
    ("SLURM_HINT", "hint"),
    ("SLURM_THREADS_PER_CORE", "threads-per-core"),
    ("SLURM_EXCLUSIVE", "exclusive"),
    ("BERTH_BINDING", "binding"),
];

/// What a rule looks at.
pub(crate) struct Case<'a> {
    pub script: &'a Script,
    pub command: &'a Command,
    /// The machine it will run on, if that is known.
    pub host: Option<&'a Host>,
    /// What holds in the end.
    pub options: Options,
}

impl<'a> Case<'a> {
    pub(crate) fn new(script: &'a Script, command: &'a Command, host: Option<&'a Host>) -> Self {
        let inherited = script
            .job
            .iter()
            .filter(|(name, _)| !NOT_INHERITED.contains(&name.as_str()));
        let mut options: Options = inherited
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (variable, name) in VARIABLES {
            if let Some(value) = command.variables.get(*variable) {
                options.insert((*name).into(), value.clone());
            }
        }
        options.extend(command.line.options.clone());
        Self {
            script,
            command,
            host,
            options,
        }
    }

    /// An option that holds.
    pub(crate) fn has(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Its value where that is a number; a variable of the shell's is none.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.has(name)?.parse().ok()
    }

    /// One of the job's own options as a number.
    pub(crate) fn job_number(&self, name: &str) -> Option<u32> {
        self.script.job.get(name)?.parse().ok()
    }

    /// `-c`, of the step or else of the job.
    pub(crate) fn cpus_per_task(&self) -> u32 {
        let own = self.number("cpus-per-task");
        own.or_else(|| self.job_number("cpus-per-task"))
            .unwrap_or(1)
    }

    /// Tasks, as far as the words say.
    pub(crate) fn tasks(&self) -> u32 {
        let nodes = self.nodes();
        let each = self.number("ntasks-per-node").unwrap_or(1);
        self.number("ntasks").unwrap_or(nodes * each)
    }

    /// Nodes, as far as the words say: the most of a range.
    pub(crate) fn nodes(&self) -> u32 {
        let text = self.has("nodes").unwrap_or("1");
        let most = text.rsplit('-').next().unwrap_or(text);
        most.parse().unwrap_or(1)
    }

    /// Whether the nodes are the job's alone.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.script.job.contains_key("exclusive")
            || (!self.script.is_batch && self.options.contains_key("exclusive"))
    }

    /// `--cpu-bind` as words.
    pub(crate) fn cpu_bind(&self) -> String {
        self.has("cpu-bind")
            .unwrap_or_default()
            .to_ascii_lowercase()
    }

    /// Whether it is a list of the user's.
    pub(crate) fn is_list(&self) -> bool {
        let bind = self.cpu_bind();
        bind.contains("map_") || bind.contains("mask_")
    }

    /// A number of OpenMP's threads: `None` where there is no such variable, 0 where the number is
    /// the shell's to find out.
    pub(crate) fn openmp_threads(&self) -> Option<u32> {
        let text = self.command.variables.get("OMP_NUM_THREADS")?;
        Some(
            text.split(',')
                .next()
                .unwrap_or_default()
                .parse()
                .unwrap_or(0),
        )
    }

    /// The srun line with other options.
    pub(crate) fn rewritten(&self, drop: &[&str], add: &[&str]) -> String {
        let line = &self.command.line;
        format!("srun {}", line.rewritten(&self.command.words, drop, add))
    }
}
