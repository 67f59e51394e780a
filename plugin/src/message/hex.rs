//! Bytes of marks as hexadecimal digits.

/// Two small hexadecimal digits for each byte.
pub(crate) fn digits<const BYTES: usize>(bytes: [u8; BYTES]) -> String {
    let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
    let mut digits = [[b'0'; 2]; BYTES];
    for (pair, byte) in digits.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 0xf)];
    }
    String::from_utf8(digits.as_flattened().to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(super::digits([0xff, 0x00, 0x09, 0x1a, 0xf0]), "ff00091af0");
    }
}
