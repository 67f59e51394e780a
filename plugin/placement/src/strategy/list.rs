//! Bindings that the user spells out: rank, lists of CPUs, masks and memory domains.
//! In: the list, the step's CPUs, the node. Out: one CPU set per task, or a refusal.
//! Pure. Source: `_validate_map`, `_validate_mask`, `get_cpuset`, `_bind_ldom`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use crate::answer::decision::Rule;
use crate::answer::plan::{Message, Plan, TaskPlan};
use crate::answer::refusal::Refusal;
use crate::request::cpu_bind::Mode;
use crate::request::fixes::Fix;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, LocalId, NumaId};
use crate::sets::list::List;
use crate::strategy::situation::Situation;
use crate::topology::node::Node;

/// Why a list of CPUs is refused that are not all the step's.
fn outside(here: &Situation<'_>, requested: &Mode, named: &CpuSet) -> Refusal {
    let own = here.shared();
    let outside = named.difference(&own);
    Refusal::Outside {
        requested: requested.clone(),
        narrowed: here.narrowed_from(Some(&outside)),
        outside,
        own,
    }
}

/// Plans a list that the user wrote, or `rank`.
pub(crate) fn choose(here: &Situation<'_>, mode: &Mode) -> Result<Plan, Refusal> {
    let listed = matches!(mode, Mode::MapCpu(_) | Mode::MaskCpu(_));
    let special = here.request.core_spec.is_given();
    if !listed && !here.owned.counts.whole_node && !special {
        here.may_bind()?;
        return Err(Refusal::NeedsWholeHost {
            requested: mode.clone(),
            own: here.owned.cpus.clone(),
            narrowed: here.narrowed_from(None),
        });
    }
    // task/affinity trusts every list if cores are specialised. We run as root, so we check the
    // list.
    let trusted = special && !here.has(Fix::SpecLists);
    if listed && !trusted {
        let (named, shared) = (named(mode), here.shared());
        if !named.is_subset(&shared) {
            return Err(outside(here, mode, &named));
        }
    }
    let read = as_read(here, mode, trusted);
    let tasks: Vec<_> = tasks(here, &read)?.into_iter().map(TaskPlan::on).collect();
    let rule = Rule::Asked(mode.word());
    let message = match &*read {
        Mode::MapCpu(_) => Message::AsAsked(read.into_owned()),
        // task/affinity writes a mask list again after it has checked it.
        Mode::MaskCpu(_) if trusted => Message::AsAsked(read.into_owned()),
        Mode::MaskCpu(_) => Message::Rewritten(read.into_owned()),
        Mode::Rank if !special && !here.has(Fix::RankWraps) => Message::AsAsked(Mode::Rank),
        _ => return Ok(here.each(tasks, rule)),
    };
    Ok(here.plan(tasks, rule, message))
}

/// A mode as task/affinity reads it if it checks lists (`_validate_mask`): a
/// zero mask then means all of the step's CPUs.
fn as_read<'m>(here: &Situation<'_>, mode: &'m Mode, trusted: bool) -> Cow<'m, Mode> {
    match mode {
        Mode::MaskCpu(list) if !trusted && !here.has(Fix::EmptyMask) => {
            let all = here.shared();
            let read = |mask: &CpuSet| if mask.is_empty() { &all } else { mask }.clone();
            Cow::Owned(Mode::MaskCpu(list.map(read)))
        }
        _ => Cow::Borrowed(mode),
    }
}

