//! cgroup.conf as Slurm's own function lists it.

use crate::common::fakes;
use slurm_sys::symbols::{Addresses, Symbols};
use slurm_sys::{CgroupConf, Error};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_void};
use std::ptr;

/// config_key_pair_t.
#[repr(C)]
struct Pair {
    name: *const c_char,
    value: *const c_char,
}

thread_local! {
    static TEXTS: RefCell<Vec<(CString, Option<CString>)>> = const { RefCell::new(Vec::new()) };
    static LISTS: RefCell<i32> = const { RefCell::new(0) };
}

/// A list is here a vector of items, as in `fakes`.
unsafe extern "C" fn get_conf_list() -> *mut c_void {
    let pair = |(name, value): &(CString, Option<CString>)| {
        let value = value.as_ref().map_or(ptr::null(), |value| value.as_ptr());
        let pair = Pair {
            name: name.as_ptr(),
            value,
        };
        Box::into_raw(Box::new(pair)).cast::<c_void>()
    };
    LISTS.with_borrow_mut(|count| *count += 1);
    let items: Vec<*mut c_void> = TEXTS.with_borrow(|texts| texts.iter().map(pair).collect());
    Box::into_raw(Box::new(items)).cast()
}

unsafe extern "C" fn no_list() -> *mut c_void {
    ptr::null_mut()
}

unsafe extern "C" fn list_destroy(list: *mut c_void) {
    // SAFETY: a list of `get_conf_list`'s.
    let items = unsafe { Box::from_raw(list.cast::<Vec<*mut c_void>>()) };
    for item in *items {
        // SAFETY: an item of `get_conf_list`'s.
        drop(unsafe { Box::from_raw(item.cast::<Pair>()) });
    }
    LISTS.with_borrow_mut(|count| *count -= 1);
}

fn addresses() -> Addresses {
    Addresses {
        cgroup_get_conf_list: Some(get_conf_list),
        slurm_list_destroy: Some(list_destroy),
        ..fakes::addresses()
    }
}

fn read(addresses: Addresses) -> Result<CgroupConf, Error> {
    // SAFETY: each function behaves as Slurm's of that name, and this thread has the settings.
    unsafe { CgroupConf::read(&Symbols::from_addresses(addresses)) }
}

/// The configuration that `NAME=VALUE` words make.
fn with(words: &str) -> CgroupConf {
    let text = |text: &str| CString::new(text).unwrap();
    let pairs = words.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=').unwrap();
        (text(name), (!value.is_empty()).then(|| text(value)))
    });
    TEXTS.set(pairs.collect());
    let read = read(addresses()).unwrap();
    assert_eq!(LISTS.take(), 0, "each list is freed");
    read
}

#[test]
fn cores_are_constrained_where_a_plugin_does_it() {
    let conf = with("CgroupPlugin= ConstrainCores=yes");
    assert_eq!(conf.get("CgroupPlugin"), Some(""));
    assert_eq!(conf.get("ConstrainRAMSpace"), None);
    for (words, constrains) in [
        ("CgroupPlugin= ConstrainCores=yes", true),
        ("ConstrainCores=yes CgroupPlugin=autodetect", true),
        ("", false),
        ("ConstrainCores=no", false),
        ("CgroupPlugin=disabled ConstrainCores=yes", false),
    ] {
        assert_eq!(with(words).constrains_cores(), constrains, "{words}");
    }
    let nothing = Addresses {
        cgroup_get_conf_list: Some(no_list),
        ..addresses()
    };
    assert_eq!(read(nothing).unwrap(), CgroupConf::default());
}

#[test]
fn a_process_without_the_functions() {
    let without = Addresses {
        cgroup_get_conf_list: None,
        ..addresses()
    };
    assert_eq!(
        read(without),
        Err(Error::MissingSymbol("cgroup_get_conf_list"))
    );
    let without = Addresses {
        slurm_list_destroy: None,
        ..addresses()
    };
    assert_eq!(
        read(without),
        Err(Error::MissingSymbol("slurm_list_destroy"))
    );
}
