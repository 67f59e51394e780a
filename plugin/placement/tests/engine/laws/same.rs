//! What means the same gets the same answer.

use std::sync::Arc;

use berth_placement::{Allocation, CpuSet};

use crate::harness::ask::Ask;
use crate::harness::machine_text::host;
use crate::harness::machines::{names, renamed};
use crate::harness::random::Random;
use crate::harness::requests::{any, any_with_threads_kept, cores};
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict, holds};
use crate::laws;

pub fn of_cores(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = any(random, tree);
    ask.request.allocation = cores(random, tree);
    ask
}

/// A request of one of the laws that have their own.
pub fn of_any_law(random: &mut Random, tree: &Tree) -> Ask {
    let sorts = [
        any_with_threads_kept,
        laws::claims::free_cores,
        laws::near::requested,
        laws::cpuset::any,
        laws::mapping::bound,
        laws::memory::requested,
    ];
    random.pick(&sorts)(random, tree)
}

/// Requests and machines read the same again from the text that a report has.
pub fn texts(case: &Case) -> Verdict {
    let text = case.ask.to_string();
    let again = text.parse::<Ask>().as_ref() == Ok(&case.ask);
    let machine = case.tree.to_string();
    let (one, other) = (host(&machine).machine, &case.tree.machine);
    let (parts, others) = (one.parts(), other.parts());
    // Files describe more than a line has.
    let same = one.allowed() == other.allowed()
        && parts.packages == others.packages
        && parts.numa_nodes == others.numa_nodes
        && parts.l3_caches == others.l3_caches;
    holds(again && same, || format!("{text} on {machine}"))
}

/// Other kernel numbers change nothing but the numbers.
pub fn renumbered(case: &Case) -> Verdict {
    let machine = &case.tree.machine;
    let name = names(&mut Random::new(case.random), machine);
    let set = |cpus: &CpuSet| -> CpuSet { cpus.iter().map(&name).collect() };
    let mut ask = case.ask.clone();
    if let Allocation::Cpus(cpus) = &mut ask.request.allocation {
        *cpus = set(cpus);
    }
    let one = case.answer();
    // What is bound beyond the machine is the matter of another law.
    let is_strange = |mask: &CpuSet| !mask.is_subset(machine.cpus());
    if let Ok(one) = &one
        && one.masks.iter().any(is_strange)
    {
        return None;
    }
    let new = Arc::new(renamed(machine, &name));
    let other = ask.answer(&new, case.tree.kind);
    let same = match (&one, &other) {
        (Ok(one), Ok(other)) => {
            let masks: Vec<CpuSet> = one.masks.iter().map(&set).collect();
            masks == other.masks && one.notes.len() == other.notes.len()
        }
        _ => one.is_err() == other.is_err(),
    };
    holds(same, || {
        let machine = Tree::new(new, case.tree.kind);
        format!("as machine {machine} the answer is {other:?}")
    })
}

/// Cores of a credential are their CPUs.
pub fn cores_are_cpus(case: &Case) -> Verdict {
    if case.owned.count() == 0 {
        return None;
    }
    let mut ask = case.ask.clone();
    ask.request.allocation = Allocation::Cpus(case.owned.cpus.clone());
    let (one, other) = (case.answer(), case.answer_to(&ask));
    let same = match (&one, &other) {
        (Ok(one), Ok(other)) => one.masks == other.masks && one.notes.len() == other.notes.len(),
        _ => one.is_err() == other.is_err(),
    };
    holds(same, || format!("with {ask} the answer is {other:?}"))
}
