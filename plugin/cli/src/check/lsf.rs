//! LSF's lines in Slurm's words: `bsub -n 8 -q low -ext "CPUSET[…]" -R "span[ptile=2]" app`. What has no
//! counterpart is named.

use berth_placement::CpusetRequest;
use berth_srun::submission::cpuset::choosing_word;

use super::command::{Command, Kind, without};
use super::finding::{Edit, Finding, Repair};
use super::lsf_directives::is_directive;
use super::lsf_values::{means_more, slurms_value};
use super::script::Script;
use crate::shell::Word;

/// Options without a value, and Slurm's for each; an empty one is Slurm's default.
const FLAGS: &[(&str, &str)] = &[
    ("-x", "--exclusive"),
    ("-K", "--wait"),
    ("-H", "--hold"),
    ("-r", "--requeue"),
    ("-rn", "--no-requeue"),
    ("-B", "--mail-type=BEGIN"),
    ("-N", "--mail-type=END"),
];

/// Options with a value, and Slurm's name for each.
const RENAMED: &[(&str, &str)] = &[
    ("-q", "--partition"),
    ("-J", "--job-name"),
    ("-o", "--output"),
    ("-oo", "--output"),
    ("-e", "--error"),
    ("-eo", "--error"),
    ("-P", "--account"),
    ("-u", "--mail-user"),
    ("-m", "--nodelist"),
    ("-cwd", "--chdir"),
    ("-W", "--time"),
];

/// Options with a value that Slurm has in no form that a word could give.
const OTHERS: &[&str] = &[
    "-w",
    "-M",
    "-v",
    "-D",
    "-F",
    "-C",
    "-c",
    "-b",
    "-t",
    "-g",
    "-G",
    "-L",
    "-E",
    "-Ep",
    "-sla",
    "-a",
    "-app",
    "-i",
    "-is",
    "-f",
    "-gpu",
    "-env",
    "-U",
    "-sp",
    "-Jd",
    "-T",
    "-S",
    "-p",
    "-k",
    "-data",
    "-hostfile",
];

/// Why a line of LSF is none of Slurm.
pub(super) const WHY: &str = "Slurm counts processes (-n) and CPUs of each (-c) where LSF counts slots, and takes a \
                              cpuset as --cpuset";

/// What a line asks for, or all directives of a script together.
#[derive(Default)]
pub(super) struct Request<'a> {
    slots: Option<u32>,
    hosts: Option<u32>,
    on_each: Option<u32>,
    pub cpuset: Option<&'a str>,
    is_exclusive: bool,
    /// The words of the options, each with Slurm's in their place.
    pub replaced: Vec<(&'a [Word], String)>,
    /// What has no counterpart.
    pub missing: Vec<String>,
    /// The words of the options for which something is missing.
    pub left: Vec<&'a [Word]>,
    /// Where the command begins.
    pub program: &'a [Word],
}

/// The findings: one for each line of bsub.
pub(super) fn translated(script: &Script) -> Vec<Finding> {
    let all = script.commands.iter();
    let lines = all.filter(|command| command.kind == Kind::Bsub && !is_directive(command));
    lines.map(|command| from_line(script, command)).collect()
}

fn from_line(script: &Script, command: &Command) -> Finding {
    let request = Request::read(&command.words);
    let texts: Vec<_> = command
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let found = format!(
        "this is a line of LSF: {} {}",
        command.name.text,
        texts.join(" ")
    );
    let mut why = String::from(WHY);
    if !request.missing.is_empty() {
        why += "; without a counterpart: ";
        why += &request.missing.join("; ");
    }
    let cpuset = request.cpuset.map(str::parse::<CpusetRequest>);
    let cpuset = match cpuset {
        Some(Err(wrong)) => {
            why += &format!("; the cpuset cannot be read: {wrong}");
            return Finding::warning(command.number, "lsf", found, &why);
        }
        Some(Ok(asked)) => Some(asked),
        None => None,
    };
    let repair = line(script, command, &request, cpuset.as_ref());
    Finding::warning(command.number, "lsf", found, &why).or(repair)
}

impl<'a> Request<'a> {
    fn read(words: &'a [Word]) -> Self {
        let mut request = Self::default();
        request.take(words);
        request
    }

