//! The known word that a mistyped one probably means. Pure.

/// The most bytes of a word that somebody means. Longer ones are no typing errors, and comparing them takes time.
pub const LONGEST: usize = 64;

/// The most letters that differ where few words are known.
pub const FAR: usize = 4;

/// The known word with the fewest letters that differ (Damerau and Levenshtein's distance), if these are at most `most`.
#[must_use]
pub fn nearest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let distance = |known| (strsim::damerau_levenshtein(word, known), known);
    let (distance, near) = known.into_iter().map(distance).min()?;
    (distance <= most).then_some(near)
}
