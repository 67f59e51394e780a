//! Lets one user pass through a folder of root's: an access control list, as acl(5) describes it.
//! In: a path and a user. Out: the list at the folder, or the system's error.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// linux/posix_acl_xattr.h: the version, and the tags of the entries.
const VERSION: u32 = 2;
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
/// The number of entries that name nobody.
const NOBODY: u32 = u32::MAX;

const PASS: u16 = 1;
const ALL: u16 = 7;

/// Lets the user pass, and the folder's group and all others not.
pub(super) fn let_pass(path: &Path, uid: u32) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let name = c"system.posix_acl_access";
    let list = list(uid);
    // SAFETY: both names end in NUL, and the kernel reads as many bytes as the list has (setxattr(2)).
    let done = unsafe {
        libc::lsetxattr(
            path.as_ptr(),
            name.as_ptr(),
            list.as_ptr().cast(),
            list.len(),
            0,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn list(uid: u32) -> Vec<u8> {
    let entries = [
        (USER_OBJ, ALL, NOBODY),
        (USER, PASS, uid),
        (GROUP_OBJ, 0, NOBODY),
        (MASK, PASS, NOBODY),
        (OTHER, 0, NOBODY),
    ];
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, may, who) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(may.to_le_bytes());
        bytes.extend(who.to_le_bytes());
    }
    bytes
}
