//! SPANK plugins of other makers, compiled from a C text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip;

/// The object of a text, in this folder; none, and the test is skipped, where it cannot be compiled.
///
/// # Panics
/// If the text cannot be written.
#[must_use]
pub fn spank_plugin(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    let (code, object) = (
        folder.join(format!("{name}.c")),
        folder.join(format!("{name}.so")),
    );
    fs::write(&code, text).expect("the C text can be written");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&object, &code])
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        skip("needs a C compiler and Slurm's spank.h");
        return None;
    }
    Some(object)
}
