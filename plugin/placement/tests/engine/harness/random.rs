//! Random numbers from a seed: the same everywhere and always, so that a seed is a case. The fuzzer and the comparison
//! with task/affinity take theirs from here too.
//! Source: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).

/// A stream of numbers.
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number of a range, both ends included.
    pub fn within(&mut self, low: u32, high: u32) -> u32 {
        let span = u64::from(high.max(low) - low) + 1;
        low + (self.number() % span) as u32
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// A number of a range, both ends included, of the width of most of Slurm's fields.
    pub fn small(&mut self, low: u16, high: u16) -> u16 {
        self.within(low.into(), high.into()) as u16
    }

    /// True once in `turns`, on average.
    pub fn once_in(&mut self, turns: u32) -> bool {
        self.within(1, turns) == 1
    }

    /// One of several values.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.within(0, of.len() as u32 - 1) as usize]
    }

    /// Some value once in `turns`, else none.
    pub fn maybe(&mut self, turns: u32, low: u32, high: u32) -> Option<u32> {
        self.once_in(turns).then(|| self.within(low, high))
    }

    /// Some of the numbers below `count`, ascending; at least one where there is one.
    pub fn some_of(&mut self, count: u32) -> Vec<u32> {
        let share = self.within(1, 4);
        let mut some: Vec<u32> = (0..count).filter(|_| self.within(1, 4) <= share).collect();
        if some.is_empty() && count > 0 {
            some.push(self.within(0, count - 1));
        }
        some
    }

    /// Puts a list into another order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.within(0, last as u32) as usize);
        }
    }
}
