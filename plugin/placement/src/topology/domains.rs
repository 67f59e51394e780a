//! The node's hardware threads, divided into the objects of a level: cores, sockets, memory domains.
//! In: each object's hardware threads. Out: the object of each, and the threads of each object.
//! Pure.

use crate::sets::ids::PuIdx;

/// A partition of the node's hardware threads: an object kind's members, or task/affinity's
/// equal parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    /// The object of each hardware thread.
    of_pu: Vec<u32>,
    /// The hardware threads of all objects, one object after the other.
    members: Vec<PuIdx>,
    /// Where each object's members end.
    ends: Vec<usize>,
}

impl Domains {
    /// The object of each hardware thread, and each object's members. task/affinity's sockets
    /// can share members, on a node that slurm.conf makes larger than it is.
    pub(crate) fn new<M>(of_pu: Vec<u32>, objects: impl Iterator<Item = M>) -> Self
    where
        M: IntoIterator<Item = PuIdx>,
    {
        let mut made = Self {
            of_pu,
            ..Self::default()
        };
        for members in objects {
            made.members.extend(members);
            made.ends.push(made.members.len());
        }
        made
    }

    /// Objects given by the object of each hardware thread, in order.
    pub(crate) fn of_each(of_pu: Vec<u32>) -> Self {
        let count = of_pu.iter().max().map_or(0, |last| *last as usize + 1);
        let mut members = vec![Vec::new(); count];
        for (pu, object) in (0..).zip(&of_pu) {
            members[*object as usize].push(PuIdx(pu));
        }
        Self::new(of_pu, members.into_iter())
    }

    /// Removes hardware threads from all objects; the objects stay, perhaps empty.
    pub(crate) fn retain(&mut self, keep: impl Fn(PuIdx) -> bool) {
        let objects: Vec<Vec<_>> = self
            .iter()
            .map(|members| members.iter().copied().filter(|pu| keep(*pu)).collect())
            .collect();
        *self = Self::new(std::mem::take(&mut self.of_pu), objects.into_iter());
    }

    /// The object of a hardware thread.
    #[must_use]
    pub fn of(&self, pu: PuIdx) -> u32 {
        self.of_pu[pu.index()]
    }

    /// The hardware threads of an object; none if there is no such object.
    #[must_use]
    pub fn members(&self, object: u32) -> &[PuIdx] {
        let at = object as usize;
        let Some(end) = self.ends.get(at) else {
            return &[];
        };
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.members[first..*end]
    }

    /// The objects' hardware threads, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[PuIdx]> {
        (0..self.ends.len() as u32).map(|object| self.members(object))
    }

    /// Number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_knows_its_object() {
        let domains = Domains::of_each(vec![0, 0, 1, 1, 1, 3]);
        assert_eq!(domains.len(), 4);
        assert_eq!(domains.members(1), [PuIdx(2), PuIdx(3), PuIdx(4)]);
        assert_eq!(domains.members(2), []);
        assert_eq!(domains.members(9), []);
        assert_eq!(domains.of(PuIdx(5)), 3);
    }

    #[test]
    fn a_thread_taken_out_leaves_its_object() {
        let mut domains = Domains::of_each(vec![0, 0, 1]);
        domains.retain(|pu| pu != PuIdx(2));
        assert_eq!((domains.len(), domains.members(1)), (2, &[][..]));
        assert_eq!(domains.of(PuIdx(2)), 1);
    }
}
