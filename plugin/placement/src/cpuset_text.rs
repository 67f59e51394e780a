//! Texts of CPU sets: hexadecimal masks and compact lists, both ways.
//! In: what a user, Slurm or the kernel wrote. Out: a set, or what was wrong.
//! Pure; strict, bounded by `MAX_CPUS`.

use crate::cpuset::{CpuSet, MAX_CPUS};
use crate::error::TextError;
use crate::ids::CpuId;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
/// Bits of a digit, digits of a word.
const PER_DIGIT: u32 = 4;
const PER_WORD: usize = 16;

impl CpuSet {
    /// `0x` and upper-case digits, padded with zeros to `width` bits: the form
    /// of Slurm's `bit_fmt_hexmask`, in which masks travel in a launch message.
    ///
    /// Members at or beyond `width` are kept: the text grows.
    #[must_use]
    pub fn to_hex(&self, width: u32) -> String {
        ascii(|text| self.write_hex(width, text))
    }

    /// Masks of one task have few members and many zeros: the zeros are written
    /// at once, then the digits of words that are not zero.
    fn write_hex(&self, width: u32, out: &mut Vec<u8>) {
        let needed = self.highest().map_or(0, |cpu| cpu.0 + 1);
        let digits = width.max(needed).div_ceil(PER_DIGIT) as usize;
        out.extend_from_slice(b"0x");
        out.resize(out.len() + digits, b'0');
        let end = out.len();
        for (at, &word) in self.words().iter().enumerate() {
            let mut rest = word;
            let mut digit = end - at * PER_WORD;
            while rest != 0 {
                digit -= 1;
                out[digit] = DIGITS[(rest & 0xf) as usize];
                rest >>= PER_DIGIT;
            }
        }
    }

    /// `0x` and small digits without leading zeros: the form of Slurm's
    /// `task_cpuset_to_str`, in which its verbose report prints masks.
    #[must_use]
    pub fn to_short_hex(&self) -> String {
        if self.is_empty() {
            return "0x0".into();
        }
        self.to_hex(0).to_ascii_lowercase()
    }

    /// Reads a hexadecimal mask, with or without `0x`.
    ///
    /// # Errors
    /// [`TextError`] for no digits, another character, or a CPU past `MAX_CPUS`.
    pub fn from_hex(text: &str) -> Result<Self, TextError> {
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))
            .unwrap_or(text);
        if digits.is_empty() {
            return Err(TextError::new(text, "a hexadecimal mask"));
        }
        if digits.len() > (MAX_CPUS / PER_DIGIT) as usize {
            return Err(TextError::too_large(text));
        }
        let mut words = vec![0u64; digits.len().div_ceil(16)];
        for (at, digit) in digits.bytes().rev().enumerate() {
            let value = char::from(digit)
                .to_digit(16)
                .ok_or_else(|| TextError::new(text, "a hexadecimal mask"))?;
            words[at / 16] |= u64::from(value) << (at % 16 * 4);
        }
        Ok(Self::from_words(words))
    }

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

/// Masks joined with commas, each padded to `width` bits.
#[must_use]
pub fn join_masks(masks: &[CpuSet], width: u32) -> String {
    ascii(|text| {
        text.reserve(masks.len() * (width.div_ceil(PER_DIGIT) as usize + 3));
        for (at, mask) in masks.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            mask.write_hex(width, text);
        }
    })
}

fn ascii(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut text = Vec::new();
    write(&mut text);
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_masks_both_ways() {
        for (text, list, width, padded) in [
            ("0x1", "0", 8, "0x01"),
            ("f", "0-3", 16, "0x000F"),
            ("0x8000000000000001", "0,63", 0, "0x8000000000000001"),
            ("0x10000000000000000", "64", 2, "0x10000000000000000"),
            ("0x0", "", 4, "0x0"),
        ] {
            let set = CpuSet::from_hex(text).unwrap();
            assert_eq!(set.to_string(), list);
            assert_eq!(set.to_hex(width), padded);
            assert_eq!(CpuSet::from_list(list).unwrap(), set);
        }
        assert_eq!(CpuSet::new().to_short_hex(), "0x0");
        assert_eq!(CpuSet::first(9).to_short_hex(), "0x1ff");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0x", "g", "-1", "0x1 ", "+f"] {
            assert!(
                CpuSet::from_hex(text).is_err(),
                "{text:?} was taken as a mask"
            );
        }
        assert!(CpuSet::from_hex(&"f".repeat(20_000)).is_err());
        for text in [
            "x",
            "3-1",
            "1,,2",
            "0-",
            "-3",
            "99999999",
            "1;2",
            "0-4000000000",
        ] {
            assert!(
                CpuSet::from_list(text).is_err(),
                "{text:?} was taken as a list"
            );
        }
    }

    #[test]
    fn no_width_is_fixed() {
        let far = CpuSet::from_list("5000,65535").unwrap();
        assert_eq!(CpuSet::from_hex(&far.to_hex(0)).unwrap(), far);
        assert_eq!(far.count(), 2);
        assert_eq!(far.highest(), Some(CpuId(65535)));
    }
}
