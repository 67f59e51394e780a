//! `--near` on any machine, alone or beside `--binding=auto`: tasks get CPUs of the step alone, and those
//! of the nearest object that has enough of them, found by trying all.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement::{
    Allocation, CpuId, CpuSet, Level, Near, NearNote, Note, Plan, Refusal, Rule,
};

use crate::harness::ask::{Answer, Ask};
use crate::harness::machine_text::gpu;
use crate::harness::random::Random;
use crate::harness::requests::{few_of, plain};
use crate::harness::tree::{Tree, objects};
use crate::harness::trial::{Case, Verdict, broken, holds};

pub fn requested(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[None]);
    ask.request.cpus_per_task = 1;
    ask.request.near = "gpu".parse().ok();
    if random.once_in(2) {
        ask.request.binding = "auto".parse().ok();
    }
    ask
}

/// Near a GPU that all tasks share.
pub fn near_one(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = requested(random, tree);
    let last = tree.machine.devices().len() as u32;
    ask.request.near = format!("card{}", random.within(1, last)).parse().ok();
    ask
}

/// Every task has CPUs of the step, and none has those of another.
pub fn apart(case: &Case) -> Verdict {
    if case.tasks() > case.owned.count() {
        return None;
    }
    let Ok(answer) = case.answer() else {
        return broken("it is refused");
    };
    let own = |mask: &CpuSet| !mask.is_empty() && mask.is_subset(&case.owned.cpus);
    let again = super::room::shared(&answer.masks);
    holds(again.is_none() && answer.masks.iter().all(own), || {
        format!("of {}, CPU {again:?} twice", case.owned.cpus)
    })
}

/// Tasks share all of the nearest object around their GPU that has a CPU for each.
pub fn nearest(case: &Case) -> Verdict {
    let name = case.ask.request.near.as_ref()?.what.to_string();
    let mut devices = case.tree.machine.devices().iter();
    let gpu = &devices.find(|device| device.names[0] == name)?.cpus;
    if gpu.is_empty() || case.tasks() > case.owned.count() {
        return None;
    }
    let around = objects(&case.tree.machine);
    let around = around.into_iter().filter(|object| gpu.is_subset(object));
    let around: BTreeSet<_> = around.map(|object| (object.count(), object)).collect();
    let counts: BTreeSet<_> = around.iter().map(|(count, _)| *count).collect();
    if counts.len() < around.len() {
        // Neither of two objects of one size is the nearer one.
        return None;
    }
    let mut reached = CpuSet::new();
    let mut own = around.iter().map(|(_, object)| {
        reached.insert_all(object);
        // A core is where its first hardware thread is.
        let inside = |pus: &[CpuId]| reached.contains(pus[0]);
        let cores = case.owned.cores.iter().filter(|core| inside(&core.pus));
        cores.flat_map(|core| core.cpus.iter()).collect::<CpuSet>()
    });
    let expected = own.find(|own| own.count() >= case.tasks());
    let used = case.answer().ok().map(|answer| answer.used());
    holds(used == expected, || {
        format!("{expected:?} is the nearest with room, and tasks have {used:?}")
    })
}

/// Beside limits, reserved CPUs, and too few devices.
pub fn with_options(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = plain(random, tree, &[None, Some(Level::Threads)]);
    ask.request.cpus_per_task = random.within(1, 5);
    ask.request.cpu_bind.one_thread = random.once_in(2);
    ask.request.near = Some(Near {
        each: random.maybe(2, 1, 2),
        strict: random.once_in(2),
        own: false,
        what: "gpu".parse().expect("GPUs"),
    });
    ask.request.reserved = few_of(random, tree);
    ask
}

