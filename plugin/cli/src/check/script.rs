//! A batch script, or a single line, as the commands in it that matter: srun, mpirun, and the
//! directives of sbatch and Grid Engine. It is read, not run, so computed values are unknown.

use std::collections::BTreeMap;

use berth_srun::Line;
use berth_srun::line::read;
use berth_srun::options::Command as Program;

use super::words::Options;

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// From 1.
    pub number: usize,
    /// The command's words, without the words before it.
    pub words: Vec<String>,
    /// `srun`, `mpirun` or `qsub`.
    pub kind: Kind,
    pub line: Line,
    /// Variables that are set when it runs, by the script or before it on its line.
    pub variables: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Srun,
    Mpirun,
    /// Grid Engine's: the command, or a directive of its script.
    Qsub,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// `#SBATCH` lines, or the sbatch and salloc line itself.
    pub job: Options,
    pub is_batch: bool,
    pub commands: Vec<Command>,
}

/// Programs that start other tasks themselves.
const LAUNCHERS: &[&str] = &[
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "prterun",
    "orterun",
    "mpiexec.slurm",
];

/// Reads a script or a line.
pub(crate) fn script(text: &str) -> Script {
    let mut found = Script::default();
    let mut variables = BTreeMap::new();
    let mut job_done = false;
    for (number, line) in joined(text) {
        let line = line.trim();
        if let Some(words) = directive(line, "#SBATCH") {
            // sbatch stops at the first command.
            if !job_done {
                found.is_batch = true;
                found
                    .job
                    .extend(read(&words, Program::Sbatch, None).options());
            }
        } else if let Some(words) = directive(line, "#$") {
            found
                .commands
                .push(command(number, Kind::Qsub, words, &variables));
        } else if !line.is_empty() && !line.starts_with('#') {
            job_done = true;
            for part in parts(line) {
                simple(&mut found, &mut variables, number, part);
            }
        }
    }
    found
}

/// Lines with their numbers, those that end in a backslash joined with the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        let (number, mut whole) = open.take().unwrap_or((at + 1, String::new()));
        match line.strip_suffix('\\') {
            Some(head) => {
                whole.push_str(head);
                whole.push(' ');
                open = Some((number, whole));
            }
            None => {
                whole.push_str(line);
                lines.push((number, whole));
            }
        }
    }
    lines.extend(open);
    lines
}

fn directive(line: &str, mark: &str) -> Option<Vec<String>> {
    let rest = line.strip_prefix(mark)?;
    shlex::split(rest.trim())
}

/// Commands of one line: at `;`, `&&`, `||`, `|` and `&`, where no quote is open.
fn parts(line: &str) -> Vec<&str> {
    let (mut quote, mut from, mut parts) = (None, 0, Vec::new());
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, ';' | '|' | '&') => {
                parts.push(&line[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&line[from..]);
    parts
}

/// One simple command: variables, then a program of interest, or nothing to us.
fn simple(found: &mut Script, variables: &mut BTreeMap<String, String>, number: usize, text: &str) {
    let Some(words) = shlex::split(text) else {
        return;
    };
    let mut words = words.as_slice();
    let mut own = variables.clone();
    let skip = [
        "export", "time", "exec", "env", "then", "do", "else", "if", "!", "{", "(",
    ];
    let mut exports = false;
    while let Some((first, rest)) = words.split_first() {
        match first.split_once('=') {
            Some((name, value)) if is_name(name) => {
                own.insert(name.into(), value.into());
            }
            _ if skip.contains(&first.as_str()) => exports |= first == "export",
            _ => break,
        }
        words = rest;
    }
    if exports || words.is_empty() {
        *variables = own;
        return;
    }
    let name = words[0].rsplit('/').next().unwrap_or_default();
    let rest = words[1..].to_vec();
    match name {
        "srun" => found.commands.push(command(number, Kind::Srun, rest, &own)),
        "sbatch" => job(found, &mut own, number, (Program::Sbatch, &rest)),
        "salloc" => job(found, &mut own, number, (Program::Salloc, &rest)),
        "qsub" | "qrsh" | "qlogin" => found.commands.push(command(number, Kind::Qsub, rest, &own)),
        name if LAUNCHERS.contains(&name) => {
            found
                .commands
                .push(command(number, Kind::Mpirun, rest, &own));
        }
        _ => {}
    }
}

/// An sbatch or salloc, with the command that it runs.
fn job(
    found: &mut Script,
    variables: &mut BTreeMap<String, String>,
    number: usize,
    (program, words): (Program, &[String]),
) {
    let line = read(words, program, None);
    found.job.extend(line.options());
    found.is_batch |= program == Program::Sbatch;
    if let Some(wrapped) = line.value("wrap") {
        simple(found, variables, number, wrapped);
    } else if program == Program::Salloc && !line.program.is_empty() {
        let inner = shlex::try_join(line.program.iter().map(String::as_str));
        simple(found, variables, number, &inner.unwrap_or_default());
    }
}

fn command(
    number: usize,
    kind: Kind,
    words: Vec<String>,
    variables: &BTreeMap<String, String>,
) -> Command {
    Command {
        number,
        kind,
        line: read(&words, Program::Srun, None),
        words,
        variables: variables.clone(),
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word starts a launcher.
pub(crate) fn is_launcher(word: &str) -> bool {
    LAUNCHERS.contains(&word.rsplit('/').next().unwrap_or_default())
}

#[cfg(test)]
#[path = "../../../placement/tests/common/mod.rs"]
mod random;

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(random::config(256))]

        /// Whatever a file holds, reading it ends, and words are words.
        #[test]
        fn any_text_is_read(text in "([ -~]|\\n|é|srun |#SBATCH |-n|--cpu-bind|=|'|\\\\\n){0,60}") {
            for command in script(&text).commands {
                proptest::prop_assert!(command.line.own_words <= command.words.len());
                super::super::words::rewritten(&command.line, &command.words, &["ntasks"], &["-n1"]);
            }
        }
    }

    #[test]
    fn a_batch_script() {
        let found = script(
            "#!/bin/bash\n#SBATCH -n 4 --cpus-per-task=2\n#SBATCH -J x # name\nmodule load mpi\n\
             export OMP_NUM_THREADS=2\n#SBATCH -c 9\nOMP_PLACES=cores srun \\\n  -l ./app; srun true\n",
        );
        assert!(found.is_batch);
        assert_eq!(found.job["cpus-per-task"], "2");
        assert_eq!(found.job["ntasks"], "4");
        let lines: Vec<_> = found
            .commands
            .iter()
            .map(|command| command.number)
            .collect();
        assert_eq!(lines, [7, 7]);
        assert_eq!(found.commands[0].variables["OMP_PLACES"], "cores");
        assert_eq!(found.commands[0].variables["OMP_NUM_THREADS"], "2");
        assert!(!found.commands[1].variables.contains_key("OMP_PLACES"));
        assert_eq!(found.commands[1].line.program, ["true"]);
    }

    #[test]
    fn other_launchers_and_wrapped_lines() {
        let kinds = |text| {
            script(text)
                .commands
                .iter()
                .map(|one| one.kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds("sbatch -n2 --wrap 'srun -c2 ./a'"), [Kind::Srun]);
        assert_eq!(kinds("cd x && mpirun -np 4 ./a"), [Kind::Mpirun]);
        assert_eq!(kinds("#$ -pe smp 4 -binding linear:4"), [Kind::Qsub]);
        assert_eq!(kinds("echo 'srun -n4'"), []);
        assert_eq!(kinds("srun 'unclosed"), []);
    }
}
