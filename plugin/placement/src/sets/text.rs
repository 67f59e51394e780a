//! Texts for people: of limited length, with numbers in sentences, with the known word beside a mistyped one, and the
//! error of a text that cannot be read. In: values, and a limit. Out: texts. Pure.

use std::fmt::{self, Display, Write};

use crate::sets::limits::{MAX_CPUS, REPEATED_VALUE};

/// Most texts are shorter.
const USUAL_LENGTH: usize = 128;

/// A text with limited room. It refuses what no longer fits, so the writer stops.
#[derive(Debug)]
pub struct Bounded {
    text: String,
    room: usize,
    cut: bool,
}

impl Bounded {
    /// An empty text with room for `room` bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self {
            text: String::with_capacity(room.min(USUAL_LENGTH)),
            room,
            cut: false,
        }
    }

    /// The written text, whole or cut.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// The written text; an ellipsis shows that there was more.
    #[must_use]
    pub fn into_shown(mut self) -> String {
        if self.cut {
            self.text.push('…');
        }
        self.text
    }

    /// Whether something did not fit.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

impl Bounded {
    /// The number of bytes that still fit.
    fn free_bytes(&self) -> usize {
        self.room.saturating_sub(self.text.len())
    }

    /// Takes the part of a text that fits.
    fn cut(&mut self, text: &str) -> fmt::Result {
        let mut fits = self.free_bytes().min(text.len());
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text.push_str(&text[..fits]);
        self.cut = true;
        Err(fmt::Error)
    }
}

impl Write for Bounded {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.cut || text.len() > self.free_bytes() {
            return self.cut(text);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// A value as a message repeats it: at most `room` bytes, then an ellipsis.
#[must_use]
pub fn shown(room: usize, value: impl fmt::Display) -> String {
    let mut text = Bounded::new(room);
    // A text that does not fit is cut on purpose.
    let _ = write!(text, "{value}");
    text.into_shown()
}

/// A user's value as a refusal repeats it: short enough for a terminal.
#[must_use]
pub fn repeated(value: impl fmt::Display) -> String {
    shown(REPEATED_VALUE, value)
}

/// A name or a value of firmware, of a driver, or of a file that anybody wrote: at most `room` bytes, without blanks around
/// it and without control characters.
#[must_use]
pub fn harmless(text: &str, room: usize) -> String {
    let mut clean = Bounded::new(room);
    let mut letters = text.trim().chars().map(visible);
    // A text that does not fit is cut on purpose.
    let _ = letters.try_for_each(|letter| clean.write_char(letter));
    clean.into_text()
}

fn visible(letter: char) -> char {
    match letter.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => letter,
    }
}

/// The characters before the wrong place of a text that are shown, and all that are.
const SHOWN_BEFORE: usize = 40;
const SHOWN: usize = 72;

/// The part of an option's text around the wrong place, the byte `at`, above a mark of that place. The text may be
/// long, and contain anything.
pub(crate) fn marked(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text).chars().count();
    let from = before.saturating_sub(SHOWN_BEFORE);
    let shown = text.chars().skip(from).take(SHOWN);
    let shown: String = shown
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect();
    let column = before - from;
    format!("  {shown}\n  {:column$}^", "")
}

/// A text that cannot be read as what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    found: String,
    wanted: String,
}

impl TextError {
    /// `found` is the text, and `wanted` what it should be: `"x" is not …`. Only the beginning of a
    /// long text is kept.
    #[must_use]
    pub fn new(found: &str, wanted: &str) -> Self {
        // A list of a megabyte must not become an error of a megabyte.
        let mut letters = found.chars();
        // Nor may a user's escape sequence reach an administrator's terminal.
        let shown = letters.by_ref().take(40).map(visible);
        let mut short: String = shown.collect();
        if letters.next().is_some() {
            short.push('…');
        }
        Self {
            found: short,
            wanted: wanted.into(),
        }
    }

