//! Performance and efficiency cores: which cores are of each kind, and the machine without the efficiency cores that
//! slurmd leaves out. In: a machine with kinds of cores. Out: sets of CPUs, and the part that slurmd counts. Pure.
//!
//! From 23.02 on, if `SlurmdParameters` has no `allow_ecores`, slurmd restricts its topology to the cores that hwloc
//! calls `IntelCore`: `_remove_ecores` in src/slurmd/common/xcpuinfo.c. It needs a slurmd that was built with hwloc
//! 2.4.1 or newer, so the caller compares slurmd's count with each part.

use crate::request::keyword_options::CoreKindWish;
use crate::sets::cpuset::CpuSet;
use crate::topology::machine::{Machine, SocketKind};
use crate::topology::node::Node;
use crate::topology::parts::CoreKind;
use crate::topology::shape::Shape;

impl Machine {
    /// The CPUs of the performance or efficiency cores; none on a machine without several kinds, or where
    /// their order is unknown. Intel's names count where hwloc reports them; otherwise the slowest
    /// kind is the efficient one, and all others perform.
    #[must_use]
    pub fn cpus_of_kind(&self, requested: CoreKindWish) -> Option<CpuSet> {
        let kinds = self.kinds();
        if requested == CoreKindWish::Any {
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
        let wanted =
            |kind: &(usize, &CoreKind)| performs(kind) == (requested == CoreKindWish::Performance);
        let kept = kinds.iter().enumerate().filter(wanted);
        let kept: CpuSet = kept.flat_map(|(_, kind)| kind.cpus.iter()).collect();
        (!kept.is_empty()).then_some(kept)
    }
}

impl Node {
    /// The CPUs of the performance or efficiency cores that slurmd counts; none if it counts none. What
    /// it leaves out still tells the kinds of the others.
    #[must_use]
    pub fn cpus_of_kind(&self, requested: CoreKindWish) -> Option<CpuSet> {
        let counted = self.machine()?.cpus();
        let kept = self
            .whole_machine()?
            .cpus_of_kind(requested)?
            .intersection(counted);
        (!kept.is_empty()).then_some(kept)
    }
}

/// How a release finds the performance cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ECores {
    /// The slowest kind that is called `IntelCore` (23.02 to 24.05).
    FirstKind,
    /// That kind, and all of the same highest frequency (24.11 to 25.11.2).
    SameFrequency,
    /// All kinds that are called so, and all that have the highest frequency of one of them (25.11.3 and later).
    AnyFrequency,
}

impl ECores {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::FirstKind, Self::SameFrequency, Self::AnyFrequency];

    /// The CPUs that stay, or nothing if no kind is called `IntelCore`: then none is left out.
    fn counted(self, kinds: &[CoreKind]) -> Option<CpuSet> {
        let named =
            |kind: &&CoreKind| value(kind, "CoreType").is_some_and(|name| name == "intelcore");
        let most = match self {
            Self::AnyFrequency => usize::MAX,
            Self::FirstKind | Self::SameFrequency => 1,
        };
        let named: Vec<&CoreKind> = kinds.iter().filter(named).take(most).collect();
        let frequency = |kind: &CoreKind| value(kind, "FrequencyMaxMHz");
        let frequencies: Vec<_> = named.iter().filter_map(|kind| frequency(kind)).collect();
        let is_as_fast =
            |kind: &&CoreKind| frequency(kind).is_some_and(|own| frequencies.contains(&own));
        let as_fast = kinds
            .iter()
            .filter(|_| self != Self::FirstKind)
            .filter(is_as_fast);
        let kept = named.iter().copied().chain(as_fast);
        let kept: CpuSet = kept.flat_map(|kind| kind.cpus.iter()).collect();
        (!kept.is_empty()).then_some(kept)
    }
}

/// Slurm compares names and values without regard to case.
fn value(kind: &CoreKind, name: &str) -> Option<String> {
    let found = kind
        .infos
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.to_ascii_lowercase())
}

impl Machine {
    /// The machine as slurmd of such a release counts it without `allow_ecores`, if it leaves cores out.
    #[must_use]
    pub fn without_ecores(&self, release: ECores) -> Option<Self> {
        let kept = release.counted(&self.parts().kinds)?;
        let kept = kept.intersection(self.cpus());
        let some = !kept.is_empty() && kept != *self.cpus();
        some.then(|| Self::new(self.parts().only(&kept)).ok())
            .flatten()
    }

    /// The part of it that slurmd has counted, if that is a part without efficiency cores and not the whole.
    pub(crate) fn counted_part(&self, shape: &Shape, kind: SocketKind) -> Option<Self> {
        if Shape::of(self, kind).is_hardware_of(shape) {
            return None;
        }
        let parts = ECores::ALL
            .into_iter()
            .filter_map(|release| self.without_ecores(release));
        let mut counted = parts.filter(|part| Shape::of(part, kind).is_hardware_of(shape));
        counted.next()
    }
}
