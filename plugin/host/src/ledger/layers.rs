//! How many others have each CPU, without a number for each CPU. In: CPU sets. Out: the set of the CPUs that
//! anybody has, that of those which a second one has too, and so on.

use berth_placement::CpuSet;

/// The most owners of one CPU that are counted: more make no difference.
const MOST: usize = 8;

/// Each layer has some of the CPUs of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers(Vec<CpuSet>);

impl Layers {
    /// One more has these CPUs.
    pub(super) fn add(&mut self, cpus: &CpuSet) {
        let mut rest = cpus.clone();
        for layer in &mut self.0 {
            let again = layer.intersection(&rest);
            layer.insert_all(&rest);
            rest = again;
        }
        if self.0.len() < MOST && !rest.is_empty() {
            self.0.push(rest);
        }
    }

    /// Somebody has these CPUs who may be among the others.
    pub(super) fn widen(&mut self, cpus: &CpuSet) {
        match self.0.first_mut() {
            Some(layer) => layer.insert_all(cpus),
            None => self.0.push(cpus.clone()),
        }
    }

    /// The CPUs that anybody has, and the further sets.
    pub(super) fn sets(self) -> (CpuSet, Vec<CpuSet>) {
        let mut sets = self.0.into_iter();
        (sets.next().unwrap_or_default(), sets.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_has_the_cpus_of_one_more() {
        let mut layers = Layers::default();
        let set = |list| CpuSet::from_list(list).unwrap();
        let texts = |layers: &Layers| {
            let (first, more) = layers.clone().sets();
            let all = std::iter::once(first).chain(more);
            all.map(|set| set.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&layers), [""]);
        layers.add(&CpuSet::new());
        assert_eq!(texts(&layers), [""]);
        for cpus in ["0-2", "1-2", "1,3,64"] {
            layers.add(&set(cpus));
        }
        assert_eq!(texts(&layers), ["0-3,64", "1-2", "1"]);
        layers.widen(&set("1,4"));
        assert_eq!(texts(&layers), ["0-4,64", "1-2", "1"]);
        (0..20).for_each(|_| layers.add(&set("2")));
        assert_eq!(texts(&layers).len(), MOST);
        assert_eq!(texts(&layers)[MOST - 1], "2");
    }
}
