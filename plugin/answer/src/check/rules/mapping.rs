//! Open MPI's options: requests that can never fit, and what they contradict.

use berth_placement::{Refusal, Request, Wish};
use berth_srun::submission::never_fits as submission;

use crate::check::case::{Case, MAPPING};
use crate::check::finding::Finding;
use crate::check::rules::binding::{binding, cpus, set, submitted};

/// `pe=N` that the submitting command itself refuses, by its own function.
pub(super) fn never_fits(case: &Case<'_>) -> Option<Finding> {
    if !gives_one_of(case, &MAPPING) || !case.knows(&MAPPING) || case.script.has_components {
        return None;
    }
    let mapping = case.mapping().ok()??;
    let why = submitted(case, |words, env| submission::mapping(&mapping, words, env))?;
    let reason = "the submitting command refuses it";
    let finding = case.warning("mapping-never-fits", why, reason);
    let more = mapping.each().and_then(|each| set(case, &[cpus(each)]));
    Some(finding.or(more))
}

/// A `--binding` or a list of `--cpu-bind` beside it.
pub(super) fn contradicted(case: &Case<'_>) -> Option<Finding> {
    let others = ["binding", "cpu-bind"];
    let mut names = MAPPING.iter().chain(&others);
    // A variable of the script may give it.
    if !names.any(|name| case.is_set(name)) || !case.knows(&MAPPING) || !case.knows(&others) {
        return None;
    }
    let request = Request {
        mapping: Some(case.mapping().ok()??),
        binding: binding(case),
        cpu_bind: case.asked.as_ref().ok()?.cpu_bind.clone(),
        ..Request::default()
    };
    let both = Wish::of(&request).err()?;
    let is_list = matches!(both.other, Wish::List(_));
    let found = Refusal::from(both).to_string();
    Some(match is_list {
        true => {
            let finding = case.warning("mapping-and-list", found, "the step is refused");
            let list = case.command.given("cpu-bind");
            finding.or(list.and_then(|list| case.command.remove(&case.script.text, list)))
        }
        false => {
            let reason = "the submitting command refuses it";
            case.warning("mapping-and-binding", found, reason)
        }
    })
}

fn gives_one_of(case: &Case<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| case.command.given(name).is_some())
}
