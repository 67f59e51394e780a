//! `--near` beside options that choose the CPUs too.

use berth_placement::{Near, Refusal, Request, Wish};

use crate::check::case::{Case, MAPPING};
use crate::check::finding::Finding;
use crate::check::rules::binding::binding;

/// A `--binding`, a mapping to larger objects or a list of `--cpu-bind` beside it.
pub(super) fn contradicted(case: &Case<'_>) -> Option<Finding> {
    let names = [&["near", "binding", "cpu-bind"], &MAPPING[..]].concat();
    // A variable of the script may give it.
    if !names.iter().any(|name| case.is_set(name)) || !case.knows(&names) {
        return None;
    }
    let request = Request {
        near: Some(case.has("near")?.parse::<Near>().ok()?),
        mapping: case.mapping().ok()?,
        binding: binding(case),
        cpu_bind: case.asked.as_ref().ok()?.cpu_bind.clone(),
        ..Request::default()
    };
    let both = Wish::of(&request).err()?;
    let is_near = |wish: &Wish<'_>| matches!(wish, Wish::Near(_));
    if ![both.one, both.other].iter().any(is_near) {
        return None;
    }
    let reason = match both.other {
        Wish::List(_) => "the step is refused",
        _ => "the submitting command refuses it",
    };
    let found = Refusal::from(both).to_string();
    Some(case.warning("near-and-others", found, reason))
}
