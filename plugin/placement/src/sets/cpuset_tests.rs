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

/// Words that are added to those of another set, for random sets.
#[test]
fn words_are_added() {
    let mut number = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        number
    };
    for _ in 0..20_000 {
        let mut set = || {
            let mut words = vec![0; (random() % 3) as usize];
            words.push(random() & random() & random());
            CpuSet::from_words(words)
        };
        let (one, next) = (set(), set());
        let mut both = Vec::new();
        one.add_to(&mut both);
        next.add_to(&mut both);
        let mut all = one.clone();
        all.insert_all(&next);
        assert_eq!(CpuSet::from_words(both), all, "{one} {next}");
    }
}
