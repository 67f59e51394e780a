//! Bindings spelled out: none, rank, lists of CPUs, masks and memory domains.
//! In: the mode, the step's CPUs, the host. Out: one CPU set a task, or a refusal.
//! Pure. Source: `_validate_map`, `_validate_mask`, `get_cpuset`, `_bind_ldom`.

use crate::answer::refusal::Refusal;
use crate::request::cpu_bind::Mode;
use crate::request::fixes::Fix;
use crate::request::{CoreSpec, Request};
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, LocalId, NumaId};
use crate::topology::host::Host;

/// The CPU set of each task; `None` for `none`: nothing is bound.
///
/// Lists wrap: task *i* takes entry *i* modulo their length. Without the fix
/// `missing-ldom` a NUMA node that is not there is taken modulo their number; without
/// `empty-mask` and `no-cpu-left` a task's set may be empty.
///
/// # Errors
/// [`Refusal`] for a memory domain that is not there, an empty mask, or a step without CPUs.
pub fn tasks(
    mode: &Mode,
    ask: &Request,
    own: &CpuSet,
    host: &Host,
) -> Result<Option<Vec<CpuSet>>, Refusal> {
    let fixes = ask.rules.fixes;
    let wrap = !fixes.has(Fix::MissingLdom);
    let ids = 0..ask.tasks;
    let sets: Vec<CpuSet> = match mode {
        Mode::Free => return Ok(None),
        // Beside specialised cores task/affinity counts the node's CPUs, as it trusts lists.
        Mode::Rank if ask.core_spec != CoreSpec::None && !fixes.has(Fix::SpecLists) => {
            ids.map(|id| counted(id, ask, own, host)).collect()
        }
        Mode::Rank => {
            let all: Vec<CpuId> = own.iter().collect();
            if all.is_empty() && fixes.has(Fix::NoCpuLeft) {
                return Err(Refusal::NothingOwned);
            }
            let wrapped = |id: u32| all.get(id as usize % all.len().max(1)).copied();
            ids.map(|id| wrapped(id).into_iter().collect()).collect()
        }
        Mode::MapCpu(list) => ids
            .filter_map(|id| list.of_task(id).copied())
            .map(single)
            .collect(),
        Mode::MaskCpu(list) => ids.filter_map(|id| list.of_task(id).cloned()).collect(),
        Mode::RankLdom => {
            let domains = Domains::of(host, wrap)?;
            ids.map(|id| domains.wrapped(id)).collect()
        }
        Mode::MapLdom(list) => {
            let domains = Domains::of(host, wrap)?;
            let sets = list.try_map(|id| domains.numbered(*id))?;
            ids.filter_map(|id| sets.of_task(id).cloned()).collect()
        }
        Mode::MaskLdom(list) => {
            let domains = Domains::of(host, wrap)?;
            let sets = list.try_map(|mask| domains.masked(mask))?;
            ids.filter_map(|id| sets.of_task(id).cloned()).collect()
        }
    };
    match (0..).zip(&sets).find(|(_, set)| set.is_empty()) {
        // Without any CPU `rank` is a matter of `no-cpu-left`.
        Some((id, _)) if fixes.has(Fix::EmptyMask) && *mode != Mode::Rank => {
            Err(Refusal::EmptyMask(LocalId(id)))
        }
        _ => Ok(Some(sets)),
    }
}

/// Every CPU that a list names.
#[must_use]
pub fn named(mode: &Mode) -> CpuSet {
    let mut all = CpuSet::new();
    match mode {
        Mode::MapCpu(list) => list.parts().for_each(|(cpu, _)| all.insert(*cpu)),
        Mode::MaskCpu(list) => list.parts().for_each(|(mask, _)| all.insert_all(mask)),
        _ => {}
    }
    all
}

/// The CPU of `rank` as slurmstepd finds it (`get_cpuset`).
fn counted(id: u32, ask: &Request, own: &CpuSet, host: &Host) -> CpuSet {
    let cpus = ask.job_cpus.unwrap_or(own.count() as u32);
    let end = cpus.saturating_mul(host.shape.threads.max(1)).max(1);
    single(CpuId(id % end))
}

fn single(cpu: CpuId) -> CpuSet {
    std::iter::once(cpu).collect()
}

struct Domains {
    list: Vec<(NumaId, CpuSet)>,
    wrap: bool,
}

impl Domains {
    fn of(host: &Host, wrap: bool) -> Result<Self, Refusal> {
        let mut list = host.memory_domains();
        if list.is_empty() {
            return Err(Refusal::DomainsUnknown);
        }
        if wrap {
            // `_bind_ldom` ends at sockets x cores x threads, also where that is less than the
            // CPUs there are (a core offline, an uneven machine).
            let shape = &host.shape;
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
    fn numbered(&self, id: u32) -> Result<CpuSet, Refusal> {
        let id = self.number(id);
        let found = self.list.iter().find(|(known, _)| known.0 == id);
        found.map(|(_, cpus)| cpus.clone()).ok_or_else(|| {
            let numbers: CpuSet = self.list.iter().map(|(id, _)| CpuId(id.0)).collect();
            Refusal::NoSuchDomain {
                asked: id,
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
            cpus.insert_all(&self.numbered(id.0)?);
        }
        Ok(cpus)
    }
}

/// Grows a task's CPUs to whole memory domains. `within`, where given, keeps
/// the result to the step's CPUs.
///
/// # Errors
/// [`Refusal::DomainsUnknown`] without a machine tree.
pub fn widen_to_domains(
    cpus: &CpuSet,
    host: &Host,
    within: Option<&CpuSet>,
) -> Result<CpuSet, Refusal> {
    let domains = host.memory_domains();
    if domains.is_empty() {
        return Err(Refusal::DomainsUnknown);
    }
    let mut wide = cpus.clone();
    for cpu in cpus.iter() {
        // Of nested domains the smallest counts.
        let near = domains
            .iter()
            .filter(|(_, domain)| domain.contains(cpu))
            .min_by_key(|(_, domain)| domain.count());
        if let Some((_, domain)) = near {
            wide.insert_all(domain);
        }
    }
    Ok(within.map_or(wide.clone(), |own| wide.intersection(own)))
}
