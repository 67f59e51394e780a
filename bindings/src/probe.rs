//! Reads memory that may not exist, for the checks that decide whether a table can be trusted.
//! The kernel copies (process_vm_readv), so a wrong address is an error and not a crash.

use std::ffi::c_void;

/// The result of a look at an address range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// All of it.
    Bytes(Vec<u8>),
    /// Not all of it is mapped.
    Unreadable,
    /// The kernel forbids the call here (seccomp), so nothing is known.
    Unknown,
}

const PAGE: usize = 4096;

/// Copies `length` bytes from `address`.
pub(crate) fn bytes(address: usize, length: usize) -> Probe {
    let mut copy = vec![0u8; length];
    let local = libc::iovec {
        iov_base: copy.as_mut_ptr().cast::<c_void>(),
        iov_len: length,
    };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: length,
    };
    if length == 0 {
        return Probe::Bytes(copy);
    }
    // SAFETY: the kernel writes at most `length` bytes into `copy`, which has them, and checks
    // the other address itself.
    let got = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    match usize::try_from(got) {
        Ok(got) if got == length => Probe::Bytes(copy),
        Ok(_) => Probe::Unreadable,
        Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) => {
            Probe::Unreadable
        }
        Err(_) => Probe::Unknown,
    }
}

/// The C string at `address` without its NUL. It is `Unreadable` if it is longer than `limit` or
/// unmapped.
pub(crate) fn text(address: usize, limit: usize) -> Probe {
    let mut found = Vec::new();
    while found.len() <= limit {
        let Some(at) = address.checked_add(found.len()) else {
            return Probe::Unreadable;
        };
        // Each read goes up to the end of a page, because the next page may not be mapped.
        match bytes(at, PAGE - at % PAGE) {
            Probe::Bytes(page) => match page.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    found.extend(page.into_iter().take(end));
                    return if found.len() <= limit {
                        Probe::Bytes(found)
                    } else {
                        Probe::Unreadable
                    };
                }
                None => found.extend(page),
            },
            other => return other,
        }
    }
    Probe::Unreadable
}
