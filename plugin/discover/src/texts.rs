//! Names and values from hwloc, bounded and made harmless. In: C strings of firmware and drivers,
//! or of a file that anybody wrote. Out: short texts without control characters. Pure.

use std::ffi::CStr;

use berth_placement::sets::limits::INFO_BYTES;
use berth_placement::sets::text::harmless;

/// A name or a value, cut if it is long.
pub(crate) fn clean(text: &CStr) -> String {
    harmless(&text.to_string_lossy(), INFO_BYTES)
}

/// Names with their values; if there are too many, only the first ones.
#[cfg(feature = "core-kinds")]
pub(crate) fn pairs(infos: &[hwlocality::info::TextualInfo]) -> Vec<(String, String)> {
    let infos = infos.iter().take(berth_placement::sets::limits::MAX_INFOS);
    infos
        .map(|info| (clean(info.name()), clean(info.value())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_harmless() {
        assert_eq!(clean(c" mlx5_0 "), "mlx5_0");
        assert_eq!(clean(c"a\x1b[31mb"), "a\u{fffd}[31mb");
        let long = format!("{}×", "y".repeat(INFO_BYTES - 1));
        let long = std::ffi::CString::new(long).unwrap();
        assert_eq!(clean(&long), "y".repeat(INFO_BYTES - 1));
        let control = std::ffi::CString::new("\x01".repeat(INFO_BYTES)).unwrap();
        assert!(clean(&control).len() <= INFO_BYTES);
    }
}
