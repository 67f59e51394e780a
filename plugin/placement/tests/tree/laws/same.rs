//! What means the same gets the same answer.

use berth_placement::CpuSet;

use super::super::asking::{any, cores};
use super::super::door::{Answer, Ask, Own, answer};
use super::super::facts::Tree;
use super::super::harness::{Case, Law, Verdict};
use super::super::making::{names, renamed};
use super::super::random::Random;

pub const RENUMBERED: Law = Law {
    name: "other kernel numbers change nothing but the numbers",
    request: any,
    holds: renumbered,
};

pub const CORES_ARE_CPUS: Law = Law {
    name: "cores of a credential are their CPUs",
    request: |random, tree| Ask {
        own: cores(random, tree),
        ..any(random, tree)
    },
    holds: cores_are_cpus,
};

pub fn renumbered(case: &Case) -> Verdict {
    let machine = &case.tree.machine;
    let name = names(&mut Random::new(case.random), machine);
    let set = |cpus: &CpuSet| -> CpuSet { cpus.iter().map(&name).collect() };
    let request = Ask {
        own: match &case.request.own {
            Own::Cpus(cpus) => Own::Cpus(set(cpus)),
            own => own.clone(),
        },
        gpus: case.request.gpus.iter().map(set).collect(),
        ..case.request.clone()
    };
    let one = case.answer();
    // What is bound beyond the machine is the matter of another law.
    let strange = |answer: &Answer| {
        answer
            .masks
            .iter()
            .any(|mask| !mask.is_subset(machine.cpus()))
    };
    if one.as_ref().is_ok_and(strange) {
        return Verdict::Aside;
    }
    let new = renamed(machine, &name);
    let other = answer(&request, &new, case.tree.kind);
    let told = || {
        let machine = Tree::new(new.clone(), case.tree.kind);
        format!("as machine {machine} the answer is {other:?}")
    };
    match (&one, &other) {
        (Ok(one), Ok(other)) => {
            let masks: Vec<CpuSet> = one.masks.iter().map(&set).collect();
            Verdict::when(
                masks == other.masks && one.notes.len() == other.notes.len(),
                told,
            )
        }
        _ => Verdict::when(one.is_err() == other.is_err(), told),
    }
}

fn cores_are_cpus(case: &Case) -> Verdict {
    if case.owned.count() == 0 {
        return Verdict::Aside;
    }
    let request = Ask {
        own: Own::Cpus(case.owned.cpus.clone()),
        ..case.request.clone()
    };
    let (one, other) = (case.answer(), case.answer_to(&request));
    let told = || format!("with --cpus {} the answer is {other:?}", case.owned.cpus);
    match (&one, &other) {
        (Ok(one), Ok(other)) => {
            let notes = one.notes.len() == other.notes.len();
            Verdict::when(one.masks == other.masks && notes, told)
        }
        _ => Verdict::when(one.is_err() == other.is_err(), told),
    }
}
