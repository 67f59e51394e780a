//! How many requests ended how, added up over processes.

use berth_placement::Fix;

use crate::conditions::CONDITIONS;

/// Requests of one fix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfFix {
    /// Its condition held.
    pub held: u64,
    /// It alone explained a difference.
    pub claimed: u64,
}

/// The sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Bound alike.
    pub same: u64,
    /// Refused alike.
    pub refused: u64,
    /// Different by one named fix.
    pub claimed: u64,
    /// Different by several named fixes at once.
    pub several: u64,
    /// Different, and nothing explains it.
    pub differ: u64,
    fixes: Vec<OfFix>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            same: 0,
            refused: 0,
            claimed: 0,
            several: 0,
            differ: 0,
            fixes: vec![OfFix::default(); CONDITIONS.len()],
        }
    }
}

impl Tally {
    /// The counts of a fix.
    ///
    /// # Panics
    /// For a fix without a condition.
    pub fn of(&mut self, fix: Fix) -> &mut OfFix {
        let at = CONDITIONS.iter().position(|known| known.fix == fix);
        &mut self.fixes[at.expect("a fix with a condition")]
    }

    /// All counts on one line.
    #[must_use]
    pub fn write(&self) -> String {
        let sums = [
            self.same,
            self.refused,
            self.claimed,
            self.several,
            self.differ,
        ];
        let fixes = self.fixes.iter().flat_map(|fix| [fix.held, fix.claimed]);
        let words: Vec<_> = sums
            .into_iter()
            .chain(fixes)
            .map(|n| n.to_string())
            .collect();
        words.join(" ")
    }

    /// What [`Tally::write`] wrote.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
        let numbers = numbers?;
        let (sums, fixes) = numbers.split_at_checked(5)?;
        let [same, refused, claimed, several, differ] = *sums.as_array()?;
        let fixes = fixes.as_chunks::<2>().0.iter();
        let fixes: Vec<_> = fixes
            .map(|[held, claimed]| OfFix {
                held: *held,
                claimed: *claimed,
            })
            .collect();
        (fixes.len() == CONDITIONS.len()).then_some(Self {
            same,
            refused,
            claimed,
            several,
            differ,
            fixes,
        })
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.same += other.same;
        self.refused += other.refused;
        self.claimed += other.claimed;
        self.several += other.several;
        self.differ += other.differ;
        for (mine, other) in self.fixes.iter_mut().zip(&other.fixes) {
            mine.held += other.held;
            mine.claimed += other.claimed;
        }
    }

    /// A line a fix, and whether each was exercised and seen often enough.
    #[must_use]
    pub fn judge_fixes(&self) -> (String, bool) {
        let mut good = true;
        let mut text = String::new();
        for (condition, fix) in CONDITIONS.iter().zip(&self.fixes) {
            let share = fix.claimed * 10_000 / fix.held.max(1);
            let enough = fix.claimed > 0 && share >= condition.seen;
            good &= enough;
            let verdict = if enough { "" } else { "  TOO FEW" };
            text += &format!(
                "  {:15} condition held {:6}, alone made the difference {:6} ({:.2} %, at least {:.2} % wanted){verdict}\n",
                condition.fix.name(),
                fix.held,
                fix.claimed,
                share as f64 / 100.0,
                condition.seen as f64 / 100.0,
            );
        }
        (text, good)
    }
}
