//! The option that a misspelt one was meant to be.

use super::{Command, of};
use crate::release::Release;

/// The most bytes of a name that somebody means; every option has fewer.
pub const LONGEST: usize = 64;

/// The option with the nearest name, if it is near enough to be meant.
#[must_use]
pub fn nearest(name: &str, command: Command, release: Release) -> Option<&'static str> {
    if name.len() > LONGEST {
        return None;
    }
    let name = name.replace('_', "-").to_ascii_lowercase();
    let most = match name.len() {
        0..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let names = of(command, Some(release)).map(|row| row.typed());
    let is_near = |known: &&str| known.len() > 2 && known.len().abs_diff(name.len()) <= most;
    let names = names.filter(is_near);
    let scored = names.map(|known| (strsim::damerau_levenshtein(&name, known), known));
    let (distance, near) = scored.min()?;
    (distance <= most).then_some(near)
}