/// The plan names each task's near cores; a strict request gets them or is refused.
pub fn said(case: &Case) -> Verdict {
    let request = &case.ask.request;
    let usable = case.owned.cpus.difference(&request.reserved);
    let strict = request.near.as_ref()?.strict;
    if usable.is_empty() {
        // A step that has nothing else runs there.
        let mut alone = case.ask.clone();
        alone.request.reserved = CpuSet::new();
        let masks = |ask: &Ask| case.answer_to(ask).ok().map(|answer| answer.masks);
        let alone = masks(&alone);
        return holds(masks(&case.ask) == alone, || format!("else {alone:?}"));
    }
    let answer = match case.answer() {
        Ok(answer) => answer,
        Err(Refusal::Near(_)) => return holds(strict, || "it is not strict".into()),
        Err(Refusal::NoPlace { .. }) => return Some(Ok(())),
        Err(_) => return broken("it is refused"),
    };
    if answer.plan.near.is_none() {
        return holds(!strict && is_failed(case, &answer, &usable), || {
            "it is not near".into()
        });
    }
    let has_own = |mask: &CpuSet| !mask.is_empty() && mask.is_subset(&usable);
    let is_far = |(task, mask): (usize, &CpuSet)| !mask.is_subset(&place(case, &answer.plan, task));
    let far = answer.masks.iter().enumerate().any(is_far);
    let told = |note: &Note| matches!(note, Note::Near(NearNote::NotNear { .. }));
    let is_told = answer.plan.notes.iter().any(told);
    let is_short = |mask: &CpuSet| (mask.count() as u32) < request.cpus_per_task;
    let fits = !far && !answer.masks.iter().any(is_short);
    // Without --overcommit no CPU has two tasks.
    let apart = super::room::shared(&answer.masks).is_none();
    let again = case.answer().is_ok_and(|again| again == answer);
    let is_right = answer.masks.iter().all(has_own) && apart && again;
    holds(is_right && is_told == far && (fits || !strict), || {
        format!("usable are {usable}, far: {far}, fits: {fits}")
    })
}

/// Whether a plan without devices is one for the reason that it gives.
fn is_failed(case: &Case, answer: &Answer, usable: &CpuSet) -> bool {
    let request = &case.ask.request;
    match answer.plan.decision.rule {
        // Slurm granted enough, and the tasks share what is not reserved.
        Rule::TooManyReserved => {
            let share = answer.masks.iter().all(|mask| mask == usable);
            share && answer.notes.len() == 1 && request.reserved.intersects(&case.owned.cpus)
        }
        // There are too few devices.
        Rule::BindingFailed => {
            let each = request.near.as_ref().and_then(|near| near.each);
            each.is_some_and(|each| each as usize > case.tree.machine.devices().len())
        }
        _ => false,
    }
}

/// The CPUs next to a task's devices.
fn place(case: &Case, plan: &Plan, task: usize) -> CpuSet {
    let machine = &case.tree.machine;
    let near = plan.near.as_ref().expect("devices");
    let cpus = near
        .devices(task)
        .map(|device| &machine.devices()[device as usize].cpus);
    let around = cpus.map(|cpus| {
        if cpus.is_empty() {
            machine.cpus()
        } else {
            cpus
        }
    });
    around.flat_map(CpuSet::iter).collect()
}

/// A share near GPUs, beside what others have taken.
pub fn share(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = requested(random, tree);
    ask.request.allocation = Allocation::Cpus(tree.owned(&ask.request.allocation).cpus);
    ask.request.cpu_bind.one_thread = random.once_in(2);
    ask.request.binding = "auto".parse().ok();
    ask.claims.taken = few_of(random, tree);
    ask
}

/// A share divides what `--near` alone divides, and as evenly.
pub fn divides_what_is_near(case: &Case) -> Verdict {
    let usable = usable(case);
    if usable.count() < case.tasks() {
        return None;
    }
    let mut near = case.ask.clone();
    near.request.binding = None;
    let (Ok(near), Ok(auto)) = (case.answer_to(&near), case.answer()) else {
        return broken("it is refused");
    };
    let parts = |answer: &Answer| answer.plan.near.as_ref().map(|near| near.parts.clone());
    let Some(chosen) = auto
        .plan
        .chosen
        .as_ref()
        .filter(|_| parts(&near) == parts(&auto))
    else {
        return broken("it has other devices");
    };
    let cores: Vec<CpuSet> = case
        .tree
        .cores
        .iter()
        .map(|core| core.pus.iter().copied().collect())
        .collect();
    let by_place = |answer: &Answer| {
        let mut all: BTreeMap<CpuSet, CpuSet> = BTreeMap::new();
        for (task, mask) in answer.masks.iter().enumerate() {
            let place = place(case, &answer.plan, task).intersection(&usable);
            all.entry(place).or_default().insert_all(mask);
        }
        all
    };
    // Where the cores of a place are too few for all tasks, one core can have tasks of different places.
    let near_by_place = by_place(&near);
    let fits = near_by_place
        .iter()
        .all(|(place, cpus)| cpus.is_subset(place));
    if fits && !are_shared(&near, &cores) && near_by_place != by_place(&auto) {
        return broken("a core outside those of the group, or an idle one");
    }
    let chosen_masks = (0..case.tasks()).map(|task| chosen.cpus_of_task(task));
    let is_chosen = chosen_masks.eq(auto.masks.iter().cloned());
    let apart = super::room::shared(&auto.masks).is_none();
    let shares_no_more = are_shared(&near, &cores) || !are_shared(&auto, &cores);
    let even = are_shared(&auto, &cores) || are_even(case, &auto, &usable);
    holds(is_chosen && apart && shares_no_more && even, || {
        format!("chosen: {is_chosen}, apart: {apart}, shares: {shares_no_more}, even: {even}")
    })
}

