//! Walks one of Slurm's lists (src/common/list.c): the only place that lends it a callback.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

use crate::error::Error;
use crate::symbols::Symbols;

/// Shows each item to `visit`, until that breaks. A null list has none.
///
/// # Errors
/// [`Error::MissingSymbol`] where this process cannot walk Slurm's lists.
///
/// # Safety
/// `list` is null or a list of Slurm's that stays during the call.
pub(crate) unsafe fn for_each<F>(
    list: *mut c_void,
    symbols: &Symbols,
    mut visit: F,
) -> Result<(), Error>
where
    F: FnMut(*mut c_void) -> ControlFlow<()>,
{
    if list.is_null() {
        return Ok(());
    }
    let walk = symbols
        .slurm_list_for_each
        .ok_or(Error::MissingSymbol("slurm_list_for_each"))?;
    // SAFETY: the caller's list; `one` gets the pointer to `visit`, during the call only.
    unsafe { walk(list, one::<F>, (&raw mut visit).cast()) };
    Ok(())
}

/// Negative ends the walk.
unsafe extern "C" fn one<F>(item: *mut c_void, visit: *mut c_void) -> c_int
where
    F: FnMut(*mut c_void) -> ControlFlow<()>,
{
    // SAFETY: `for_each` passes its own closure, and no other reference to it is used meanwhile.
    let visit = unsafe { &mut *visit.cast::<F>() };
    match visit(item) {
        ControlFlow::Continue(()) => 0,
        ControlFlow::Break(()) => -1,
    }
}
