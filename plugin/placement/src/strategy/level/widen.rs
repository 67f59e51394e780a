//! A task's hardware threads grow to whole objects of the level, by one function for every level.
//! In: each task's hardware threads, the objects, what an object contributes. Out: CPU sets.
//! Pure. Source: `_expand_masks`, `_blot_mask`, `_blot_mask_sockets`.

use crate::answer::plan::TaskPlan;
use crate::owned::Owned;
use crate::request::cpu_bind::Level;
use crate::request::fixes::Fix;
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::PuIdx;
use crate::strategy::level::walk::Placed;
use crate::topology::domains::Domains;
use crate::topology::node::Node;

/// Grows sets of hardware threads. It looks up once what each object contributes.
pub(crate) struct Widening<'a> {
    node: &'a Node,
    owned: &'a Owned,
    /// `None` adds nothing to the hardware threads themselves.
    domains: Option<&'a Domains>,
    /// Whether a mask also gets CPUs that the step does not own, as with task/affinity and `ldoms`.
    beyond: bool,
    seen: Vec<Option<CpuSet>>,
}

impl<'a> Widening<'a> {
    pub(crate) fn to(level: Level, node: &'a Node, owned: &'a Owned) -> Self {
        let table = node.table();
        let domains = match level {
            Level::Threads => None,
            Level::Cores if table.even() == Some(1) => None,
            Level::Cores => Some(&table.cores),
            Level::Sockets => Some(table.wide_sockets()),
            Level::Ldoms => node.ldoms().map(|ldoms| ldoms.domains()),
        };
        let fixes = node.rules().fixes;
        Self {
            beyond: level == Level::Ldoms && !fixes.has(Fix::LdomsInside),
            seen: vec![None; domains.map_or(0, Domains::len)],
            node,
            owned,
            domains,
        }
    }

    /// The CPUs of each task.
    pub(crate) fn tasks(mut self, placed: &Placed) -> Vec<TaskPlan> {
        let table = self.node.table();
        match (self.domains, placed.one_each()) {
            // Most tasks have one hardware thread, and it does not grow.
            (None, Some(pus)) => pus.iter().map(|pu| TaskPlan::on(table.one(*pu))).collect(),
            _ => {
                let each = |pus| TaskPlan::on(self.cpus(pus));
                placed.tasks().map(each).collect()
            }
        }
    }

    /// The CPUs of a task with these hardware threads.
    fn cpus(&mut self, pus: &[PuIdx]) -> CpuSet {
        let table = self.node.table();
        let (Some(domains), Some(first)) = (self.domains, pus.first()) else {
            return table.cpus_of(pus);
        };
        let object = domains.of(*first);
        if pus.iter().all(|pu| domains.of(*pu) == object) {
            let whole = self.whole(domains, object);
            // Of a domain without CPUs the task keeps its own.
            if !whole.is_empty() {
                return whole.clone();
            }
        }
        let mut cpus = table.cpus_of(pus);
        for pu in pus {
            cpus.insert_all(self.whole(domains, domains.of(*pu)));
        }
        cpus
    }

    /// The CPUs of an object.
    fn whole(&mut self, domains: &Domains, object: u32) -> &CpuSet {
        let (node, owned, beyond) = (self.node, self.owned, self.beyond);
        let make = || match node.ldoms() {
            Some(ldoms) if beyond => ldoms.cpus(object),
            _ => node.table().cpus(owned.among(domains.members(object))),
        };
        self.seen[object as usize].get_or_insert_with(make)
    }
}
