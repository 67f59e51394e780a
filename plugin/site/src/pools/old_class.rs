//! Classes that pools of earlier releases could have: real-time tasks (`realtime`), and idle tasks of everybody else
//! (`idle`). A file that asks for one gets weights, and a line for the administrator.

use berth_placement::sets::text::shown;

use super::{Pool, SitePools};
use crate::cpusets::words::SHOWN;

/// The class that every pool has.
const WEIGHT: &str = "weight";
/// Those that there were.
const OLD: [&str; 2] = ["realtime", "idle"];

/// Such a class, from the value of `class=`; nothing where it means what every pool has.
pub(super) fn of(text: Option<&str>) -> Result<Option<&'static str>, String> {
    let Some(text) = text.filter(|text| *text != WEIGHT) else {
        return Ok(None);
    };
    let found = OLD.into_iter().find(|class| *class == text);
    found.map(Some).ok_or_else(|| {
        format!(
            "class=: \"{}\" is not {WEIGHT}, which every pool has; leave it out",
            shown(SHOWN, text)
        )
    })
}

impl SitePools {
    /// One line for the administrator if pools of this node ask for such a class.
    #[must_use]
    pub fn about_old_classes(&self) -> Option<String> {
        let told = |pool: &Pool| {
            let (class, name, line) = (pool.old_class?, &pool.name, pool.line);
            Some(format!("class={class} of the pool {name} (line {line})"))
        };
        let told: Vec<_> = self.here().filter_map(told).collect();
        let (is, word) = match told.len() {
            0 => return None,
            1 => ("is", "that word"),
            _ => ("are", "those words"),
        };
        Some(format!(
            "{}: {} {is} read as {WEIGHT}, because a task of a real-time class could keep CPUs of the node outside of its \
             job, and pools have weights alone now; remove {word}",
            self.path.display(),
            told.join(" and ")
        ))
    }
}
