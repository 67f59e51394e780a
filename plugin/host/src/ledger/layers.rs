//! How many others have each CPU, without a number for each CPU. In: words of CPU sets. Out: the set of the CPUs that
//! anybody has, that of those which a second one has too, and so on.

use berth_placement::CpuSet;

/// More than so many on one CPU are all the same.
const MOST: usize = 8;

/// Each layer has some of the CPUs of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers(Vec<Vec<u64>>);

impl Layers {
    /// One more has these CPUs.
    pub(super) fn add(&mut self, cpus: &[u64]) {
        let mut rest = cpus.to_vec();
        for layer in &mut self.0 {
            layer.resize(layer.len().max(rest.len()), 0);
            for (word, more) in layer.iter_mut().zip(&mut rest) {
                (*word, *more) = (*word | *more, *word & *more);
            }
        }
        if self.0.len() < MOST && rest.iter().any(|word| *word != 0) {
            self.0.push(rest);
        }
    }

    /// Somebody has these CPUs who may be among the others.
    pub(super) fn widen(&mut self, cpus: &[u64]) {
        match self.0.first_mut() {
            Some(layer) => join(layer, cpus),
            None => self.0.push(cpus.to_vec()),
        }
    }

    /// The CPUs that anybody has, and the further sets.
    pub(super) fn sets(self) -> (CpuSet, Vec<CpuSet>) {
        let mut sets = self.0.into_iter().map(CpuSet::from_words);
        (sets.next().unwrap_or_default(), sets.collect())
    }
}

/// Adds words of a set to those of another.
pub(super) fn join(set: &mut Vec<u64>, more: &[u64]) {
    if set.len() < more.len() {
        set.resize(more.len(), 0);
    }
    for (word, more) in set.iter_mut().zip(more) {
        *word |= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_has_the_cpus_of_one_more() {
        let mut layers = Layers::default();
        let texts = |layers: &Layers| {
            let (first, more) = layers.clone().sets();
            let all = std::iter::once(first).chain(more);
            all.map(|set| set.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&layers), [""]);
        layers.add(&[0]);
        assert_eq!(texts(&layers), [""]);
        for cpus in [&[0b0111][..], &[0b0110], &[0b1010, 1]] {
            layers.add(cpus);
        }
        assert_eq!(texts(&layers), ["0-3,64", "1-2", "1"]);
        layers.widen(&[0b1_0010]);
        assert_eq!(texts(&layers), ["0-4,64", "1-2", "1"]);
        (0..20).for_each(|_| layers.add(&[0b0100]));
        assert_eq!(texts(&layers).len(), MOST);
        assert_eq!(texts(&layers)[MOST - 1], "2");
    }
}
