//! Bindings spelled out: none, rank, lists of CPUs, masks and memory domains.
//! In: the mode, the step's CPUs, the host. Out: one CPU set a task, or a refusal.
//! Pure. Source: `_validate_map`, `_validate_mask`, `get_cpuset`, `_bind_ldom`.

use crate::cpu_bind::Mode;
use crate::cpuset::CpuSet;
use crate::host::Host;
use crate::ids::{CpuId, LocalId, NumaId};
use crate::refusal::Refusal;

/// The CPU set of each task; `None` for `none`: nothing is bound.
///
/// Lists wrap: task *i* takes entry *i* modulo their length. `wrap` is for NUMA
/// nodes: one that is not there is taken modulo their number, as task/affinity does.
///
/// # Errors
/// [`Refusal`] for a memory domain that is not there, or an empty mask.
pub fn tasks(
    mode: &Mode,
    tasks: u32,
    own: &CpuSet,
    host: &Host,
    wrap: bool,
) -> Result<Option<Vec<CpuSet>>, Refusal> {
    let ids = 0..tasks;
    let sets: Vec<CpuSet> = match mode {
        Mode::Free => return Ok(None),
        Mode::Rank => {
            let all: Vec<CpuId> = own.iter().collect();
            ids.filter_map(|id| pick(&all, id)).map(single).collect()
        }
        Mode::MapCpu(list) => ids.filter_map(|id| pick(list, id)).map(single).collect(),
        Mode::MaskCpu(list) => ids.filter_map(|id| pick(list, id)).collect(),
        Mode::RankLdom => {
            let domains = Domains::of(host, wrap)?;
            ids.map(|id| domains.wrapped(id)).collect()
        }
        Mode::MapLdom(list) => {
            let domains = Domains::of(host, wrap)?;
            ids.filter_map(|id| pick(list, id))
                .map(|id| domains.numbered(id))
                .collect::<Result<_, _>>()?
        }
        Mode::MaskLdom(list) => {
            let domains = Domains::of(host, wrap)?;
            ids.filter_map(|id| pick(list, id))
                .map(|mask| domains.masked(&mask))
                .collect::<Result<_, _>>()?
        }
    };
    match (0..).zip(&sets).find(|(_, set)| set.is_empty()) {
        Some((id, _)) => Err(Refusal::EmptyMask(LocalId(id))),
        None => Ok(Some(sets)),
    }
}

/// Every CPU that a list names.
#[must_use]
pub fn named(mode: &Mode) -> CpuSet {
    let mut all = CpuSet::new();
    match mode {
        Mode::MapCpu(list) => list.iter().for_each(|cpu| all.insert(*cpu)),
        Mode::MaskCpu(list) => list.iter().for_each(|mask| all.insert_all(mask)),
        _ => {}
    }
    all
}

fn pick<T: Clone>(list: &[T], id: u32) -> Option<T> {
    list.get(id as usize % list.len().max(1)).cloned()
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
        let highest = self.list.last().map_or(0, |(id, _)| id.0);
        let id = if self.wrap { id % (highest + 1) } else { id };
        let found = self.list.iter().find(|(known, _)| known.0 == id);
        found.map(|(_, cpus)| cpus.clone()).ok_or_else(|| {
            let numbers: CpuSet = self.list.iter().map(|(id, _)| CpuId(id.0)).collect();
            Refusal::NoSuchDomain {
                asked: id,
                found: numbers.to_string(),
            }
        })
    }

    fn masked(&self, mask: &CpuSet) -> Result<CpuSet, Refusal> {
        let mut cpus = CpuSet::new();
        for id in mask.iter() {
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
