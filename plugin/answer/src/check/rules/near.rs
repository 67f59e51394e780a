//! `--near` beside options that choose the CPUs too.

use berth_placement::{CpusetRequest, Near, Refusal, Request, Wish, near_beside_cpuset};
use berth_srun::submission::by_default::NEAR;

use crate::check::case::{Case, MAPPING};
use crate::check::finding::Finding;
use crate::check::rules::binding::binding;

/// A `--binding`, a mapping to larger objects, a list of `--cpu-bind` or one of a `--cpuset` beside it.
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
    let Err(both) = Wish::of(&request) else {
        return beside_cpuset(case, request.near.as_ref()?);
    };
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

/// The CPUs of a `--cpuset` beside it. A default gives way to them.
fn beside_cpuset(case: &Case<'_>, near: &Near) -> Option<Finding> {
    if case.variable_of("near") == Some(NEAR.own) {
        return None;
    }
    let cpuset = case.has("cpuset").filter(|_| case.knows(&["cpuset"]))?;
    let why = near_beside_cpuset(near, &cpuset.parse::<CpusetRequest>().ok()?)?;
    let reason = "the submitting command refuses it";
    Some(case.warning("near-and-others", why.to_string(), reason))
}
