//! The word that was probably meant. Pure.

/// Longer words are no typing errors, and comparing them takes time.
const LONGEST: usize = 64;

/// The most letters that differ.
const FAR: usize = 4;

/// The known word that is nearest to a mistyped one, if one is near.
pub(super) fn nearest<const N: usize>(
    text: &str,
    known: [&'static str; N],
) -> Option<&'static str> {
    if text.len() > LONGEST {
        return None;
    }
    let upper = text.to_ascii_uppercase();
    let scored = known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&upper, word), word));
    scored
        .min()
        .filter(|(far, _)| *far <= FAR)
        .map(|(_, word)| word)
}
