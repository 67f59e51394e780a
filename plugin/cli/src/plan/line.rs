//! A whole line of a shell, `OMP_NUM_THREADS=4 srun -p long -n8 -c4 ./app > out`, as the options of
//! `berth plan`. The shell's own part, the program and everything behind it are left out.

use std::fmt;
use std::ops::Range;

use berth_srun::line::{Given, Line, Trouble, read};
use berth_srun::options::Command as Program;
use berth_srun::{Release, options};
use clap::Command;

/// Why a line is not planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// It is wrong, or it starts no step.
    Usage(String),
    /// It starts something that is not planned.
    NotModelled(String),
}

impl fmt::Display for NoLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) => f.write_str(why),
            Self::NotModelled(what) => write!(f, "not modelled: {what}"),
        }
    }
}

/// The words that end a command of the shell.
const ENDS: [&str; 6] = ["|", "||", "&", "&&", ";", "|&"];

/// The options of the line's srun in words that clap reads, and the variables before it.
///
/// # Errors
/// [`NoLine`], with the option named as srun names it.
pub(crate) fn spelled_out(
    text: &str,
    release: Release,
    command: &Command,
) -> Result<Vec<String>, NoLine> {
    let words = shlex::split(text)
        .ok_or_else(|| NoLine::Usage("a quote is not closed on this line; close it".into()))?;
    of_words(&words, release, command)
}

fn of_words(words: &[String], release: Release, command: &Command) -> Result<Vec<String>, NoLine> {
    let step = step(words)?;
    let own = without_redirections(&words[step.clone()]);
    let line = read(&own, Program::Srun, Some(release));
    if line.more {
        return Err(NoLine::NotModelled(
            "a step of several components (:)".into(),
        ));
    }
    let mut all = variables(&words[..step.start - 1]);
    for given in &line.given {
        all.extend(spelled(given, &own, release, command)?);
    }
    not_planned(&line)?;
    Ok(all)
}

/// The words behind the line's only srun, up to the end of its command.
fn step(words: &[String]) -> Result<Range<usize>, NoLine> {
    let is = |program| move |word: &String| Program::named(word) == Some(program);
    let Some(srun) = words.iter().position(is(Program::Srun)) else {
        let other = words
            .iter()
            .find_map(|word| Program::named(word).map(|_| word));
        return Err(match other {
            Some(other) => NoLine::NotModelled(format!(
                "{other}: it starts no step; give the line of the srun inside"
            )),
            None => NoLine::Usage(format!(
                "\"{}\" has no srun; give a line such as 'srun -n8 -c4 ./app'",
                words.join(" ")
            )),
        });
    };
    let rest = &words[srun + 1..];
    let ends = |word: &String| ENDS.contains(&word.as_str());
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    if rest[length..].iter().any(is(Program::Srun)) {
        let several = "the line starts several steps; give the line of one";
        return Err(NoLine::Usage(several.into()));
    }
    Ok(srun + 1..srun + 1 + length)
}

/// Assignments right before srun are its variables, as `SLURM_HINT=nomultithread srun …`.
fn variables(before: &[String]) -> Vec<String> {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let ends = |word: &String| ENDS.contains(&word.as_str()) || word.ends_with(';');
    let start = before.iter().rposition(ends);
    let command = &before[start.map_or(0, |at| at + 1)..];
    let assigned = |word: &&String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let words = command.iter().filter(assigned);
    words
        .map(|word| format!("--line-variable={word}"))
        .collect()
}

/// Redirections may stand anywhere: `srun > out -n4 ./app`.
fn without_redirections(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let sign = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '&');
        let Some(target) = sign.strip_prefix(['>', '<']) else {
            kept.push(word.clone());
            continue;
        };
        if target.trim_start_matches(['>', '<', '&', '|']).is_empty() {
            words.next();
        }
    }
    kept
}

