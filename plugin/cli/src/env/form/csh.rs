//! Statements of csh. `eval` of a command's output joins its lines, so each ends with a semicolon.

use super::super::quote;
use super::super::statements::Statement;

/// A statement on a line; arrays have been taken apart.
pub(super) fn line(statement: &Statement) -> String {
    match statement {
        Statement::Array(name, values) => line(&Statement::Scalar(name.clone(), values.join(" "))),
        Statement::Scalar(name, value) => format!("set {name} = {};\n", quote::csh(value)),
        Statement::Echo(text) => format!("echo {};\n", quote::csh(text)),
    }
}
