//! The text to check: a line in words or in one word, a file, or stdin.

use std::io::{self, Read};
use std::path::Path;

/// The text and whether it is a line that was typed.
pub(super) enum Input {
    Text(Vec<u8>),
    /// Nothing to check, with the reason.
    Missing(String),
}

/// Programs whose lines are understood.
const COMMANDS: &[&str] = &[
    "srun", "sbatch", "salloc", "qsub", "qrsh", "qlogin", "mpirun", "mpiexec",
];

/// Reads it.
///
/// # Errors
/// A failing stdin, and words that no shell can have.
pub(super) fn input(words: &[String]) -> Result<Input, crate::Failure> {
    Ok(match words {
        [one] if one == "-" => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes)?;
            Input::Text(bytes)
        }
        [one] if Path::new(one).exists() => match std::fs::read(one) {
            Ok(bytes) => Input::Text(bytes),
            Err(why) => Input::Missing(format!("{one} cannot be read: {why}")),
        },
        [one] if is_name(one) => Input::Missing(format!(
            "{one}: there is no such file, and it is no line of srun or sbatch; give an existing \
             script, a line in quotes, or - for stdin"
        )),
        [one] => Input::Text(one.clone().into_bytes()),
        several => Input::Text(shlex::try_join(several.iter().map(String::as_str))?.into_bytes()),
    })
}

/// Whether a word can only be meant as a file's name.
fn is_name(word: &str) -> bool {
    let is_one = !word.contains(char::is_whitespace) && !word.contains(['\'', '"', '$', ';']);
    let name = word.rsplit('/').next().unwrap_or_default();
    is_one && !COMMANDS.contains(&name)
}
