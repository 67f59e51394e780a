//! Numbers in sentences: `1 core stays idle`, `2 cores stay idle`. Every text for people with a number
//! of things in it takes them from here. Pure.

use std::fmt::Display;

/// A number with its noun, as `1 core` or `2 cores`. Each of these nouns has an s when they are several.
///
/// ```
/// use berth_placement::sets::count::counted;
///
/// assert_eq!(counted(1, "core"), "1 core");
/// assert_eq!(counted(0, "hardware thread"), "0 hardware threads");
/// ```
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let s = either(&count, "", "s");
    format!("{count} {noun}{s}")
}

/// The word beside a number: one for a single thing, another one for none or several.
///
/// ```
/// use berth_placement::sets::count::either;
///
/// assert_eq!(either(&1, "stays", "stay"), "stays");
/// assert_eq!(either(&2, "CPU", "CPUs"), "CPUs");
/// ```
#[must_use]
pub fn either<'a, N: PartialEq + From<u8>>(count: &N, one: &'a str, several: &'a str) -> &'a str {
    if *count == N::from(1) { one } else { several }
}
