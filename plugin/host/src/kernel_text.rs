//! Text of the kernel's files about processes, mounts and cgroups. In: a path. Out: at most 16 MiB of its text.
//!
//! Users choose bytes of it: the names of threads and cgroups, the places of mounts. Such a name need not be UTF-8.
//! So the text is read as bytes, and a byte that is no text becomes U+FFFD: it changes its own line alone, and a path
//! with it opens nothing. `clippy.toml` keeps `read_to_string`, which gives nothing at all then, out of the product.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes that are read at most: more than the mounts of hosts with thousands of containers need.
const MOST: u64 = 1 << 24;
/// Bytes that most such texts have: the kernel makes a text anew for each read, so few reads are cheap ones.
const USUAL: usize = 1 << 13;

/// Reads a file of the kernel's.
///
/// # Errors
/// [`io::Error`] of the file that cannot be opened or read. It is for the caller to take that as the dangerous answer.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(USUAL);
    File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|no_text| String::from_utf8_lossy(no_text.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_text_hides_no_other_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status");
        std::fs::write(&path, b"Name:\t\xff\xfe\nUid:\t0\t0\t0\t0\n").unwrap();
        let text = read(&path).unwrap();
        assert_eq!(text, "Name:\t\u{fffd}\u{fffd}\nUid:\t0\t0\t0\t0\n");
        assert!(read(dir.path().join("none")).is_err());
    }

    #[test]
    fn no_text_is_read_without_an_end() {
        let text = read("/dev/zero").unwrap();
        assert_eq!(text.len() as u64, MOST);
    }
}
