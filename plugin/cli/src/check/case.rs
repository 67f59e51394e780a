//! One srun of a script with everything that applies to it: its own options, the job's options that
//! it takes over, and the variables that it reads.

use berth_placement::Node;
use berth_srun::Release;
use berth_srun::options::variables;
use berth_srun::reading::{Asked, Refused, Setting, read};

use super::script::{Command, Script};
use super::words::{self, Options};

/// Options of the job that a step does not take over: in 22.05 and 23.02 `-c`, and what is the job's
/// own.
const NOT_INHERITED: &[&str] = &[
    "cpus-per-task",
    "wrap",
    "array",
    "job-name",
    "output",
    "error",
];

/// The input of a rule.
pub(crate) struct Case<'a> {
    pub script: &'a Script,
    pub command: &'a Command,
    /// The machine it will run on, if that is known.
    pub host: Option<&'a Node>,
    /// The release of srun that it is for, if that is known.
    pub release: Option<Release>,
    /// The options that count in the end.
    pub options: Options,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        script: &'a Script,
        command: &'a Command,
        (host, release): (Option<&'a Node>, Option<Release>),
    ) -> Self {
        let mut case = Self {
            script,
            command,
            host,
            release,
            options: Options::new(),
        };
        let outer = case.outer();
        let pair = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
        case.options.extend(outer.into_iter().map(pair));
        case.options.extend(command.line.options());
        case
    }

    /// The options that the step takes over from its job, and from variables.
    fn outer(&self) -> Vec<(&'a str, &'a str)> {
        let job = self.script.job.iter();
        let inherited = job.filter(|(name, _)| self.is_inherited(name));
        let mut all: Vec<_> = inherited
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let set = |(variable, name)| Some((name, self.command.variables.get(variable)?.as_str()));
        // Of an unknown line the variables of any count.
        let lines = self.release.map_or(&Release::ALL[..], |_| &[]);
        let lines = lines.iter().copied().chain([self.rules()]);
        all.extend(lines.flat_map(variables).filter_map(set));
        all.extend(set(("BERTH_BINDING", "binding")));
        all
    }

    /// srun's reading of it; values that only the shell knows are left out.
    pub(crate) fn asked(&self) -> Result<Asked, Refused> {
        let known = |value: &str| !value.contains(['$', '`']);
        let outer = self.outer();
        let outer = outer
            .iter()
            .map(|(name, value)| Setting::new(name, Some(value)).from_environment());
        let own = self.command.line.settings();
        // An option that no table has may be a plugin's.
        let own = own.filter(|one| one.trouble != Some(&berth_srun::line::Trouble::Unknown));
        let all = outer.chain(own);
        read(all.filter(|one| one.value.is_none_or(known)), self.rules())
    }

    /// The release whose rules apply.
    pub(crate) fn rules(&self) -> Release {
        self.release.unwrap_or(Release::NEWEST)
    }

    /// Whether a step takes the job's option over. srun reads the job's `-c` from 23.11 on.
    fn is_inherited(&self, name: &str) -> bool {
        let by_variable = self
            .release
            .is_some_and(|release| release >= Release::V23_11);
        !NOT_INHERITED.contains(&name) || (name == "cpus-per-task" && by_variable)
    }

    /// The value of an option that counts.
    pub(crate) fn has(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Its value if that is a number; a variable of the shell is none.
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

    /// The number of tasks, as far as the words give it.
    pub(crate) fn tasks(&self) -> u32 {
        let nodes = self.nodes();
        let each = self.number("ntasks-per-node").unwrap_or(1);
        self.number("ntasks").unwrap_or(nodes * each)
    }

    /// The number of nodes, as far as the words give it: the most of a range.
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
        let Command { line, words, .. } = self.command;
        format!("srun {}", words::rewritten(line, words, drop, add))
    }
}
