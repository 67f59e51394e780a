//! The list of changes: `name=value`, each ended by a NUL byte, so that a value may hold anything
//! else. Names are those of the request's fields, `env` for one more variable, and `option NAME`
//! for the argument of a SPANK option that srun was given.

/// Name and value of one change.
pub type Change<'a> = (&'a str, &'a [u8]);

/// The changes of a list, in order; what is wrong with the first that is none.
///
/// # Errors
/// Without a name, a `=`, or the NUL byte.
pub fn parse(list: &[u8]) -> Result<Vec<Change<'_>>, String> {
    let mut changes = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or("the last change does not end in a NUL byte")?;
        let (change, others) = (&rest[..end], &rest[end + 1..]);
        let equals = change.iter().position(|byte| *byte == b'=');
        let equals = equals.ok_or("a change has no =")?;
        let name = std::str::from_utf8(&change[..equals]).map_err(|why| why.to_string())?;
        changes.push((name, &change[equals + 1..]));
        rest = others;
    }
    Ok(changes)
}

/// A number, decimal or hexadecimal with `0x`.
#[must_use]
pub fn number(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?;
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{number, parse};

    #[test]
    fn values_hold_anything_but_nul() {
        let list = b"cpu_bind=0x1\n=2\0env=A=B\0mem_bind=\0";
        let changes = parse(list).unwrap();
        assert_eq!(
            changes,
            [
                ("cpu_bind", &b"0x1\n=2"[..]),
                ("env", b"A=B"),
                ("mem_bind", b"")
            ]
        );
        assert!(parse(b"cpu_bind=1").is_err());
        assert!(parse(b"cpu_bind\0").is_err());
        assert_eq!(parse(b"").unwrap(), []);
    }

    #[test]
    fn numbers_of_both_kinds() {
        assert_eq!(number(b"0x8100"), Some(0x8100));
        assert_eq!(number(b"65535"), Some(65535));
        assert_eq!(number(b"-1"), None);
    }
}
