//! Statements of bash: the hosts' values are arrays.

use super::super::quote;
use super::super::statements::Statement;
use super::sh;

/// A statement on a line.
pub(super) fn line(statement: &Statement) -> String {
    match statement {
        Statement::Array(name, values) => {
            let quoted = values.iter().map(|value| quote::sh(value));
            format!("{name}=({})\n", quoted.collect::<Vec<_>>().join(" "))
        }
        other => sh::line(other),
    }
}
