//! Quotes any text so that a shell reads exactly that text back, and nothing of it is a command.

/// For sh and bash: everything within single quotes is text, but a single quote.
pub(super) fn sh(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// For csh and tcsh, which also find history and the end of a line within single quotes.
pub(super) fn csh(text: &str) -> String {
    let mut all = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' => all.push_str(r"'\''"),
            '!' => all.push_str(r"\!"),
            '\n' => all.push_str("\\\n"),
            other => all.push(other),
        }
    }
    all + "'"
}
