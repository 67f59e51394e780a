//! Facts as lines of a text: `QUESTION => ANSWER`.
//!
//! | line | meaning |
//! |---|---|
//! | `# TEXT` | a comment |
//! | `use WORDS` | what the questions below are about |
//! | `QUESTION => ANSWER` | a fact |
//!
//! Each may go on in lines that begin with blanks.
//!
//! A question may stand in quotes. In it `\n`, `\r`, `\t` and `\e` stand for the characters of these names, and `…` in an
//! answer for any text.

#[path = "pattern.rs"]
mod pattern;

pub use pattern::is_like;

/// Answers each question, with the words of the last `use` before it, and fails with all answers that are others.
#[track_caller]
pub fn hold(text: &str, answer: impl Fn(&str, &str) -> String) {
    let mut wrong = String::new();
    let mut facts = 0;
    let mut context = String::new();
    let mut lines = text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let mut fact = line.to_owned();
        while let Some((more, _)) = lines.next_if(|(line, _)| line.starts_with(' ')) {
            fact = format!("{fact} {}", more.trim());
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(words) = fact.strip_prefix("use ") {
            context = words.to_owned();
            continue;
        }
        facts += 1;
        let (question, expected) = fact.split_once("=>").unwrap_or((&fact, "a line with =>"));
        let (question, expected) = (question.trim(), expected.trim());
        let found = answer(&context, &plain(question));
        if !is_like(found.trim_end(), expected) {
            wrong += &format!(
                "line {number}, {context}: {question}\n  expected {expected}\n  found    {found}\n"
            );
        }
    }
    assert!(facts > 0, "no fact");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A question without its quotes, with the characters that its escapes stand for.
fn plain(question: &str) -> String {
    let quoted = question
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let text = quoted.unwrap_or(question).replace("\\n", "\n");
    let text = text.replace("\\r", "\r").replace("\\t", "\t");
    text.replace("\\e", "\x1b")
}

/// Whether something is taken, in a word.
#[allow(dead_code, reason = "not every crate's facts need it")]
pub fn taken<T, E>(found: Result<T, E>) -> String {
    if found.is_ok() { "taken" } else { "refused" }.to_owned()
}

#[test]
fn a_wrong_answer_is_named() {
    let text = "use a\n1 => b…d\n2 => x\n  y\n";
    hold(text, |_, question| {
        if question == "1" { "bcd" } else { "x y" }.into()
    });
    let failure =
        std::panic::catch_unwind(|| hold(text, |context, question| format!("{context}{question}")));
    let failure = *failure.unwrap_err().downcast::<String>().unwrap();
    let expected = "line 2, a: 1\n  expected b…d\n  found    a1\nline 3, a: 2\n  expected x y\n  found    a2\n";
    assert_eq!(failure.trim_start(), expected);
}
