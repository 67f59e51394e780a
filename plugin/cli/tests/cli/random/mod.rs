//! Random numbers for tests that print their seed.

pub mod options;

use std::time::{SystemTime, UNIX_EPOCH};

/// The seed of a run: that of `BERTH_SEED`, or another one each time. It is printed.
pub fn seed() -> u64 {
    let given = std::env::var("BERTH_SEED").ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = given.map_or(now.as_nanos() as u64 | 1, |text| text.parse().unwrap());
    println!("BERTH_SEED={seed}");
    seed
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// One of several.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}
