//! Memory locality domains (ldoms): which CPUs are near the same memory.
//! In: the machine tree. Out: the domains, and the nearest one of each hardware thread. Pure.

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{NumaId, PuIdx};
use crate::topology::domains::Domains;
use crate::topology::machine::Machine;
use crate::topology::pu_table::PuTable;

/// The domains of a node, in the order of their lowest kernel number.
#[derive(Clone, Debug)]
pub struct Ldoms {
    list: Vec<(NumaId, CpuSet)>,
    /// The hardware threads of each domain; a thread in nested domains belongs to the smallest.
    domains: Domains,
}

impl Ldoms {
    pub(crate) fn of(machine: &Machine, table: &PuTable) -> Self {
        let list = machine.memory_domains();
        let pus = (0..table.len() as u32).map(PuIdx);
        let of_pu = pus.map(|pu| {
            let near = table.cpu(pu).and_then(|cpu| {
                let around = (0..).zip(&list).filter(|(_, (_, cpus))| cpus.contains(cpu));
                around.min_by_key(|(_, (_, cpus))| cpus.count())
            });
            near.map_or(list.len() as u32, |(at, _)| at)
        });
        let domains = Domains::of_each(of_pu.collect());
        Self { list, domains }
    }

    /// The kernel's number of each domain, and its CPUs.
    #[must_use]
    pub fn list(&self) -> &[(NumaId, CpuSet)] {
        &self.list
    }

    /// The hardware threads of each domain. Those in no domain form one more, without CPUs.
    pub(crate) fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Some CPUs, grown to their whole domains.
    pub(crate) fn around(&self, cpus: &CpuSet) -> CpuSet {
        let mut wide = cpus.clone();
        for cpu in cpus.iter() {
            let around = self.list.iter().filter(|(_, domain)| domain.contains(cpu));
            if let Some((_, domain)) = around.min_by_key(|(_, domain)| domain.count()) {
                wide.insert_all(domain);
            }
        }
        wide
    }

    /// The CPUs of a domain, also those that other steps own; none if there is no such domain.
    pub(crate) fn cpus(&self, domain: u32) -> CpuSet {
        let found = self.list.get(domain as usize);
        found.map(|(_, cpus)| cpus.clone()).unwrap_or_default()
    }
}
