//! The option that a misspelt one was meant to be.

use super::{Command, of};
use crate::release::Release;

/// The option with the nearest name, if it is near enough to be meant.
#[must_use]
pub fn nearest(name: &str, command: Command, release: Release) -> Option<&'static str> {
    let name = name.replace('_', "-").to_ascii_lowercase();
    let most = match name.len() {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    };
    let names = of(command, Some(release)).map(|row| row.typed());
    let is_near = |known: &&str| known.len() > 3 && known.len().abs_diff(name.len()) <= most;
    let names = names.filter(is_near);
    let scored = names.map(|known| (strsim::damerau_levenshtein(&name, known), known));
    let (distance, near) = scored.min()?;
    (distance <= most).then_some(near)
}
