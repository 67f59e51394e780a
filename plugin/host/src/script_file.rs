//! Batch scripts that a line names, and configuration files: bounded, and only if they are regular files.
//! In: a path as the user typed it. Out: the text, or why it was not read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The most bytes of a script; sbatch takes 4 MiB where a site sets nothing else.
pub const MOST: u64 = 4 << 20;

/// A regular file's whole content.
///
/// # Errors
/// Why it was not read: also if it has more than `most` bytes.
pub fn content(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let bytes = head(path, most + 1)?;
    match bytes.len() as u64 > most {
        true => Err(format!("it has more than {most} bytes")),
        false => Ok(bytes),
    }
}

/// A regular file's whole text.
///
/// # Errors
/// As [`content`].
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    let bytes = content(path, most)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first bytes of a regular file, at most so many. A pipe is not waited for, and not even
/// opened: its writer would take that for the command that reads it. A device is not opened either.
///
/// # Errors
/// Why it was not read.
pub fn head(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    is_regular(std::fs::metadata(path))?;
    // The file may have become a pipe since.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(cannot)?;
    is_regular(file.metadata())?;
    read(file, most).map_err(cannot)
}

fn read(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_regular(found: io::Result<Metadata>) -> Result<(), String> {
    match found.map_err(cannot)?.is_file() {
        true => Ok(()),
        false => Err("it is no regular file".into()),
    }
}

fn cannot(why: io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        _ => format!("it cannot be read: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        std::fs::write(&path, "#!/bin/sh\nhostname\n").unwrap();
        assert_eq!(head(&path, 4), Ok(b"#!/b".to_vec()));
        assert_eq!(content(&path, MOST), Ok(b"#!/bin/sh\nhostname\n".to_vec()));
        std::fs::write(&path, vec![b'#'; MOST as usize + 1]).unwrap();
        assert_eq!(
            content(&path, MOST),
            Err("it has more than 4194304 bytes".into())
        );

        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for other in [&pipe, folder.path()] {
            assert_eq!(head(other, 9), Err("it is no regular file".into()));
        }
        let missing = head(&folder.path().join("nothing"), 9).unwrap_err();
        assert_eq!(missing, "there is no such file");
    }
}
