//! The forms of the statements. Any text is quoted so that a shell reads exactly that text back, and nothing of it is a
//! command.

use super::statements::Statement;
use crate::args::EnvFormat;
use crate::say;

/// The statements in the form of a shell.
pub(super) fn text(format: EnvFormat, statements: &[Statement]) -> String {
    let mut text = String::new();
    for statement in statements {
        match statement {
            Statement::Array(name, values) if format == EnvFormat::Bash => {
                let quoted: Vec<_> = values.iter().map(|value| sh(value)).collect();
                text += &format!("{name}=({})\n", quoted.join(" "));
            }
            // Each value has a name of its own, with its number from 0.
            Statement::Array(name, values) => {
                for (at, value) in values.iter().enumerate() {
                    text += &scalar(format, &format!("{name}_{at}"), value);
                }
            }
            Statement::Scalar(name, value) => text += &scalar(format, name, value),
            Statement::Echo(line) => {
                text += &match format {
                    EnvFormat::Csh => format!("echo {};\n", csh(line)),
                    EnvFormat::Taskprolog => format!("print {line}\n"),
                    _ => format!("echo {}\n", sh(line)),
                }
            }
        }
    }
    text
}

/// A value. `eval` of a command's output joins its lines in csh, so each ends with a semicolon there. Slurm takes the rest
/// of a TaskProlog's line as it is, so a line break in a value cannot be passed on.
fn scalar(format: EnvFormat, name: &str, value: &str) -> String {
    match format {
        EnvFormat::Csh => format!("set {name} = {};\n", csh(value)),
        EnvFormat::Taskprolog => {
            if value.contains('\n') {
                say::note(&format!("the line breaks in {name} are printed as blanks"));
            }
            format!("export {name}={}\n", value.replace('\n', " "))
        }
        _ => format!("{name}={}\n", sh(value)),
    }
}

/// For sh and bash: everything within single quotes is text, but a single quote.
fn sh(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// For csh and tcsh, which also find history and the end of a line within single quotes.
fn csh(text: &str) -> String {
    let text = text.replace('\'', r"'\''").replace('!', r"\!");
    format!("'{}'", text.replace('\n', "\\\n"))
}
