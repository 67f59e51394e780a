//! The installed Slurm: its library is loaded here as its programs have it, and asked.
//! One test, since what is loaded stays. Skips, with a reason, where no Slurm is installed.

use slurm_sys::process::Daemon;
use slurm_sys::{Chosen, Slurm, Symbols, process, running};
use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};

/// Folders where packages keep Slurm's plugins and its internal library.
const FOLDERS: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu/slurm-wlm",
    "/usr/lib/aarch64-linux-gnu/slurm-wlm",
    "/usr/lib/x86_64-linux-gnu/slurm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
];

fn open(path: &Path, flags: i32) -> *mut c_void {
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a library of the installed Slurm; its programs open it the same way.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if handle.is_null() {
        // SAFETY: dlerror gives a C string after a failure.
        let why = unsafe { CStr::from_ptr(libc::dlerror()) };
        panic!("{}", why.to_string_lossy());
    }
    handle
}

/// `plugin_version` of a stock plugin, read by ourselves.
fn version_in(path: &Path) -> u32 {
    // SAFETY: a plugin of Slurm's has this u32.
    unsafe {
        libc::dlsym(open(path, libc::RTLD_LAZY), c"plugin_version".as_ptr())
            .cast::<u32>()
            .read()
    }
}

#[test]
fn the_installed_slurm_tells_its_line_and_its_micro() {
    let Some(folder) = FOLDERS
        .iter()
        .map(PathBuf::from)
        .find(|folder| folder.join("libslurmfull.so").exists())
    else {
        println!("skipped: no libslurmfull.so in {FOLDERS:?}");
        return;
    };
    open(
        &folder.join("libslurmfull.so"),
        libc::RTLD_LAZY | libc::RTLD_GLOBAL,
    );
    let symbols = Symbols::get();
    assert!(
        symbols.slurm_cred_get_args.is_some()
            && symbols.slurm_conf.is_some()
            && symbols.conf.is_none()
    );
    assert_eq!(process::daemon(), Daemon::Other);
    let from_file = running::version(symbols).expect("a line we know");
    let claimed = running::claimed_version();
    let carried = version_in(&folder.join("auth_munge.so"));
    assert_eq!(
        (claimed, claimed | u32::from(from_file.micro.unwrap())),
        (carried & 0xffff00, carried)
    );
    let from_loaded = running::version(symbols).unwrap();
    assert_eq!(from_loaded, from_file, "auth_munge is loaded now");
    let slurm = Slurm::get();
    println!("Slurm {from_file}: {:?}", slurm.flag());
    assert!(matches!(
        slurm.chosen(false),
        Chosen::Known(_) | Chosen::Flagged(..)
    ));
    use_slurm_s_allocator(symbols);
}

/// A text in Slurm's own allocator: freeing one that is not would end the process.
fn use_slurm_s_allocator(symbols: &Symbols) {
    let mut slot = std::ptr::null_mut();
    // SAFETY: a variable of ours.
    unsafe { slurm_sys::set_err_msg(&mut slot, "text", symbols) }.unwrap();
    // SAFETY: Slurm's text, freed by Slurm.
    unsafe {
        assert_eq!(CStr::from_ptr(slot), c"text");
        symbols.slurm_xfree.unwrap()((&raw mut slot).cast());
    }
    assert!(slot.is_null());
}
