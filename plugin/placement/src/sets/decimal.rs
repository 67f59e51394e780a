//! Numbers as decimal digits, without a formatter: the launch hook writes dozens of them.
//! In: a number. Out: its digits. Pure.

use std::fmt;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_a_formatter_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 65_535, 1_000_000_007, u32::MAX] {
            let mut text = String::new();
            write_number(&mut text, number).unwrap();
            assert_eq!(text, number.to_string());
        }
    }
}
