//! Sets of CPUs of every width, and their words.

use super::*;

impl CpuSet {
    /// Whether two sets have their words in the same memory.
    pub(crate) fn shares_memory(&self, other: &Self) -> bool {
        matches!((&self.0, &other.0), (Words::Many(mine), Words::Many(theirs)) if Arc::ptr_eq(mine, theirs))
    }
}

#[test]
fn copies_of_a_wide_set_share_its_words() {
    let wide = CpuSet::first(4096);
    let mut copy = wide.clone();
    assert!(wide.shares_memory(&copy));
    copy.remove(CpuId(7));
    copy.insert(CpuId(4095));
    assert_eq!((wide.count(), copy.count()), (4096, 4095));
}

#[test]
fn members_come_in_any_order_and_number() {
    let lists = [
        "", "3", "70", "0-63", "64-127", "5,64", "200", "0,4095", "4095", "63-65",
    ];
    let pairs = |one: &&'static str| lists.map(|other| (*one, other));
    for (one, other) in lists.iter().flat_map(pairs) {
        let read = |list: &str| CpuSet::from_list(list).unwrap_or_default();
        let (a, b) = (read(one), read(other));
        let mut both = a.clone();
        both.insert_all(&b);
        let all: CpuSet = b.iter().chain(a.iter()).collect();
        let mut each = CpuSet::new();
        a.iter().chain(b.iter()).for_each(|cpu| each.insert(cpu));
        assert_eq!((&both, &all), (&each, &each), "{one} and {other}");
        assert!(b.is_subset(&both) && a.is_subset(&both));
        assert_eq!(a.to_string(), one);
        assert_eq!(b.to_string(), other);
    }
}

#[test]
fn ranges_cross_words() {
    let set: Set<u32> = [0, 3, 63, 64, 65, 130].into_iter().collect();
    assert_eq!(set.to_string(), "0,3,63-65,130");
    assert_eq!((set.count(), set.count_in(3..65)), (6, 3));
    assert_eq!(set.iter_in(63..131).collect::<Vec<_>>(), [63, 64, 65, 130]);
    assert_eq!(set.count_in(4..4) + set.count_in(200..300), 0);
}

/// Equality is derived, so each set must have one form, whatever came and went.
#[test]
fn equal_sets_are_equal() {
    for count in [0, 1, 63, 64, 65, 128, 200] {
        let mut first = Set::first(count);
        assert_eq!(first, (0..count).collect());
        for member in [300, 70, 5] {
            first.insert(member);
            first.remove(member);
        }
        let rest = (0..count).filter(|member| ![5, 70].contains(member));
        assert_eq!(first, rest.collect());
        assert!(first.difference(&Set::first(count)).is_empty(), "{count}");
    }
}
