//! `--binding` beside what others hold: it takes free cores, and of these the ones that fewest others use.

use berth_placement::{CpuSet, Mode, Rule};

use crate::harness::ask::{Answer, Ask};
use crate::harness::random::Random;
use crate::harness::requests::{binding, cores, few_of, plain};
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn free_cores(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[None]);
    ask.request.tasks = random.within(1, 5);
    ask.request.cpus_per_task = 1;
    ask.request.allocation = cores(random, tree);
    ask.request.binding = binding(random).parse().ok();
    ask.claims.taken = few_of(random, tree);
    ask.claims.shared = few_of(random, tree);
    ask.claims.pools = few_of(random, tree);
    ask
}

/// Every strategy keeps to free cores of the step, gives none of them twice, and tasks are bound to them.
pub fn chosen_are_free(case: &Case) -> Verdict {
    let Answer { masks, plan, .. } = case.answer().ok()?;
    let Some(chosen) = &plan.chosen else {
        let rule = &plan.decision.rule;
        return holds(*rule == Rule::BindingFailed, || format!("{rule}"));
    };
    let mut whole = case.ask.clone();
    whole.request.binding = None;
    whole.request.cpu_bind.mode = Some(Mode::Free);
    whole.is_script = true;
    let Ok(script) = case.answer_to(&whole) else {
        return broken("its script is refused");
    };
    let text = case.ask.request.binding.as_ref()?.to_string();
    let apart = !text.contains("host:") && !text.contains("explicit");
    let lists = if apart { case.tasks() } else { 1 };
    let mut seen = CpuSet::new();
    for core in chosen.lists().flatten() {
        let free =
            core.cpus.is_subset(&script.masks[0]) && !core.cpus.intersects(&case.ask.claims.taken);
        if !free || core.cpus.intersects(&seen) {
            return broken(format!("the core with CPUs {}", core.cpus));
        }
        seen.insert_all(&core.cpus);
    }
    let of_tasks = (0..case.tasks()).map(|task| chosen.cpus_of_task(task));
    let is_whole = chosen.lists().len() == lists;
    holds(is_whole && of_tasks.eq(masks), || format!("{chosen:?}"))
}

pub fn shared_cores(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[None]);
    let amount = random.within(1, tree.cores.len() as u32 + 1);
    ask.request.tasks = 1;
    ask.request.cpus_per_task = 1;
    ask.request.binding = format!("strict:linear:{amount}").parse().ok();
    let again = few_of(random, tree);
    let claims = &mut ask.claims;
    claims.pools = few_of(random, tree);
    claims.bindings = few_of(random, tree);
    claims.pools_again = vec![claims.pools.intersection(&again)];
    claims.bindings_again = vec![claims.bindings.intersection(&again)];
    ask
}

/// Linear takes first the cores of the fewest pool jobs, of these the ones of the fewest bindings.
pub fn fewest_users(case: &Case) -> Verdict {
    let chosen = case.answer().ok()?.plan.chosen?;
    let claims = &case.ask.claims;
    let count = |cpus: &CpuSet, one: &CpuSet, again: &[CpuSet]| {
        let both = again.iter().filter(|set| cpus.intersects(set)).count();
        usize::from(cpus.intersects(one)) + both
    };
    let users = |cpus: &CpuSet| {
        let pools = count(cpus, &claims.pools, &claims.pools_again);
        (pools, count(cpus, &claims.bindings, &claims.bindings_again))
    };
    let whole = case.owned.cores.iter().filter(|core| core.whole);
    let mut fewest: Vec<_> = whole.map(|core| users(&core.cpus)).collect();
    let mut found: Vec<_> = chosen
        .of_task(0)
        .iter()
        .map(|core| users(&core.cpus))
        .collect();
    fewest.sort_unstable();
    fewest.truncate(found.len());
    found.sort_unstable();
    holds(found == fewest, || format!("{found:?} and not {fewest:?}"))
}
