//! Texts of limited length: a user's list of a megabyte must not become a message of a megabyte.
//! In: anything that can be written, and a limit. Out: the text within the limit. Pure.

use std::fmt::{self, Write};

use crate::sets::limits::REPEATED_VALUE;

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
    // What does not fit is cut on purpose.
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
    let mut clean = String::new();
    for letter in text.trim().chars() {
        let letter = match letter {
            control if control.is_control() => char::REPLACEMENT_CHARACTER,
            other => other,
        };
        if clean.len() + letter.len_utf8() > room {
            break;
        }
        clean.push(letter);
    }
    clean
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
}
