//! One line of a file of the site, cut into its words.
//! In: `key=value key='a value' # comment`. Out: keys and values, in the line's order. Pure.

/// A line has fewer words than this.
const MOST_WORDS: usize = 32;

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub key: String,
    /// The value without its quotes.
    pub value: String,
}

/// The words of a line. Quotes of both kinds keep blanks, `#` and each other; a `#` at the beginning of a
/// word begins a comment.
///
/// # Errors
/// The reason, if a quote does not end on the line, a word has no `=`, or there are too many words.
pub(crate) fn words(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        if matches!(letters.peek(), None | Some('#')) {
            return Ok(words);
        }
        if words.len() == MOST_WORDS {
            return Err(format!("the line has more than {MOST_WORDS} words"));
        }
        words.push(word(&mut letters)?);
    }
}

/// One word, up to the next blank outside quotes.
fn word(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Word, String> {
    let (mut text, mut key, mut quote) = (String::new(), None, None);
    while let Some(letter) = letters.next_if(|letter| quote.is_some() || !letter.is_whitespace()) {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => quote = Some(letter),
            ('=', None) if key.is_none() => key = Some(std::mem::take(&mut text)),
            (letter, _) => text.push(letter),
        }
    }
    match (quote, key) {
        (Some(quote), _) => Err(format!("the quote {quote} does not end on this line")),
        (None, None) => Err(format!(
            "{} is no word of the form key=value",
            berth_placement::sets::text::shown(SHOWN, &text)
        )),
        (None, Some(key)) => Ok(Word { key, value: text }),
    }
}

/// Characters of a word that a reason repeats.
pub(crate) const SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str) -> Result<Vec<(String, String)>, String> {
        let all = words(line)?;
        Ok(all.into_iter().map(|word| (word.key, word.value)).collect())
    }

    #[test]
    fn words_end_at_blanks_outside_quotes() {
        for (line, want) in [
            ("", &[][..]),
            ("  # name=a", &[]),
            (
                "name=a cpus=0-3 # nodes=x",
                &[("name", "a"), ("cpus", "0-3")],
            ),
            ("\tname=a\tcpus=0#1", &[("name", "a"), ("cpus", "0#1")]),
            (
                "default='CPUSET[CPU_LIST=1, 5]' mandatory=\"it's # kept\"",
                &[
                    ("default", "CPUSET[CPU_LIST=1, 5]"),
                    ("mandatory", "it's # kept"),
                ],
            ),
            ("name=a' 'b options=", &[("name", "a b"), ("options", "")]),
        ] {
            let want: Vec<_> = want
                .iter()
                .map(|(key, value)| (String::from(*key), String::from(*value)))
                .collect();
            assert_eq!(cut(line).unwrap(), want, "{line}");
        }
    }

    #[test]
    fn what_is_no_line_has_a_reason() {
        for (line, says) in [
            ("name='a", "the quote ' does not end"),
            ("name=a cpus", "cpus is no word of the form key=value"),
            (&"a=b ".repeat(33), "more than 32 words"),
        ] {
            let why = cut(line).unwrap_err();
            assert!(why.contains(says), "{line}: {why}");
        }
    }
}