fn spelled(
    given: &Given,
    words: &[String],
    release: Release,
    command: &Command,
) -> Result<Vec<String>, NoLine> {
    let name = &given.name;
    let shown = if name.chars().count() == 1 {
        format!("-{name}")
    } else {
        format!("--{name}")
    };
    let wrong = |why: String| Err(NoLine::Usage(format!("srun: {why}")));
    match &given.trouble {
        Some(Trouble::Unknown) if is_own(command, name) => {
            return Ok(words[given.words.clone()].to_vec());
        }
        Some(Trouble::Unknown) => {
            let later = options::long(Program::Srun, None, name);
            let since = match later {
                options::Found::Option(_) => format!("; Slurm {release} does not have it"),
                _ => String::new(),
            };
            return wrong(format!("unrecognized option '{shown}'{since}"));
        }
        Some(Trouble::Ambiguous(names)) => {
            let names: Vec<_> = names.iter().map(|name| format!("'--{name}'")).collect();
            let names = names.join(" ");
            return wrong(format!(
                "option '{shown}' is ambiguous; possibilities: {names}"
            ));
        }
        Some(Trouble::NoValue) => return wrong(format!("option '{shown}' requires an argument")),
        Some(Trouble::UnwantedValue) => {
            return wrong(format!("option '{shown}' doesn't allow an argument"));
        }
        None => {}
    }
    if let Some(value) = given
        .value
        .as_ref()
        .filter(|value| value.contains(['$', '`']))
    {
        return Err(NoLine::Usage(format!(
            "{shown} has the value {value}, which only the shell of the job knows; write the value \
             itself"
        )));
    }
    // `berth plan` has a --cluster of its own.
    let name = if name == "cluster" { "clusters" } else { name };
    Ok(vec![match &given.value {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    }])
}

/// Whether `berth plan` has an option that srun has not.
fn is_own(command: &Command, name: &str) -> bool {
    let is_sruns = options::long(Program::Srun, None, name) != options::Found::Unknown;
    let mut own = command.get_arguments();
    !is_sruns && own.any(|arg| arg.get_long() == Some(name))
}

/// What shows something and starts no step.
fn not_planned(line: &Line) -> Result<(), NoLine> {
    let shows = ["help", "usage", "version", "autocomplete"];
    match line
        .given
        .iter()
        .find(|given| shows.contains(&given.name.as_str()))
    {
        Some(given) => Err(NoLine::Usage(format!(
            "with --{} srun prints something and starts no step",
            given.name
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;
    use crate::args::PlanArgs;

    fn spelled(text: &str) -> Result<String, NoLine> {
        let command = PlanArgs::augment_args(Command::new("plan"));
        spelled_out(text, Release::V22_05, &command).map(|words| words.join(" "))
    }

    #[test]
    fn real_lines() {
        for (line, words) in [
            (
                "srun -p long -t 1:00:00 --mem=4G -n8 -c4 ./app > out",
                "--partition=long --time=1:00:00 --mem=4G --ntasks=8 --cpus-per-task=4",
            ),
            ("srun -n4 ./app -n 9 2>&1 | tee log", "--ntasks=4"),
            ("srun > out -n4 2>>err --label ./app", "--ntasks=4 --label"),
            (
                "cd /tmp && time /usr/bin/srun -K0 -n 2 a &",
                "--kill-on-bad-exit=0 --ntasks=2",
            ),
            (
                "X=1; OMP_NUM_THREADS=4 SLURM_HINT=multithread srun a",
                "--line-variable=OMP_NUM_THREADS=4 --line-variable=SLURM_HINT=multithread",
            ),
            (
                "srun --cpu_bind='map_cpu:0,1' -m=block ./a 'b c'",
                "--cpu-bind=map_cpu:0,1 --distribution==block",
            ),
            (
                "srun -n2 --machine 'pack:1 core:2 pu:1' a",
                "--ntasks=2 --machine pack:1 core:2 pu:1",
            ),
            (
                "srun --binding=linear:2 --exclusive",
                "--binding=linear:2 --exclusive",
            ),
        ] {
            assert_eq!(spelled(line).as_deref(), Ok(words), "{line}");
        }
    }

    #[test]
    fn wrong_ones_are_named_as_srun_names_them() {
        for (line, says) in [
            (
                "srun --foreign=1 a",
                "srun: unrecognized option '--foreign'",
            ),
            (
                "srun --tres-bind=x a",
                "unrecognized option '--tres-bind'; Slurm 22.05 does not have it",
            ),
            (
                "srun --node=2 a",
                "option '--node' is ambiguous; possibilities: '--nodefile' '--nodelist' '--nodes'",
            ),
            ("srun -n", "option '--ntasks' requires an argument"),
            (
                "srun --label=1 a",
                "option '--label' doesn't allow an argument",
            ),
            ("srun -n $N a", "--ntasks has the value $N"),
            ("srun --help", "starts no step"),
            ("srun a & srun b", "several steps"),
            ("./app", "has no srun"),
            ("srun 'a", "a quote is not closed"),
        ] {
            match spelled(line) {
                Err(NoLine::Usage(why)) => assert!(why.contains(says), "{line}: {why}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        for line in ["sbatch -n4 job.sh", "srun -n1 a : -n2 b"] {
            assert!(
                matches!(spelled(line), Err(NoLine::NotModelled(_))),
                "{line}"
            );
        }
    }
}
