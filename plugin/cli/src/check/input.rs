//! The text to check: a line in words or in one word, a file, or stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use berth_host::script_file::MOST;

/// What there is to check.
pub(super) enum Input {
    /// The text, and the file that it is from.
    Text(Vec<u8>, Option<PathBuf>),
    /// Nothing to check, with the reason.
    Missing(String),
}

/// Programs whose lines are understood.
const COMMANDS: &[&str] = &[
    "srun", "sbatch", "salloc", "qsub", "qrsh", "qlogin", "bsub", "mpirun", "mpiexec",
];

/// Reads it.
///
/// # Errors
/// A failing stdin, and words that no shell can have.
pub(super) fn input(words: &[String]) -> Result<Input, crate::Failure> {
    Ok(match words {
        [one] if one == "-" => bounded("stdin", io::stdin().lock(), None)?,
        [one] if Path::new(one).exists() => {
            let path = PathBuf::from(one);
            let read = File::open(one).and_then(|file| bounded(one, file, Some(path)));
            read.unwrap_or_else(|why| Input::Missing(format!("{one} cannot be read: {why}")))
        }
        [one] if is_name(one) => Input::Missing(format!(
            "{one}: there is no such file, and it is no line of srun or sbatch; give an existing \
             script, a line in quotes, or - for stdin"
        )),
        [one] => Input::Text(one.clone().into_bytes(), None),
        several => {
            let line = shlex::try_join(several.iter().map(String::as_str))?;
            Input::Text(line.into_bytes(), None)
        }
    })
}

/// Reads it to its end, if it has one soon.
fn bounded(name: &str, from: impl Read, path: Option<PathBuf>) -> io::Result<Input> {
    let mut bytes = Vec::new();
    let count = from.take(MOST + 1).read_to_end(&mut bytes)? as u64;
    Ok(match count > MOST {
        true => Input::Missing(format!(
            "{name} has more than {MOST} bytes; no batch script has"
        )),
        false => Input::Text(bytes, path),
    })
}

/// Whether a word can only be meant as a file's name.
fn is_name(word: &str) -> bool {
    let is_one = !word.contains(char::is_whitespace) && !word.contains(['\'', '"', '$', ';']);
    let name = word.rsplit('/').next().unwrap_or_default();
    is_one && !COMMANDS.contains(&name)
}
