//! Every reader of text that a user or an administrator can write. None may panic; an error says what it found and stays
//! short; what is accepted reads the same again from its own text. `ci/fuzz` lets libFuzzer look for texts that break this:
//! it keeps each text that reaches new code, and changes it.

mod answer;
mod cluster;
mod site;
mod targets;

use targets::TARGETS;

/// How a reader took a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It reads the same again from its own text.
    Accepted,
    /// With this error.
    Refused(String),
    /// It broke a promise.
    Wrong(String),
}

/// A reader, under the name that `words.dict` has for the words of its texts.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name.
    pub name: &'static str,
    read: fn(&str) -> Verdict,
}

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// Hands the reader a text.
///
/// # Panics
/// Where the reader breaks a promise.
pub fn check(target: Target, text: &str) -> Verdict {
    let name = target.name;
    match (target.read)(text) {
        Verdict::Wrong(why) => panic!("{name}: {why}: {text:?}"),
        Verdict::Refused(why) if !(1..=2000).contains(&why.len()) => {
            panic!("{name}: its error has {} bytes: {text:?}", why.len())
        }
        verdict => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = include_str!("../words.dict");

    /// The words below a name, without the marks of a dictionary.
    fn words(name: &str) -> Vec<String> {
        let lines = WORDS
            .lines()
            .skip_while(|line| *line != format!("# {name}"));
        let quoted = lines
            .skip(1)
            .map_while(|line| line.strip_prefix('"')?.strip_suffix('"'));
        let word = |text: &str| {
            text.replace("\\x0a", "\n")
                .replace("\\\"", "\"")
                .replace("\\\\", "\\")
        };
        quoted.map(word).collect()
    }

    /// A reader that takes everything, or nothing, proves nothing.
    #[test]
    fn each_target_accepts_and_refuses_texts_of_its_words() {
        for target in TARGETS {
            let words = words(target.name);
            let pairs = words.windows(2).map(|pair| pair.concat());
            let verdicts: Vec<_> = words
                .iter()
                .cloned()
                .chain(pairs)
                .map(|text| check(*target, &text))
                .collect();
            assert!(
                verdicts.contains(&Verdict::Accepted),
                "{} accepts none",
                target.name
            );
            assert!(
                verdicts
                    .iter()
                    .any(|one| matches!(one, Verdict::Refused(_))),
                "{} refuses none",
                target.name
            );
        }
    }
}
