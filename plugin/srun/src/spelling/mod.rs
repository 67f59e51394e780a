//! The meaning of the values of srun's options.

mod bind;
mod distribution;
mod hint;
mod list;
mod node_info;

pub use bind::{LevelBits, TypedBind, cpu_bind, mem_bind, mem_bind_into};
pub use distribution::distribution;
pub use hint::{Hints, hints};
pub use node_info::{Least, NodeInfo, node_info};

use berth_placement::Level;

/// The words of a value, at `;`, and at `,` unless a list goes on behind it.
fn words(text: &str, goes_on: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let here = rest?;
        let is_end = |(at, letter): &(usize, char)| {
            let after = here.get(at + 1..).unwrap_or_default();
            *letter == ';' || (*letter == ',' && !goes_on(after))
        };
        let end = here.char_indices().find(is_end).map(|(at, _)| at);
        let word = here.get(..end.unwrap_or(here.len()))?;
        rest = end.and_then(|end| here.get(end + 1..));
        Some(word)
    })
}

/// The level of a word in small letters, one or several of its objects.
pub(crate) fn level(word: &str) -> Option<Level> {
    match word.strip_suffix('s').unwrap_or(word) {
        "socket" => Some(Level::Sockets),
        "core" => Some(Level::Cores),
        "thread" => Some(Level::Threads),
        "ldom" => Some(Level::Ldoms),
        _ => None,
    }
}
