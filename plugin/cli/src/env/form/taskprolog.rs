//! Lines that Slurm reads from a TaskProlog: they set variables of the task's environment, and print.
//! Slurm takes the rest of a line as it is, so a line break in a value cannot be passed on.

use super::super::statements::Statement;
use crate::say;

/// A statement on a line; arrays have been taken apart.
pub(super) fn line(statement: &Statement) -> String {
    match statement {
        Statement::Array(name, values) => line(&Statement::Scalar(name.clone(), values.join(" "))),
        Statement::Scalar(name, value) => {
            if value.contains('\n') {
                say::note(&format!("the line breaks in {name} are printed as blanks"));
            }
            format!("export {name}={}\n", value.replace('\n', " "))
        }
        Statement::Echo(text) => format!("print {text}\n"),
    }
}
