//! What an outer step's berth wrote into the lists of devices, read from a launch message with bounds.

use berth_placement::answer::device_mark;

use crate::message::names;

/// Bytes of a list of devices. A longer one is not read.
pub(crate) const LIST_BYTES: usize = 16 << 10;
/// Bytes of a mark: the lists of all vendors fit.
const MARK_BYTES: usize = 4 * LIST_BYTES;

/// The variables that are not this step's. `get` reads a variable that has at most so many bytes.
pub(crate) fn inherited(get: impl Fn(&str, usize) -> Option<String>) -> Vec<&'static str> {
    let Some(mark) = get(names::DEVICES, MARK_BYTES) else {
        return Vec::new();
    };
    device_mark::inherited(&mark, |name| get(name, LIST_BYTES)).collect()
}
