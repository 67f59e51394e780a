//! Texts of sets: hexadecimal masks and compact lists, both ways.
//! In: a text of a user, of Slurm or of the kernel. Out: a set, or an error that names what is
//! wrong. Pure; strict, bounded by `MAX_CPUS`.

use std::fmt;

use crate::sets::cpuset::{BITS, CpuSet, MAX_CPUS, Set};
use crate::sets::ids::CpuId;
use crate::sets::text::TextError;

/// The digits of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// As in Slurm's `bit_fmt_hexmask`.
    Upper,
    /// As in Slurm's `task_cpuset_to_str`.
    Lower,
}

impl Digits {
    fn letters(self) -> &'static [u8; 16] {
        match self {
            Self::Upper => b"0123456789ABCDEF",
            Self::Lower => b"0123456789abcdef",
        }
    }
}

/// Bits of a digit, digits of a word.
const PER_DIGIT: u32 = 4;
const PER_WORD: u32 = BITS / PER_DIGIT;
/// The digits of a word without members.
const ZEROS: [u8; PER_WORD as usize] = [ZERO; PER_WORD as usize];
/// Texts of masks begin as zeros, because most digits of a task's mask are zeros.
pub(crate) const ZERO: u8 = b'0';

impl<T> Set<T> {
    /// `0x` and upper-case digits, padded with zeros to `width` bits: the form
    /// of Slurm's `bit_fmt_hexmask`, in which masks travel in a launch message.
    ///
    /// Members at or beyond `width` are kept: the text grows.
    #[must_use]
    pub fn to_hex(&self, width: u32) -> String {
        self.text(width, Digits::Upper)
    }

    /// `0x` and small digits without leading zeros: the form of Slurm's
    /// `task_cpuset_to_str`, in which its verbose report prints masks.
    #[must_use]
    pub fn to_short_hex(&self) -> String {
        self.text(1, Digits::Lower)
    }

    fn text(&self, width: u32, digits: Digits) -> String {
        let mut text = vec![ZERO; self.hex_length(width)];
        self.put(digits, &mut text);
        // It is ASCII.
        String::from_utf8(text).unwrap_or_default()
    }

    /// The number of characters of its mask, padded with zeros to `width` bits.
    pub(crate) fn hex_length(&self, width: u32) -> usize {
        let fits = self.word_count() as u32 * BITS <= width;
        let width = if fits { width } else { self.width().max(width) };
        width.div_ceil(PER_DIGIT) as usize + 2
    }

    /// One more than the highest member.
    fn width(&self) -> u32 {
        self.highest_number().map_or(0, |number| number + 1)
    }

    /// Makes its mask of a text of zeros that has room for `0x` and all of its digits.
    pub(crate) fn put(&self, digits: Digits, text: &mut [u8]) {
        let letters = digits.letters();
        text[1] = b'x';
        for (at, word) in self.numbered() {
            let units = text.len() - 1 - at * PER_WORD as usize;
            let mut rest = word;
            while rest != 0 {
                let place = rest.trailing_zeros() / PER_DIGIT;
                let digit = rest >> (place * PER_DIGIT) & 0xf;
                rest &= !(0xf << (place * PER_DIGIT));
                text[units - place as usize] = letters[digit as usize];
            }
        }
    }

    /// The digits of [`CpuSet::to_short_hex`] alone.
    pub(crate) fn write_short(&self, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str(&self.to_short_hex()[2..])
    }

    /// Reads a hexadecimal mask, with or without `0x`.
    ///
    /// # Errors
    /// [`TextError`] for no digits, another character, or a CPU past `MAX_CPUS`.
    pub fn from_hex(text: &str) -> Result<Self, TextError> {
        Self::from_hex_within(text, MAX_CPUS)
    }

    /// Reads a hexadecimal mask of CPUs below `width`, rounded up to whole digits: a wider mask is refused before
    /// memory is allocated for it. Leading zeros cost nothing.
    ///
    /// # Errors
    /// [`TextError`] as for [`CpuSet::from_hex`].
    pub fn from_hex_within(text: &str, width: u32) -> Result<Self, TextError> {
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))
            .unwrap_or(text);
        if digits.is_empty() {
            return Err(TextError::new(text, "a hexadecimal mask"));
        }
        let significant = digits.trim_start_matches('0');
        if significant.len() > width.div_ceil(PER_DIGIT) as usize {
            return Err(TextError::new(
                text,
                &format!("a mask of CPUs below {width}"),
            ));
        }
        // All zeros is a mask too, of one digit.
        let digits = match significant {
            "" => "0",
            some => some,
        };
        let wrong = || TextError::new(text, "a hexadecimal mask");
        // Most digits of one task's mask are zeros, so a whole word of them is tested at once.
        let digits = digits.as_bytes();
        let mut words = Vec::with_capacity(digits.len().div_ceil(PER_WORD as usize));
        for part in digits.rchunks(PER_WORD as usize) {
            let mut word = 0;
            for digit in part.iter().filter(|_| *part != ZEROS) {
                let value = char::from(*digit).to_digit(16).ok_or_else(wrong)?;
                word = word << PER_DIGIT | u64::from(value);
            }
            words.push(word);
        }
        Ok(Self::from_words(words))
    }
}

impl CpuSet {
    /// Reads a compact list as the kernel writes it: `0-3,8`. Empty is the empty set.
    ///
    /// # Errors
    /// [`TextError`] for anything else, a descending range, or a CPU past `MAX_CPUS`.
    pub fn from_list(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        let mut set = Self::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let wrong = || TextError::new(part, "a CPU number or a range such as 0-3");
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let low = parse_number(low).ok_or_else(wrong)?;
            let high = parse_number(high).ok_or_else(wrong)?;
            if low > high {
                return Err(wrong());
            }
            if high >= MAX_CPUS {
                return Err(TextError::too_large(part));
            }
            for cpu in low..=high {
                set.insert(CpuId(cpu));
            }
        }
        Ok(set)
    }
}

/// A plain decimal number: digits only, no sign, no blank.
pub(crate) fn parse_number(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
