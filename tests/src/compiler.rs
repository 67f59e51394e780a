//! Programs and libraries of the C texts in `tests/c`.

use std::path::Path;
use std::process::Command;

use crate::output::Done;

/// Compiles a text into a folder. First of the words is the name of what is made, then the compiler's options: `NAME` is a
/// program, `NAME.so` a library, and `NAME.c` the text.
///
/// # Panics
/// With the compiler's words if the text is wrong.
pub fn compile(folder: &Path, words: &str) {
    let words = shlex::split(words).expect("a name and options");
    let (name, options) = words.split_first().expect("a name");
    let (text, kind) = match name.strip_suffix(".so") {
        Some(library) => (library, &["-shared", "-fPIC"][..]),
        None => (name.as_str(), &[][..]),
    };
    let text = format!("{}/c/{text}.c", env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Command::new("cc");
    compiler.args(kind).args(options).arg("-o");
    let output = compiler.arg(folder.join(name)).arg(text).output();
    Done::from(output.expect("cc can be run")).expect_ok();
}
