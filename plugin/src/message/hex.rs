//! Bytes as hexadecimal digits: marks, and characters that a field cannot have.
//! In: bytes. Out: their digits within a text.

/// Puts two small hexadecimal digits for each byte into a text, at a place between characters.
pub(crate) fn insert<const BYTES: usize>(text: &mut String, at: usize, bytes: [u8; BYTES]) {
    let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
    let mut digits = [[b'0'; 2]; BYTES];
    for (pair, byte) in digits.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 0xf)];
    }
    // They are ASCII.
    text.insert_str(
        at,
        str::from_utf8(digits.as_flattened()).unwrap_or_default(),
    );
}

/// The same at a text's end.
pub(crate) fn push<const BYTES: usize>(text: &mut String, bytes: [u8; BYTES]) {
    insert(text, text.len(), bytes);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_has_two_digits() {
        let mut text = String::from("0x");
        super::push(&mut text, [0x00, 0x09, 0x1a, 0xf0]);
        super::insert(&mut text, 2, [0xff]);
        assert_eq!(text, "0xff00091af0");
    }
}
