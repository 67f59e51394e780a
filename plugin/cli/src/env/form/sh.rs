//! Statements of the POSIX shell.

use super::super::quote;
use super::super::statements::Statement;

/// A statement on a line; arrays have been taken apart.
pub(super) fn line(statement: &Statement) -> String {
    match statement {
        Statement::Array(name, values) => line(&Statement::Scalar(name.clone(), values.join(" "))),
        Statement::Scalar(name, value) => format!("{name}={}\n", quote::sh(value)),
        Statement::Echo(text) => format!("echo {}\n", quote::sh(text)),
    }
}
