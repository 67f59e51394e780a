//! Where a packaged Open MPI answers otherwise than berth, and why.

/// A difference that has a reason.
pub struct Known {
    /// Whether it is this one, by the request, what berth gave and what mpirun gave.
    is: fn(&str, &str, &str) -> bool,
    reason: &'static str,
}

/// Every difference with a reason.
const ALL: &[Known] = &[];

/// The reason of a difference; `None` if it has none.
#[must_use]
pub fn reason(request: &str, ours: &str, theirs: &str) -> Option<&'static str> {
    let mut all = ALL.iter();
    let found = all.find(|known| (known.is)(request, ours, theirs))?;
    Some(found.reason)
}