/// A core is usable whole or, if others have a part of it, not at all.
fn usable(case: &Case) -> CpuSet {
    let limit = match case.ask.request.cpu_bind.one_thread {
        true => 1,
        false => usize::MAX,
    };
    let taken = |cpu: &CpuId| case.ask.claims.taken.contains(*cpu);
    let cores = case.tree.cores.iter();
    let free = cores.filter(|core| !core.pus.iter().any(taken));
    free.flat_map(|core| {
        let own = core.pus.iter().copied();
        own.filter(|cpu| case.owned.cpus.contains(*cpu)).take(limit)
    })
    .collect()
}

/// Whether two tasks have hardware threads of one of these sets.
fn are_shared(answer: &Answer, among: &[CpuSet]) -> bool {
    let tasks = |set: &CpuSet| {
        answer
            .masks
            .iter()
            .filter(|mask| mask.intersects(set))
            .count()
    };
    among.iter().any(|set| tasks(set) > 1)
}

/// Inside one cache that is all of a place sizes differ by one core at most.
fn are_even(case: &Case, answer: &Answer, usable: &CpuSet) -> bool {
    let chosen = answer.plan.chosen.as_ref().expect("cores");
    let domains = case.tree.machine.memory_domains();
    case.tree.machine.parts().l3_caches.iter().all(|cache| {
        let mut others = answer.masks.iter().filter(|mask| mask.intersects(cache));
        let inside = (0..case.tasks()).filter(|task| answer.masks[*task].is_subset(cache));
        let place = |task| place(case, &answer.plan, task).intersection(usable);
        let places: BTreeSet<_> = inside.clone().map(place).collect();
        let sizes: BTreeSet<_> = inside.map(|task| chosen.of_task(task).len()).collect();
        let is_cut = |domain: &CpuSet| domain.intersects(cache) && !cache.is_subset(domain);
        let is_one = !domains.iter().any(|(_, cpus)| is_cut(cpus));
        let is_judged = is_one && others.all(|mask| mask.is_subset(cache)) && places.len() == 1;
        let least = sizes.first().copied().unwrap_or(0);
        !is_judged || sizes.last().is_none_or(|most| most - least <= 1)
    })
}

/// A share, with each of its words.
pub fn any_share(random: &mut Random, tree: &Tree) -> Ask {
    let mut ask = share(random, tree);
    let words = random.pick(&["auto", "auto:pack", "auto:smt=1", "env:auto", "strict:auto"]);
    ask.request.near = None;
    ask.request.binding = words.parse().ok();
    ask.request.cpus_per_task = random.within(1, 3);
    ask
}

/// A device that is next to all cores changes nothing.
pub fn next_to_everything(case: &Case) -> Verdict {
    let mut near = case.ask.clone();
    near.request.near = "gpu".parse().ok();
    let devices = vec![gpu("1", CpuSet::new())];
    let machine = case.tree.machine.with_devices(devices).expect("a device");
    let near = near.answer(&machine.into(), case.tree.kind);
    let alone = case.answer();
    let is_failed = |answer: &Result<Answer, Refusal>| match answer {
        Ok(answer) => answer.plan.decision.rule == Rule::BindingFailed,
        Err(why) => matches!(why, Refusal::BindingFailed(_)),
    };
    let cores = |answer: &Answer| answer.plan.chosen.clone();
    let same = match (&alone, &near) {
        (Ok(alone), Ok(near)) if cores(alone).is_some() == cores(near).is_some() => {
            let (one, other) = (&alone.plan, &near.plan);
            one.tasks == other.tasks && one.message == other.message && one.chosen == other.chosen
        }
        // Fewer cores can be easier to divide by -c.
        (_, Ok(near)) if cores(near).is_some() => {
            let each = case.ask.request.cpus_per_task as usize;
            let chosen = cores(near).expect("cores");
            let has_enough = |task| chosen.cpus_of_task(task).count() >= each;
            each > 1 && is_failed(&alone) && (0..case.tasks()).all(has_enough)
        }
        (alone, near) => {
            let refused = |answer: &Result<_, _>| matches!(answer, Err(Refusal::BindingFailed(_)));
            refused(alone) && refused(near)
        }
    };
    holds(same, || format!("near the device {near:?}"))
}
