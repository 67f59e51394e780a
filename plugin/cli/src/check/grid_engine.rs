//! Grid Engine's lines in Slurm's words: `#$ -pe smp N -binding linear:N`.

use super::command::{Command, without};
use super::finding::{Edit, Finding, Repair};
use super::script::{Script, base};
use crate::shell::Word;

/// Parallel environments of one process with threads, by the names that sites give them.
const THREADED: &[&str] = &[
    "smp", "thread", "openmp", "omp", "shm", "shared", "make", "mp",
];

/// Options without a value, which are Slurm's defaults.
const DEFAULTS: &[&str] = &["-cwd", "-V"];

/// Options with a value, and Slurm's name for each; an empty one is Slurm's default.
const RENAMED: &[(&str, &str)] = &[
    ("-N", "--job-name"),
    ("-o", "--output"),
    ("-e", "--error"),
    ("-M", "--mail-user"),
    ("-P", "--account"),
    ("-S", ""),
    ("-j", ""),
];

/// What the lines ask for, with the words that ask.
#[derive(Default)]
struct Request<'a> {
    environment: Option<(&'a Word, &'a str, &'a str)>,
    /// The strategy with its instance.
    binding: Option<String>,
    array: Option<String>,
    /// Where each option begins, and the words that belong to it.
    words: Vec<&'a [Word]>,
}

impl<'a> Request<'a> {
    fn take(&mut self, command: &'a Command) {
        let words = &command.words;
        for (at, word) in words.iter().enumerate() {
            let value = |ahead: usize| words.get(at + ahead).map(|word| word.text.as_str());
            let count = match (word.text.as_str(), value(1)) {
                ("-pe", Some(name)) if value(2).is_some() => {
                    self.environment = Some((word, name, value(2).unwrap_or_default()));
                    3
                }
                ("-binding", Some(first)) => {
                    let (binding, count) = binding(first, value(2));
                    self.binding = Some(binding);
                    count
                }
                ("-t", Some(range)) => {
                    self.array = Some(array(range));
                    2
                }
                _ => continue,
            };
            self.words.extend(words.get(at..at + count));
        }
    }

    fn is_about_cpus(&self) -> bool {
        self.environment.is_some() || self.binding.is_some()
    }

    /// Slurm's options for it.
    fn options(&self) -> String {
        let amount = self.binding.as_deref().map_or(1, amount);
        let slots = self
            .environment
            .map(|(_, _, slots)| slots.rsplit('-').next().unwrap_or(slots));
        let number = slots.and_then(|slots| slots.parse::<u32>().ok());
        let is_parallel = self
            .environment
            .is_some_and(|(_, name, _)| !is_threaded(name));
        let mut binding = self.binding.clone();
        let mut options = match (is_parallel, number) {
            (true, Some(tasks)) => {
                // Grid Engine's amount is for the job on a host, not for each of its processes.
                if amount > 1 {
                    binding = binding.map(|binding| for_host(&binding));
                }
                let each = amount.div_ceil(tasks.max(1));
                let each = if each > 1 {
                    format!(" -c{each}")
                } else {
                    String::new()
                };
                format!("-n{tasks}{each}")
            }
            (true, None) => format!("-n{}", slots.unwrap_or("1")),
            (false, Some(cpus)) => format!("-n1 -c{}", cpus.max(amount)),
            (false, None) => match slots {
                Some(slots) => format!("-n1 -c{slots}"),
                None => format!("-n1 -c{amount}"),
            },
        };
        options.extend(self.array.iter().map(|range| format!(" --array={range}")));
        options.extend(
            binding
                .iter()
                .map(|binding| format!(" --binding={binding}")),
        );
        options
    }
}

/// The findings: one for all directives of a script, and one for each line of qsub.
pub(super) fn translated(script: &Script) -> Vec<Finding> {
    let is_grid = |command: &&Command| command.kind == super::command::Kind::Qsub;
    let all = script.commands.iter().filter(is_grid);
    let (directives, lines): (Vec<_>, Vec<_>) =
        all.partition(|command| command.name.range.is_empty());
    let mut found = Vec::new();
    // A script of Slurm's own may keep Grid Engine's lines for another site.
    if script.job.is_none() {
        found.extend(from_directives(script, &directives));
    }
    found.extend(
        lines
            .into_iter()
            .filter_map(|command| from_line(script, command)),
    );
    found
}

fn finding(number: usize, words: &[&[Word]]) -> Finding {
    let texts: Vec<_> = words
        .iter()
        .flat_map(|words| words.iter())
        .map(|word| word.text.as_str())
        .collect();
    Finding::warning(
        number,
        "grid-engine",
        format!("this is a line of Grid Engine: {}", texts.join(" ")),
        "Slurm counts processes (-n) and CPUs of each (-c) where Grid Engine counts slots",
    )
}

fn from_directives(script: &Script, directives: &[&Command]) -> Option<Finding> {
    let mut request = Request::default();
    directives.iter().for_each(|command| request.take(command));
    let first = request
        .words
        .first()
        .and_then(|words| words.first())
        .filter(|_| request.is_about_cpus())?;
    let number = crate::shell::line_of(&script.text, first.range.start);
    let found = finding(number, &request.words);
    Some(found.or(directive(script, directives, &request, first)))
}

