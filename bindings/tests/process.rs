//! Who we are: the program's name, slurmd's `-N`, and lines for a log that may not be there.

mod common;
#[path = "../../plugin/discover/tests/common/facts.rs"]
mod facts;

use common::fakes::{self, LOG};
use slurm_sys::log::{self, Level};
use slurm_sys::process::{Daemon, by_name, daemon, node_argument};
use slurm_sys::symbols::{Addresses, Symbols};
use slurm_sys::{Identity, Slurm, running};
use std::ffi::{CStr, c_char};

#[test]
fn programs_and_their_nodes() {
    facts::hold(include_str!("process.txt"), |about, text| {
        let words: Vec<_> = text.split(' ').map(str::to_owned).collect();
        match about {
            "program" => format!("{:?}", by_name(text, false)),
            "program with conf" => format!("{:?}", by_name(text, true)),
            _ => node_argument(&words).unwrap_or_else(|| "none".into()),
        }
    });
    assert_eq!(daemon(), Daemon::Other, "this test program");
}

#[test]
fn a_node_is_this_one_by_its_host() {
    let here = Identity::current();
    assert!(!here.host.is_empty() && here.is("no-such-node", &here.host));
    assert!(!here.is("no-such-node", "no-such-host"));
    assert!(!Identity::default().is("", ""), "no host name is no match");
}

/// Gets "%s" and one text.
unsafe fn take(level: &'static str, format: *const c_char, text: *const c_char) {
    // SAFETY: the log passes two C strings.
    let (format, text) = unsafe { (CStr::from_ptr(format), CStr::from_ptr(text)) };
    assert_eq!(format, c"%s");
    LOG.with_borrow_mut(|log| log.push((level, text.to_str().unwrap().to_owned())));
}

unsafe extern "C" fn take_error(format: *const c_char, text: *const c_char) {
    // SAFETY: as there.
    unsafe { take("error", format, text) }
}

unsafe extern "C" fn take_debug(format: *const c_char, text: *const c_char) {
    // SAFETY: as there.
    unsafe { take("debug", format, text) }
}

#[test]
fn lines_go_through_the_format_as_text_and_nul_does_not_cut_them() {
    type Log = slurm_sys::symbols::LogFn;
    // SAFETY: on this platform a variadic call with pointers passes them as a plain call does.
    let (error, debug) = unsafe {
        (
            std::mem::transmute::<unsafe extern "C" fn(*const c_char, *const c_char), Log>(
                take_error,
            ),
            std::mem::transmute::<unsafe extern "C" fn(*const c_char, *const c_char), Log>(
                take_debug,
            ),
        )
    };
    let addresses = Addresses {
        slurm_error: Some(error),
        slurm_debug: Some(debug),
        ..fakes::addresses()
    };
    // SAFETY: functions that behave as Slurm's.
    let symbols = unsafe { Symbols::from_addresses(addresses) };
    log::write_to(&symbols, Level::Error, "100%s of %n\0end");
    log::write_to(&symbols, Level::Debug, "ß");
    log::write_to(&symbols, Level::Info, "goes nowhere");
    assert_eq!(
        LOG.take(),
        [
            ("error", "100%s of %n\\0end".to_owned()),
            ("debug", "ß".to_owned())
        ]
    );
    let enabled = [Level::Error, Level::Info, Level::Verbose, Level::Debug]
        .map(|level| log::enabled_in(&symbols, level));
    assert_eq!(
        enabled,
        [true, true, true, false],
        "at log level 4, verbose"
    );
}

#[test]
fn a_program_without_slurm_is_inert_and_nothing_crashes() {
    log::write(Level::Error, "goes nowhere");
    assert!(log::enabled(Level::Debug));
    assert_eq!(running::claimed_version(), 0);
    let slurm = Slurm::get();
    assert!(slurm.version.is_err() && slurm.flag().is_none());
    assert!(
        slurm
            .layout(false)
            .unwrap_err()
            .contains("without slurm_api_version")
    );
}

#[test]
fn a_text_is_handed_over_once() {
    let mut slot: *mut c_char = std::ptr::null_mut();
    for text in ["first\0text", "second"] {
        // SAFETY: a variable of ours.
        unsafe { slurm_sys::set_err_msg(&mut slot, text, fakes::symbols()) }.unwrap();
    }
    // SAFETY: a text of the fakes'.
    assert_eq!(unsafe { CStr::from_ptr(slot) }, c"first\\0text");
    fakes::free(slot.cast());
    // SAFETY: null is allowed.
    unsafe { slurm_sys::set_err_msg(std::ptr::null_mut(), "x", fakes::symbols()) }.unwrap();
    assert_eq!(fakes::LIVE_BLOCKS.get(), 0);
}
