//! A `--binding` keeps off the cores of pools, and a pool job's off those of bindings too, as far as it finds others.
//! In: the situation, a strategy. Out: the strategy's plan on the cores that fewest others use. Pure.

use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::sets::cpuset::CpuSet;
use crate::strategy::situation::Situation;

/// Which cores are spared where that leaves enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spares {
    /// Those on which jobs in pools run, and for a job in a pool those of bindings.
    All,
    /// Those on which jobs in pools run, all or none: a wish for every core loses more by the others than it gains.
    Pools,
}

/// A plan on the cores that nobody uses, and on as few others as serve the step no worse than all: first those of
/// bindings, then those of pools, the lowest first. A start that an option gives is no choice.
pub(super) fn choose(
    here: &Situation<'_>,
    spares: Spares,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    let used = used_cores(here, spares);
    if used.is_empty() {
        return strategy(here);
    }
    let beside = |open: usize| {
        let (open, spared) = used.split_at(open.min(used.len()));
        let mut claims = here.claims.clone();
        spared.iter().for_each(|core| claims.taken.insert_all(core));
        open.iter().for_each(|core| claims.shared.insert_all(core));
        let claims = &claims;
        strategy(&Situation { claims, ..*here })
    };
    let mut best = beside(used.len())?;
    let (mut few, mut enough, mut open) = (0, used.len(), 0);
    // Most steps need none of them; then as few as a search by halves finds.
    while few < enough && (open == 0 || spares == Spares::All) {
        match beside(open)
            .ok()
            .filter(|plan| here.is_as_good(plan, &best))
        {
            Some(plan) => (best, enough) = (plan, open),
            None => few = open + 1,
        }
        open = few.midpoint(enough);
    }
    Ok(best)
}

/// The step's cores that others use: those of bindings, those of pools, those of both.
fn used_cores(here: &Situation<'_>, spares: Spares) -> Vec<CpuSet> {
    let claims = here.claims;
    let is_in = |set: &CpuSet, core: &CpuSet| !set.is_empty() && set.intersects(core);
    if claims.pools.is_empty() && claims.bindings.is_empty() {
        return Vec::new();
    }
    let table = here.node.table();
    let cores = here.node.nest().cores().iter();
    let mut used: Vec<_> = cores
        .filter_map(|core| {
            let cpus = table.cpus(table.cores.members(core.index).iter().copied());
            let bound = spares == Spares::All && is_in(&claims.bindings, &cpus);
            let by = (is_in(&claims.pools, &cpus), bound);
            (by != (false, false) && cpus.intersects(&here.owned.cpus)).then_some((by, cpus))
        })
        .collect();
    used.sort_by_key(|(by, _)| *by);
    used.into_iter().map(|(_, cpus)| cpus).collect()
}