/// The CPU set of each task.
///
/// Lists wrap: task *i* takes entry *i* modulo their length. Without the fix
/// `missing-ldom` a missing NUMA node is taken modulo their number; without
/// `empty-mask` and `no-cpu-left` a task's set may be empty.
fn tasks(here: &Situation<'_>, mode: &Mode) -> Result<Vec<CpuSet>, Refusal> {
    let wrap = !here.has(Fix::MissingLdom);
    let ids = 0..here.request.tasks;
    let sets: Vec<CpuSet> = match mode {
        // `none` is a wish of its own.
        Mode::Free => vec![CpuSet::new(); ids.len()],
        Mode::Rank => ranks(here)?,
        Mode::MapCpu(list) => ids
            .filter_map(|id| list.of_task(id).copied())
            .map(single)
            .collect(),
        Mode::MaskCpu(list) => ids.filter_map(|id| list.of_task(id).cloned()).collect(),
        Mode::RankLdom => {
            let domains = Numbered::of(here.node, wrap)?;
            ids.map(|id| domains.wrapped(id)).collect()
        }
        Mode::MapLdom(list) => {
            let domains = Numbered::of(here.node, wrap)?;
            of_each_task(list, here.request.tasks, |id| {
                domains.numbered(*id).cloned()
            })?
        }
        Mode::MaskLdom(list) => {
            let domains = Numbered::of(here.node, wrap)?;
            of_each_task(list, here.request.tasks, |mask| domains.masked(mask))?
        }
    };
    match (0..).zip(&sets).find(|(_, set)| set.is_empty()) {
        // If there is no CPU, the fix `no-cpu-left` decides about `rank`.
        Some((id, _)) if here.has(Fix::EmptyMask) && *mode != Mode::Rank => {
            Err(Refusal::EmptyMask(LocalId(id)))
        }
        _ => Ok(sets),
    }
}

/// The CPUs that each task takes from a list. Each value is looked up once, and only if a task
/// takes it; entries that no task takes do not matter.
fn of_each_task<T: Eq + Hash>(
    list: &List<T>,
    tasks: u32,
    look_up: impl Fn(&T) -> Result<CpuSet, Refusal>,
) -> Result<Vec<CpuSet>, Refusal> {
    let count = tasks.min(list.len());
    let mut sets = Vec::with_capacity(tasks as usize);
    let mut known: HashMap<&T, CpuSet> = HashMap::new();
    for (entry, repeats) in list.parts() {
        let room = (count as usize).saturating_sub(sets.len());
        if room == 0 {
            break;
        }
        let set = match known.entry(entry) {
            Entry::Occupied(found) => found.get().clone(),
            Entry::Vacant(new) => new.insert(look_up(entry)?).clone(),
        };
        sets.extend(std::iter::repeat_n(set, room.min(repeats as usize)));
    }
    for id in sets.len()..tasks as usize {
        let again = id.checked_rem(count as usize).and_then(|at| sets.get(at));
        sets.push(again.cloned().unwrap_or_default());
    }
    Ok(sets)
}

/// One CPU for each task.
fn ranks(here: &Situation<'_>) -> Result<Vec<CpuSet>, Refusal> {
    let ids = 0..here.request.tasks;
    // Beside specialised cores task/affinity counts the node's CPUs, because it trusts lists there.
    if here.request.core_spec.is_given() && !here.has(Fix::SpecLists) {
        return Ok(ids.map(|id| counted(here, id)).collect());
    }
    if !here.has(Fix::RankWraps) {
        return unwrapped_ranks(here);
    }
    let all: Vec<CpuId> = here.owned.cpus.iter().collect();
    if all.is_empty() && here.has(Fix::NoCpuLeft) {
        return Err(here.nothing_owned());
    }
    let wrapped = |id: u32| all.get(id as usize % all.len().max(1)).copied();
    Ok(ids.map(|id| wrapped(id).into_iter().collect()).collect())
}

/// The CPUs that task/affinity numbers as it numbers the tasks. Beyond the last one the kernel refuses its mask, and the step
/// fails.
fn unwrapped_ranks(here: &Situation<'_>) -> Result<Vec<CpuSet>, Refusal> {
    let own = &here.owned.cpus;
    let ids = 0..here.request.tasks;
    let rank = |id| {
        let cpu = counted(here, id);
        match cpu.is_subset(own) {
            true => Ok(cpu),
            false => Err(outside(here, &Mode::Rank, &cpu)),
        }
    };
    ids.map(rank).collect()
}

/// Every CPU that a list names.
fn named(mode: &Mode) -> CpuSet {
    let mut all = CpuSet::new();
    match mode {
        Mode::MapCpu(list) => list.parts().for_each(|(cpu, _)| all.insert(*cpu)),
        Mode::MaskCpu(list) => list.parts().for_each(|(mask, _)| all.insert_all(mask)),
        _ => {}
    }
    all
}

