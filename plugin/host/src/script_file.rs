//! Batch scripts that a line names: bounded, and only if they are regular files.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// The most bytes of a script; sbatch takes 4 MiB where a site sets nothing else.
pub(crate) const MOST: u64 = 4 << 20;

/// A regular file's text. A pipe is not waited for, and a device is not opened.
///
/// # Errors
/// Why it was not read.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |why: std::io::Error| format!("it cannot be read: {why}");
    let is_file = |found: fs::Metadata| match found.is_file() {
        true => Ok(()),
        false => Err("it is no regular file".to_string()),
    };
    is_file(fs::metadata(path).map_err(cannot)?)?;
    // What was a file may have become a pipe since.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(cannot)?;
    is_file(file.metadata().map_err(cannot)?)?;
    let mut bytes = Vec::new();
    let read = file.take(MOST + 1).read_to_end(&mut bytes);
    match read.map_err(cannot)? as u64 > MOST {
        true => Err(format!("it has more than {MOST} bytes")),
        false => Ok(bytes),
    }
}
