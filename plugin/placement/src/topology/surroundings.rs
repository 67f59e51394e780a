//! The objects that can be around a device or a task, found once for many plans.
//! In: a machine. Out: CPU sets with their kind, from narrow to wide. Pure.

use crate::sets::cpuset::CpuSet;
use crate::topology::machine::Machine;
use crate::topology::object::ObjectKind;

/// L3 caches, memory domains, dies and packages.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Each object with its kind; the kinds go from narrow to wide.
    pub(crate) objects: Vec<(ObjectKind, CpuSet)>,
    /// Whether the machine has several packages.
    pub(crate) several_packages: bool,
}

impl Surroundings {
    /// Those of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let kinds = [
            ObjectKind::L3,
            ObjectKind::Numa,
            ObjectKind::Die,
            ObjectKind::Package,
        ];
        let of_kind = |kind| {
            let objects = machine.objects(kind).into_iter();
            objects.map(move |cpus| (kind, cpus))
        };
        let objects: Vec<_> = kinds.into_iter().flat_map(of_kind).collect();
        let packages = objects
            .iter()
            .filter(|(kind, _)| *kind == ObjectKind::Package);
        Self {
            several_packages: packages.count() > 1,
            objects,
        }
    }

    /// The objects that have all of a place, from narrow to wide kinds.
    pub(crate) fn that_have(&self, place: &CpuSet) -> impl Iterator<Item = &(ObjectKind, CpuSet)> {
        self.objects
            .iter()
            .filter(|(_, object)| place.is_subset(object))
    }

    /// A place and the objects around it, from narrow to wide.
    pub(crate) fn around<'a>(&'a self, place: &'a CpuSet) -> Vec<&'a CpuSet> {
        let objects = self.objects.iter().map(|(_, cpus)| cpus);
        let larger = objects.filter(|object| place.is_subset(object) && *object != place);
        let mut around: Vec<_> = larger.collect();
        around.sort_by_key(|cpus| cpus.count());
        around.dedup();
        around.insert(0, place);
        around
    }
}