/// The CPU of `rank` as slurmstepd finds it (`get_cpuset`).
fn counted(here: &Situation<'_>, id: u32) -> CpuSet {
    let own = here.owned.cpus.count() as u32;
    let cpus = here.request.job_cpus.unwrap_or(own);
    let end = cpus.saturating_mul(here.node.shape().threads.max(1)).max(1);
    single(CpuId(id % end))
}

fn single(cpu: CpuId) -> CpuSet {
    std::iter::once(cpu).collect()
}

/// The memory domains by number.
struct Numbered {
    list: Vec<(NumaId, CpuSet)>,
    wrap: bool,
}

impl Numbered {
    fn of(node: &Node, wrap: bool) -> Result<Self, Refusal> {
        let Some(ldoms) = node.ldoms() else {
            return Err(Refusal::DomainsUnknown);
        };
        let mut list = ldoms.list().to_vec();
        if wrap {
            // `_bind_ldom` ends at sockets × cores × threads, even where that is less than the
            // CPUs there are (a core offline, an uneven machine).
            let shape = node.shape();
            let seen = CpuSet::first(shape.sockets * shape.cores * shape.threads);
            for (_, cpus) in &mut list {
                *cpus = cpus.intersection(&seen);
            }
        }
        Ok(Self { list, wrap })
    }

    fn wrapped(&self, id: u32) -> CpuSet {
        self.list[id as usize % self.list.len()].1.clone()
    }

    /// A missing domain wraps in task/affinity (`nnid = ldom % (nmax + 1)`);
    /// by default it is refused.
    fn numbered(&self, id: u32) -> Result<&CpuSet, Refusal> {
        let id = self.number(id);
        let found = self.list.binary_search_by_key(&id, |(known, _)| known.0);
        found.map(|at| &self.list[at].1).map_err(|_| {
            let numbers: CpuSet = self.list.iter().map(|(id, _)| CpuId(id.0)).collect();
            Refusal::NoSuchDomain {
                requested: id,
                found: numbers.to_string(),
            }
        })
    }

    fn number(&self, id: u32) -> u32 {
        let highest = self.list.last().map_or(0, |(id, _)| id.0);
        if self.wrap { id % (highest + 1) } else { id }
    }

    fn masked(&self, mask: &CpuSet) -> Result<CpuSet, Refusal> {
        // A wide mask names each domain many times where numbers wrap.
        let named: CpuSet = mask.iter().map(|id| CpuId(self.number(id.0))).collect();
        let mut cpus = CpuSet::new();
        for id in named.iter() {
            cpus.insert_all(self.numbered(id.0)?);
        }
        Ok(cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_value_is_looked_up_once_however_often_it_stands_in_a_list() {
        let read = |text: &str| Some(text.to_owned());
        let text = ["a", "b", "a*3", "c"].join(",") + &",b,a".repeat(30_000);
        let list = List::read(&text, "letters", read).unwrap();
        let (looks, ends) = (Cell::new(0), Cell::new(true));
        let look_up = |letter: &String| {
            looks.set(looks.get() + 1);
            ends.set(ends.get() && letter != "c");
            Ok(single(CpuId(u32::from(letter.as_bytes()[0] - b'a'))))
        };
        let sets = of_each_task(&list, 5, look_up).unwrap();
        let cpus: Vec<_> = sets.iter().map(ToString::to_string).collect();
        assert_eq!(cpus, ["0", "1", "0", "0", "0"]);
        assert_eq!((looks.get(), ends.get()), (2, true), "beyond what is taken");
        let sets = of_each_task(&list, 60_008, look_up).unwrap();
        assert_eq!((sets.len(), looks.get()), (60_008, 5));
        let of_task = |id: u32| {
            single(CpuId(u32::from(
                list.of_task(id).unwrap().as_bytes()[0] - b'a',
            )))
        };
        assert!((0..).zip(&sets).all(|(id, set)| *set == of_task(id)));
    }
}
