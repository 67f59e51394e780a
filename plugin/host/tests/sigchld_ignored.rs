//! With SIGCHLD ignored the kernel keeps no exit status: the written file decides.
//! Alone in its process, since that setting holds for all of it.
//! Also shows that the child's own SIGCHLD is the default one again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use berth_host::discover_child::{ChildError, Discovery};
use nix::sys::signal::{SigHandler, Signal, signal};

#[test]
fn the_file_decides_where_the_status_is_lost() {
    // SAFETY: no handler is installed, and this process has no other test.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) }.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (script, output) = (dir.path().join("berth"), dir.path().join("out"));
    let limit = Duration::from_secs(20);
    let run = |body: &str| {
        fs::write(&script, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        Discovery::start(&script, &output)?.finish(limit)
    };
    let lost = run("exit 3").unwrap_err();
    assert!(matches!(lost, ChildError::NoFile { .. }), "{lost}");
    run("grep SigIgn /proc/self/status > \"$3\"").unwrap();
    let ignored = fs::read_to_string(&output).unwrap();
    let bits = ignored.trim_start_matches("SigIgn:").trim();
    let bits = u64::from_str_radix(bits, 16).unwrap();
    assert_eq!(bits >> (libc::SIGCHLD - 1) & 1, 0, "{ignored}");
}
