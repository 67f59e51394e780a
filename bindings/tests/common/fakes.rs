//! Functions with Slurm's prototypes. They count on the thread they are called on, so that tests
//! that run side by side do not see each other.

use slurm_sys::symbols::{Addresses, ListForFn, Symbols};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

thread_local! {
    pub static LOCKED: Cell<i32> = const { Cell::new(0) };
    pub static LOCKS: Cell<i32> = const { Cell::new(0) };
    pub static LIVE_BLOCKS: Cell<i32> = const { Cell::new(0) };
    pub static LOG: RefCell<Vec<(&'static str, String)>> = const { RefCell::new(Vec::new()) };
}

/// All of them.
pub fn symbols() -> &'static Symbols {
    static SYMBOLS: std::sync::OnceLock<Symbols> = std::sync::OnceLock::new();
    // SAFETY: each function below behaves as Slurm's of that name.
    SYMBOLS.get_or_init(|| unsafe { Symbols::from_addresses(addresses()) })
}

pub fn addresses() -> Addresses {
    Addresses {
        slurm_xcalloc: Some(xcalloc),
        slurm_xfree: Some(xfree),
        slurm_cred_get_args: Some(get_args),
        slurm_cred_unlock_args: Some(unlock_args),
        nodelist_find: Some(nodelist_find),
        slurm_list_for_each: Some(list_for_each),
        get_log_level: Some(log_level),
        cgroup_g_task_addto: Some(task_addto),
        ..Addresses::default()
    }
}

unsafe extern "C" fn log_level() -> c_int {
    4
}

/// The fake function's last call: controller, record, process, task.
pub type Added = (u32, usize, i32, u32);

thread_local! {
    /// [`Added`]
    pub static ADDED: Cell<Option<Added>> = const { Cell::new(None) };
}

/// It fails for process 1, as Slurm's does for one that cannot be moved.
unsafe extern "C" fn task_addto(sub: u32, step: *mut c_void, pid: i32, task: u32) -> c_int {
    ADDED.set(Some((sub, step as usize, pid, task)));
    if pid == 1 { -1 } else { 0 }
}

fn count(blocks: i32) {
    LIVE_BLOCKS.set(LIVE_BLOCKS.get() + blocks);
}

/// A text of the fake allocator's.
pub fn new_text(text: &str) -> *mut c_char {
    let text = CString::new(text).unwrap();
    count(1);
    // SAFETY: a C string.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// Frees a block of the fake allocator's.
pub fn free(mut block: *mut c_void) {
    // SAFETY: a variable with a block.
    unsafe { xfree(&mut block) };
}

unsafe extern "C" fn xcalloc(
    number: usize,
    size: usize,
    clear: bool,
    _try: bool,
    _file: *const c_char,
    _line: c_int,
    _function: *const c_char,
) -> *mut c_void {
    count(1);
    // SAFETY: any size will do.
    let block = unsafe { libc::calloc(number, size) };
    if !clear {
        // What nobody asked to clear holds anything.
        // SAFETY: the block just made.
        unsafe { block.cast::<u8>().write_bytes(0xaa, number * size) };
    }
    block
}

unsafe extern "C" fn xfree(slot: *mut *mut c_void) {
    // SAFETY: the caller passes a slot with a block of ours, or null.
    let block = unsafe { slot.replace(ptr::null_mut()) };
    if !block.is_null() {
        count(-1);
        // SAFETY: as above.
        unsafe { libc::free(block) };
    }
}

/// A credential is here a pointer to its arguments.
unsafe extern "C" fn get_args(cred: *mut c_void) -> *mut c_void {
    LOCKED.set(LOCKED.get() + 1);
    LOCKS.set(LOCKS.get() + 1);
    // SAFETY: the tests pass such a pointer.
    unsafe { *cred.cast::<*mut c_void>() }
}

unsafe extern "C" fn unlock_args(_cred: *mut c_void) {
    LOCKED.set(LOCKED.get() - 1);
}

/// Host lists are here names with commas, or one range such as n[1-3].
unsafe extern "C" fn nodelist_find(list: *const c_char, name: *const c_char) -> c_int {
    // SAFETY: the caller passes C strings.
    let (list, name) = unsafe { (CStr::from_ptr(list), CStr::from_ptr(name)) };
    let (list, name) = (list.to_str().unwrap(), name.to_str().unwrap());
    let hosts: Vec<String> = match list
        .split_once('[')
        .map(|(head, range)| (head, range.trim_end_matches(']').split_once('-').unwrap()))
    {
        Some((head, (first, last))) => (first.parse::<u32>().unwrap()..=last.parse().unwrap())
            .map(|number| format!("{head}{number}"))
            .collect(),
        None => list.split(',').map(str::to_owned).collect(),
    };
    hosts
        .iter()
        .position(|host| host == name)
        .map_or(-1, |index| index as c_int)
}

/// A list is here a vector of items.
unsafe extern "C" fn list_for_each(
    list: *mut c_void,
    each: ListForFn,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the tests pass such a vector.
    let items = unsafe { &*list.cast::<Vec<*mut c_void>>() };
    for (index, item) in items.iter().enumerate() {
        // SAFETY: the callback's contract.
        if unsafe { each(*item, argument) } < 0 {
            return -(index as c_int);
        }
    }
    items.len() as c_int
}

/// An environment of the fake allocator's.
pub fn new_env(entries: &[&str]) -> *mut *mut c_char {
    count(1);
    // SAFETY: room for the entries and the null pointer.
    unsafe {
        let array = libc::calloc(entries.len() + 1, 8).cast::<*mut c_char>();
        for (index, entry) in entries.iter().enumerate() {
            array.add(index).write(new_text(entry));
        }
        array
    }
}

/// Frees an environment.
pub fn free_env(array: *mut *mut c_char) {
    // SAFETY: ends in a null pointer.
    unsafe {
        for index in (0..).take_while(|index| !(*array.add(*index)).is_null()) {
            free((*array.add(index)).cast());
        }
    }
    free(array.cast());
}