/// One directive of Slurm's in the place of Grid Engine's words.
fn directive(
    script: &Script,
    directives: &[&Command],
    request: &Request<'_>,
    first: &Word,
) -> Option<Repair> {
    let number = crate::shell::line_of(&script.text, first.range.start);
    let words = request.words.iter().flat_map(|words| words.iter());
    let edits: Option<Vec<_>> = words.map(|word| without(&script.text, word)).collect();
    let mut edits = edits?;
    let line = format!("#SBATCH {}", request.options());
    // The directive takes the first such line's place, if nothing else stands there.
    let command = directives.iter().find(|command| command.number == number)?;
    let alone = command
        .words
        .iter()
        .all(|word| request.words.iter().any(|words| words.contains(word)));
    let is_early = script.first_command.is_none_or(|at| first.range.start < at);
    if alone && is_early {
        let end = command.words.last()?.range.end;
        edits.retain(|edit| edit.range.end <= first.range.start || edit.range.start >= end);
        let start = before(&script.text, first.range.start);
        edits.push(Edit {
            range: start..end,
            text: line,
        });
    } else {
        let at = if is_early {
            before(&script.text, first.range.start)
        } else {
            shebang_end(&script.text)
        };
        edits.push(Edit {
            range: at..at,
            text: format!("{line}\n"),
        });
    }
    Some(edits)
}

/// Where the line begins on which a byte stands.
fn before(text: &[u8], at: usize) -> usize {
    let head = text.get(..at).unwrap_or_default();
    head.iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1)
}

/// Behind the line that names the interpreter.
fn shebang_end(text: &[u8]) -> usize {
    match text.starts_with(b"#!") {
        true => text
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(text.len(), |end| end + 1),
        false => 0,
    }
}

fn from_line(script: &Script, command: &Command) -> Option<Finding> {
    let mut request = Request::default();
    request.take(command);
    let found = finding(command.number, &[&command.words]);
    request
        .is_about_cpus()
        .then(|| found.or(line(script, command, &request)))
}

/// The same line for Slurm; none if it has an option that is not known here.
fn line(script: &Script, command: &Command, request: &Request<'_>) -> Option<Repair> {
    let name = match base(&command.name.text) {
        "qsub" => "sbatch",
        "qrsh" => "srun",
        _ => "salloc",
    };
    let change = |word: &Word, text: &str| Edit {
        range: word.range.clone(),
        text: text.into(),
    };
    command.name.is_plain.then_some(())?;
    let mut edits = vec![change(&command.name, name)];
    let concerned: Vec<_> = request
        .words
        .iter()
        .flat_map(|words| words.iter())
        .collect();
    let (first, rest) = concerned.split_first()?;
    edits.push(change(first, &request.options()));
    for word in rest {
        edits.push(without(&script.text, word)?);
    }
    let mut words = command
        .words
        .iter()
        .filter(|word| !concerned.contains(word));
    while let Some(word) = words.next().filter(|word| word.text.starts_with('-')) {
        if DEFAULTS.contains(&word.text.as_str()) {
            edits.push(without(&script.text, word)?);
            continue;
        }
        let (_, slurms) = RENAMED.iter().find(|(name, _)| *name == word.text)?;
        let value = words.next()?;
        match slurms.is_empty() {
            true => edits.extend([without(&script.text, word)?, without(&script.text, value)?]),
            false => edits.push(change(word, slurms)),
        }
    }
    Some(edits)
}

/// The value of `-binding`, a strategy, perhaps after an instance, and how many words it takes.
fn binding(first: &str, second: Option<&str>) -> (String, usize) {
    match (first, second) {
        ("set", Some(strategy)) => (strategy.into(), 3),
        ("env" | "pe", Some(strategy)) => (format!("{first}:{strategy}"), 3),
        _ => (first.into(), 2),
    }
}

/// `1-10:2` is Slurm's spelling too; `1:4` is a range.
fn array(range: &str) -> String {
    match range.contains('-') {
        true => range.into(),
        false => range.replacen(':', "-", 1),
    }
}

/// How many cores a strategy takes.
fn amount(binding: &str) -> u32 {
    let known = |binding: &berth_placement::Binding| {
        use berth_placement::request::grid_engine::Strategy;
        match &binding.strategy {
            Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => *amount,
            Strategy::Explicit(places) => places.len() as u32,
            Strategy::None | Strategy::Auto(_) => 1,
        }
    };
    binding.parse().map_or(1, |binding| known(&binding))
}

/// The same strategy for all tasks of a host together.
fn for_host(binding: &str) -> String {
    let instance = ["env:", "pe:", "set:"]
        .into_iter()
        .find(|instance| binding.starts_with(instance));
    let instance = instance.unwrap_or_default();
    let strategy = binding.strip_prefix(instance).unwrap_or(binding);
    match strategy.starts_with("explicit") {
        true => binding.into(),
        false => format!("{instance}host:{strategy}"),
    }
}

fn is_threaded(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.contains("mpi") && THREADED.iter().any(|known| name.contains(known))
}