    /// Whether every word of some directives stands there, and nothing in them is computed.
    pub(super) fn is_known(&self, lines: &[&Command]) -> bool {
        let own: usize = lines.iter().map(|line| line.words.len()).sum();
        let counted: usize = self.replaced.iter().map(|(words, _)| words.len()).sum();
        let words = || lines.iter().flat_map(|line| &line.words);
        counted == own && words().all(|word| !word.is_computed)
    }

    /// Takes the words of a line.
    pub(super) fn take(&mut self, words: &'a [Word]) {
        let request = self;
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
            let value = words.get(at + 1);
            let missing = request.missing.len();
            let count = request.option(&word.text, value.map(|value| value.text.as_str()));
            let own = words.get(at..at + count);
            let is_left = request.missing.len() > missing;
            request.left.extend(own.filter(|_| is_left));
            if let Some(slurms) = request.slurms(&word.text, value) {
                request.replaced.extend(own.map(|own| (own, slurms)));
            }
            at += count;
        }
        request.program = words.get(at..).unwrap_or_default();
    }

    /// Takes one option; how many words it has.
    fn option(&mut self, name: &str, value: Option<&'a str>) -> usize {
        let known = |names: &[(&str, &str)]| names.iter().any(|(known, _)| *known == name);
        let joined = name
            .strip_prefix("-n")
            .and_then(|number| number.parse().ok());
        match (name, value) {
            _ if joined.is_some() => {
                self.slots = joined;
                return 1;
            }
            ("-n", Some(value)) => {
                let mut numbers = value.split(',').map(|number| number.trim().parse().ok());
                self.slots = numbers.next().flatten();
                if numbers.next().is_some() {
                    self.missing.push(format!(
                        "-n {value}: Slurm takes one number, the smaller one here"
                    ));
                }
            }
            ("-R", Some(value)) => self.resources(value),
            (name, Some(value)) if is_extsched(name) => self.cpuset = Some(value.trim()),
            (name, Some(value)) if means_more(name, value) => {
                self.missing.push(format!("{name} {value}"));
            }
            (_, Some(_)) if known(RENAMED) => {}
            (name, Some(value)) if OTHERS.contains(&name) => {
                self.missing.push(format!("{name} {value}"));
            }
            (name, _) if known(FLAGS) => {
                self.is_exclusive |= name == "-x";
                return 1;
            }
            (name, _) => {
                self.missing.push(name.into());
                return 1;
            }
        }
        2
    }

    /// Slurm's words for an option; an empty text where the whole request says it.
    fn slurms(&self, name: &str, value: Option<&Word>) -> Option<String> {
        let of = |names: &[(&str, &'static str)]| {
            let found = names.iter().find(|(known, _)| *known == name);
            found.map(|(_, slurms)| *slurms)
        };
        match (of(FLAGS), of(RENAMED)) {
            _ if value.is_some_and(|value| means_more(name, &value.text)) => Some(String::new()),
            (Some(slurms), _) => Some(slurms.into()),
            (None, Some(slurms)) => Some(format!("{slurms}={}", slurms_value(name, value?)?)),
            (None, None) => Some(String::new()),
        }
    }

    /// `span[ptile=2] rusage[mem=100]`
    fn resources(&mut self, text: &str) {
        for section in text.split_inclusive(']') {
            let section = section.trim();
            let inside = |name: &str| section.strip_prefix(name)?.strip_suffix(']');
            let number = |text: &str, name: &str| {
                let value = text.trim().strip_prefix(name)?.trim().strip_prefix('=')?;
                value.trim().parse::<u32>().ok()
            };
            let span = inside("span[");
            let on_each = span.and_then(|span| number(span, "ptile"));
            let hosts = span.and_then(|span| number(span, "hosts"));
            match (on_each, hosts) {
                (Some(count), _) if count > 0 => self.on_each = Some(count),
                (_, Some(count)) if count > 0 => self.hosts = Some(count),
                _ if section.is_empty() => {}
                _ if section.starts_with("rusage[scpus") => self.missing.push(format!(
                    "{section}: make the static cpuset a resource of Slurm and add --gres"
                )),
                _ if section.starts_with("rusage[dcpus") => self.missing.push(format!(
                    "{section}: Slurm counts the CPUs of every job by itself"
                )),
                _ if section.starts_with("affinity[") => self
                    .missing
                    .push(format!("{section}: --map-by and --bind-to have such words")),
                _ => self.missing.push(section.into()),
            }
        }
    }

    /// Slurm's options for the slots and the cpuset.
    pub(super) fn options(&self, cpuset: Option<&CpusetRequest>) -> Option<String> {
        let mut options = Vec::new();
        options.extend(self.slots.map(|slots| format!("-n{slots}")));
        let by_tile = |each: u32| Some(self.slots?.div_ceil(each));
        let one_host =
            matches!(cpuset, Some(CpusetRequest::Dynamic(set)) if set.max_radius.is_some());
        let hosts = self
            .hosts
            .or_else(|| self.on_each.and_then(by_tile))
            .or(one_host.then_some(1));
        options.extend(hosts.map(|hosts| format!("-N{hosts}")));
        options.extend(self.on_each.map(|each| format!("--ntasks-per-node={each}")));
        if let Some(text) = self.cpuset {
            // LSF chooses among all CPUs of a host, and a job of whole nodes has them.
            let wants =
                matches!(cpuset, Some(CpusetRequest::Dynamic(set)) if choosing_word(set).is_some());
            if wants && !self.is_exclusive {
                options.push("--exclusive".into());
            }
            // A quote cannot stand in a request that can be read.
            (!text.contains('\'')).then_some(())?;
            options.push(format!("--cpuset='{text}'"));
        }
        Some(options.join(" "))
    }
}

