//! A line of text that needs no allocator, for the task between fork and exec.
//! It is written with one system call; what does not fit is cut, and the line still ends.

use std::{fmt, io};

/// Room for a host name, the words of a report and a mask of some thousand nodes.
const SIZE: usize = 1536;

/// One line under construction.
pub(crate) struct StackLine {
    bytes: [u8; SIZE],
    used: usize,
}

impl StackLine {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; SIZE],
            used: 0,
        }
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    /// Writes it to stderr, which is the job's by now.
    pub(crate) fn send(&self) {
        // A short or failed write loses a report, nothing else.
        let _ = nix::unistd::write(io::stderr(), self.text());
    }
}

impl fmt::Write for StackLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut room = self.bytes.get_mut(self.used..).unwrap_or_default();
        // A slice takes as much as it has room for.
        self.used += io::Write::write(&mut room, text.as_bytes()).unwrap_or_default();
        if self.used == SIZE
            && let Some(last) = self.bytes.last_mut()
        {
            *last = b'\n';
        }
        Ok(())
    }
}

/// Shows words as one number in small hexadecimal digits; the lowest word comes first in the slice.
pub(crate) struct Hex<'a>(pub &'a [u64]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.0.iter().rev().skip_while(|word| **word == 0);
        write!(f, "{:x}", words.next().unwrap_or(&0))?;
        words.try_for_each(|word| write!(f, "{word:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn words_are_one_number() {
        for (words, text) in [
            (&[][..], "0"),
            (&[0, 0], "0"),
            (&[0xc], "c"),
            (&[1, 0x2f, 0], "2f0000000000000001"),
        ] {
            assert_eq!(Hex(words).to_string(), text);
        }
    }

    #[test]
    fn too_long_a_line_is_cut_and_ends() {
        let mut line = StackLine::new();
        let long = "x".repeat(SIZE - 1);
        let _ = writeln!(line, "{long}");
        assert_eq!(line.text().len(), SIZE);
        let _ = writeln!(line, "more");
        assert_eq!(line.text().len(), SIZE);
        assert_eq!(line.text().last(), Some(&b'\n'));
        assert_eq!(line.text().iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
