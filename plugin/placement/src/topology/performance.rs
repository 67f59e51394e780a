//! Which cores are performance cores, and which are efficiency cores.
//! In: a machine with kinds of cores. Out: sets of CPUs. Pure.

use crate::request::core_kind::Kind;
use crate::sets::cpuset::CpuSet;
use crate::topology::kinds::CoreKind;
use crate::topology::machine::Machine;
use crate::topology::node::Node;

impl Machine {
    /// The CPUs of the performance or efficiency cores; none on a machine without several kinds, or where
    /// their order is unknown. Intel's names count where hwloc reports them; otherwise the slowest
    /// kind is the efficient one, and all others perform.
    #[must_use]
    pub fn cpus_of_kind(&self, requested: Kind) -> Option<CpuSet> {
        let kinds = self.kinds();
        if requested == Kind::Any {
            return Some(self.cpus().clone());
        }
        let named = |kind: &&CoreKind| {
            let name = kind.info("CoreType");
            name.is_some_and(|name| name.eq_ignore_ascii_case("IntelCore"))
        };
        let is_named =
            kinds.iter().any(|kind| named(&kind)) && !kinds.iter().all(|kind| named(&kind));
        let performs = |(at, kind): &(usize, &CoreKind)| match is_named {
            true => named(kind),
            false => *at > 0,
        };
        let is_ordered = kinds.iter().all(|kind| kind.rank.is_some());
        if kinds.len() < 2 || !(is_named || is_ordered) {
            return None;
        }
        let wanted = |kind: &(usize, &CoreKind)| performs(kind) == (requested == Kind::Performance);
        let kept = kinds.iter().enumerate().filter(wanted);
        let kept: CpuSet = kept.flat_map(|(_, kind)| kind.cpus.iter()).collect();
        (!kept.is_empty()).then_some(kept)
    }
}

impl Node {
    /// The CPUs of the performance or efficiency cores that slurmd counts; none if it counts none. What
    /// it leaves out still tells the kinds of the others.
    #[must_use]
    pub fn cpus_of_kind(&self, requested: Kind) -> Option<CpuSet> {
        let counted = self.machine()?.cpus();
        let kept = self
            .whole_machine()?
            .cpus_of_kind(requested)?
            .intersection(counted);
        (!kept.is_empty()).then_some(kept)
    }
}