    pub(crate) fn too_large(found: &str) -> Self {
        Self::new(found, &format!("CPU numbers below {MAX_CPUS}"))
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.as_str() {
            "" => write!(f, "an empty text is not {}", self.wanted),
            found => write!(f, "\"{found}\" is not {}", self.wanted),
        }
    }
}

impl std::error::Error for TextError {}

/// A number with its noun, as `1 core` or `2 cores`. Each of these nouns has an s when they are several.
///
/// ```
/// use berth_placement::sets::text::counted;
///
/// assert_eq!(counted(1, "core"), "1 core");
/// assert_eq!(counted(0, "hardware thread"), "0 hardware threads");
/// ```
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let s = either(&count, "", "s");
    format!("{count} {noun}{s}")
}

/// The word beside a number: one for a single thing, another one for none or several.
///
/// ```
/// use berth_placement::sets::text::either;
///
/// assert_eq!(either(&1, "stays", "stay"), "stays");
/// assert_eq!(either(&2, "CPU", "CPUs"), "CPUs");
/// ```
#[must_use]
pub fn either<'a, N: PartialEq + From<u8>>(count: &N, one: &'a str, several: &'a str) -> &'a str {
    if *count == N::from(1) { one } else { several }
}

/// The numbers below 100, two digits each.
const PAIRS: &str = "0001020304050607080910111213141516171819\
                     2021222324252627282930313233343536373839\
                     4041424344454647484950515253545556575859\
                     6061626364656667686970717273747576777879\
                     8081828384858687888990919293949596979899";

/// Writes a number as [`fmt::Display`] does.
///
/// # Errors
/// Those of the writer.
pub fn write_number(out: &mut impl fmt::Write, number: u32) -> fmt::Result {
    if number >= 100 {
        write_number(out, number / 100)?;
    }
    let end = (number % 100) as usize * 2 + 2;
    let digits = if number < 10 { 1 } else { 2 };
    out.write_str(&PAIRS[end - digits..end])
}

/// Writes numbers as the kernel's compact list: `0-3,8`. Each range has its first and last number.
///
/// # Errors
/// Those of the writer.
pub(crate) fn write_ranges(
    out: &mut impl fmt::Write,
    ranges: impl Iterator<Item = (u32, u32)>,
) -> fmt::Result {
    for (at, (first, last)) in ranges.enumerate() {
        out.write_str(if at > 0 { "," } else { "" })?;
        write_number(out, first)?;
        if first < last {
            out.write_str("-")?;
            write_number(out, last)?;
        }
    }
    Ok(())
}

/// The most bytes of a word that somebody means. Longer ones are no typing errors, and comparing them takes time.
pub const LONGEST_WORD: usize = 64;

/// The most letters that differ where few words are known.
pub const MOST_TYPOS: usize = 4;

/// The known word with the fewest letters that differ (Damerau and Levenshtein's distance), if these are at most `most`.
#[must_use]
pub fn nearest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let distance = |known| (strsim::damerau_levenshtein(word, known), known);
    let (distance, near) = known.into_iter().map(distance).min()?;
    (distance <= most).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_between_characters() {
        assert_eq!(shown(7, "0x1,0x2"), "0x1,0x2");
        assert_eq!(shown(6, "0x1,0x2"), "0x1,0x…");
        assert_eq!(shown(4, "……"), "……");
        assert_eq!(shown(0, ""), "");
        let mut text = Bounded::new(4);
        assert!(text.write_str("abcdef").is_err() && text.is_cut());
        assert!(text.write_str("").is_err(), "nothing follows what was cut");
        assert_eq!(text.into_text(), "abcd");
    }

    #[test]
    fn numbers_are_written_as_a_formatter_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 65_535, 1_000_000_007, u32::MAX] {
            let mut text = String::new();
            write_number(&mut text, number).unwrap();
            assert_eq!(text, number.to_string());
        }
    }
}
