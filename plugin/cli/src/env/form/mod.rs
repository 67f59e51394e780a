//! The forms of the statements: a file for each.

mod bash;
mod csh;
pub(super) mod json;
mod sh;
mod taskprolog;

use super::statements::Statement;
use crate::args::EnvFormat;

/// The statements in the form of a shell.
pub(super) fn text(format: EnvFormat, statements: &[Statement]) -> String {
    let line = match format {
        EnvFormat::Sh => sh::line,
        EnvFormat::Csh => csh::line,
        EnvFormat::Taskprolog => taskprolog::line,
        EnvFormat::Bash | EnvFormat::Json => bash::line,
    };
    let statements = statements.iter().flat_map(|one| match format {
        EnvFormat::Bash | EnvFormat::Json => vec![one.clone()],
        _ => numbered(one),
    });
    statements.map(|one| line(&one)).collect()
}

/// Without arrays: each value has a name of its own, with its number from 0.
fn numbered(statement: &Statement) -> Vec<Statement> {
    match statement {
        Statement::Array(name, values) => {
            let each = values.iter().enumerate();
            let one = |(at, value): (usize, &String)| {
                Statement::Scalar(format!("{name}_{at}"), value.clone())
            };
            each.map(one).collect()
        }
        other => vec![other.clone()],
    }
}