/// `-ext` to `-extsched`.
fn is_extsched(name: &str) -> bool {
    name.len() >= "-ext".len() && "-extsched".starts_with(name)
}

/// The same line for sbatch, with the command in --wrap; none if only the shell knows a word.
fn line(
    script: &Script,
    command: &Command,
    request: &Request<'_>,
    cpuset: Option<&CpusetRequest>,
) -> Option<Repair> {
    command.name.is_plain.then_some(())?;
    // bsub's own name may have a folder, which sbatch's has not.
    let options = request.options(cpuset)?;
    let first = match options.as_str() {
        "" => "sbatch".into(),
        options => format!("sbatch {options}"),
    };
    let mut edits = vec![Edit {
        range: command.name.range.clone(),
        text: first,
    }];
    let own = command.words.len() - request.program.len();
    let counted: usize = request.replaced.iter().map(|(words, _)| words.len()).sum();
    (counted == own).then_some(())?;
    for (words, slurms) in &request.replaced {
        let (word, rest) = words.split_first()?;
        match slurms.is_empty() {
            true => edits.push(without(&script.text, word).or_else(|| cut(script, word))?),
            false => edits.push(Edit {
                range: word.range.clone(),
                text: slurms.clone(),
            }),
        }
        for word in rest {
            edits.push(without(&script.text, word).or_else(|| cut(script, word))?);
        }
    }
    edits.extend(wrapped(script, request.program)?);
    Some(edits)
}

/// Takes a quoted word away too, with the blank before it; none if the shell computes it.
fn cut(script: &Script, word: &Word) -> Option<Edit> {
    let before = script.text.get(..word.range.start)?;
    let blanks = before
        .iter()
        .rev()
        .take_while(|byte| b" \t".contains(byte))
        .count();
    (!word.is_computed).then(|| Edit {
        range: word.range.start - blanks..word.range.end,
        text: String::new(),
    })
}

/// Puts `--wrap` around the command. A job that is read from stdin has none.
fn wrapped(script: &Script, program: &[Word]) -> Option<Vec<Edit>> {
    let (Some(first), Some(last)) = (program.first(), program.last()) else {
        return Some(Vec::new());
    };
    let (start, end) = (first.range.start, last.range.end);
    let bytes = script.text.get(start..end)?;
    let is_plain = !bytes.contains(&b'\'') && !bytes.contains(&b'\n');
    let knows = program.iter().all(|word| !word.is_computed);
    let edit = |at: usize, text: &str| Edit {
        range: at..at,
        text: text.into(),
    };
    (is_plain && knows).then(|| vec![edit(start, "--wrap='"), edit(end, "'")])
}
