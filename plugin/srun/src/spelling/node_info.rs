//! `-B SOCKETS[:CORES[:THREADS]]`, as `verify_socket_core_thread_count` reads it.
//! In: the option's text. Out: the least numbers, and how many fields were written.

use berth_placement::{Level, TextError};

use crate::number;

/// The least sockets of a node, cores of a socket, and threads of a core; `None` where any number
/// will do.
pub type Least = [Option<u32>; 3];

/// A whole `-B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// The numbers before a `-`, or alone.
    pub least: Least,
    /// The level that the number of fields chooses. A fourth field is not read, but with it there
    /// is no level.
    pub level: Option<Level>,
}

/// The meaning of a `-B`. A field is a number, a range of which the least counts, `*`, or empty,
/// which is the same as `*`. What follows a third colon is not read.
///
/// # Errors
/// What srun refuses.
pub fn node_info(text: &str) -> Result<NodeInfo, TextError> {
    let mut least = [None; 3];
    for (place, field) in least.iter_mut().zip(text.split(':')) {
        *place = least_of(field).ok_or_else(|| wrong(text))?;
    }
    let levels = [Level::Sockets, Level::Cores, Level::Threads];
    let colons = text.matches(':').count();
    Ok(NodeInfo {
        least,
        level: levels.get(colons).copied(),
    })
}

fn wrong(text: &str) -> TextError {
    TextError::new(text, "SOCKETS[:CORES[:THREADS]] with numbers, min-max or *")
}

/// `Some(None)` is any number. Source: `get_resource_arg_range`.
fn least_of(field: &str) -> Option<Option<u32>> {
    if field.is_empty() || field.starts_with('*') {
        return Some(None);
    }
    let in_range = |number: i64| (0..=i64::from(i32::MAX)).contains(&number);
    let (least, rest) = number::scaled(field);
    if !in_range(least) {
        return None;
    }
    if !rest.is_empty() {
        let most = rest.strip_prefix('-')?;
        let (most, rest) = number::scaled(most);
        // A second range is not looked at, nor whether the most is at least the least.
        let ends = rest.is_empty() || rest.starts_with('-');
        if !ends || !in_range(most) || most == 0 {
            return None;
        }
        if least == 1 && most == i64::from(i32::MAX) {
            return Some(None);
        }
    }
    u32::try_from(least).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_the_level() {
        use Level::{Cores, Sockets, Threads};
        for (text, least, level) in [
            ("2", [Some(2), None, None], Some(Sockets)),
            ("2:", [Some(2), None, None], Some(Cores)),
            ("2:4", [Some(2), Some(4), None], Some(Cores)),
            ("*:*:1", [None, None, Some(1)], Some(Threads)),
            ("2::2", [Some(2), None, Some(2)], Some(Threads)),
            ("", [None; 3], Some(Sockets)),
            ("1-2:2-4", [Some(1), Some(2), None], Some(Cores)),
            ("4-2", [Some(4), None, None], Some(Sockets)),
            ("0", [Some(0), None, None], Some(Sockets)),
            ("1:2:3:4", [Some(1), Some(2), Some(3)], None),
            ("1:1:1:", [Some(1), Some(1), Some(1)], None),
            ("1k", [Some(1024), None, None], Some(Sockets)),
            ("1-2147483647", [None; 3], Some(Sockets)),
        ] {
            assert_eq!(node_info(text), Ok(NodeInfo { least, level }), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "x",
            "2x",
            "-1",
            "1-",
            "1-0",
            "2:x",
            "1:1:x",
            "2147483648",
            "1-x",
        ] {
            assert!(node_info(text).is_err(), "{text:?} was taken");
        }
    }
}
