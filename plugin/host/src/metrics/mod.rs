//! The metrics of a node: one file of 64-bit words that slurmd and slurmstepd map and add to ([`Mapped`]), and the text in
//! which monitoring reads them: the format of Prometheus.
//! In: a node's state directory. Out: what was counted since the boot.

mod mapped;
mod text;

use std::collections::BTreeMap;

pub use self::mapped::Mapped;
pub use self::text::{Facts, State, text};
use crate::state::StateDir;
use crate::trusted_file::{self, ReadError};

/// The file's name in the state directory; another layout of the words will have another number.
pub const NAME: &str = "metrics.1";
const WORD: usize = size_of::<u64>();
/// The words before those of the pools; later releases append counts within them.
const NODE_WORDS: usize = 64;
/// Pools that are counted.
const SLOTS: usize = 64;
/// A slot: the mark of its pool's name, the name, four counts, and room for more.
const SLOT_WORDS: usize = 16;
const SLOT_NAME: usize = 1;
const NAME_WORDS: usize = 8;
const SLOT_COUNTS: usize = SLOT_NAME + NAME_WORDS;
const ALL_WORDS: usize = NODE_WORDS + SLOTS * SLOT_WORDS;
const BYTES: usize = ALL_WORDS * WORD;
/// A later release's file is longer.
const MOST: u64 = 1 << 20;

/// What is counted: the number is the place of its word. Places are only appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Steps and batch scripts that ran here with berth.
    Launches = 0,
    /// Tasks that were bound.
    Bound = 1,
    /// Tasks that were left unbound, for whatever reason.
    Unbound = 2,
    /// Steps and scripts that were refused.
    Refused = 3,
    /// Tasks for which the kernel did not have what was planned.
    Differences = 4,
    /// Those of the unbound tasks that were launched while berth was switched off.
    SwitchedOff = 5,
    /// Those of the unbound tasks for which a `--binding` failed.
    BindingFailed = 6,
    /// Steps and scripts that Slurm gave some of the reserved CPUs.
    ReservedGranted = 7,
    /// Those of them that have no others, and run there.
    ReservedUsed = 8,
    /// Those of the bound tasks that were confined to their CPUs.
    Confined = 9,
    /// Those of the bound tasks that were to be confined, and are not.
    NotConfined = 10,
    /// Steps and scripts of jobs that are in a pool.
    InPool = 11,
    /// Those that ran outside of their pool, because it or the node's pools were full.
    PoolFull = 12,
    /// Microseconds in which the tasks of a step outside of pools, on a node that has pools, wanted a CPU and none of them had one.
    OthersWaited = 13,
}

/// The counts of a pool; times in microseconds of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Steps and scripts of its jobs that have ended here.
    pub steps: u64,
    /// The CPUs of their jobs times the time that the steps ran.
    pub asked: u64,
    /// Their CPU time.
    pub delivered: u64,
    /// The time in which at least one of a step's tasks waited for a CPU.
    pub stalled: u64,
}

impl PoolCounts {
    const fn values(self) -> [u64; 4] {
        [self.steps, self.asked, self.delivered, self.stalled]
    }
}

/// What was counted on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    words: Vec<u64>,
}

impl Metrics {
    /// Reads the file, as only root can have written it.
    ///
    /// # Errors
    /// [`ReadError`], also where nothing could be counted yet.
    pub fn read(dir: &StateDir) -> Result<Self, ReadError> {
        let bytes = trusted_file::read(&dir.path().join(NAME), MOST)?;
        let words = bytes.chunks_exact(WORD);
        let words = words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        Ok(Self {
            words: words.collect(),
        })
    }

    /// A count.
    #[must_use]
    pub fn get(&self, count: Count) -> u64 {
        self.words.get(count as usize).copied().unwrap_or_default()
    }

    /// The pools by name, with the values of their [`PoolCounts`]. A name that is only half written is left out.
    fn pools(&self) -> BTreeMap<String, [u64; 4]> {
        let slots = self.words.get(NODE_WORDS..ALL_WORDS).unwrap_or_default();
        let pool = |slot: &[u64]| {
            let name = slot.get(SLOT_NAME..SLOT_COUNTS)?.iter();
            let mut name: Vec<u8> = name.flat_map(|word| word.to_ne_bytes()).collect();
            name.truncate(
                name.iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(name.len()),
            );
            let name = String::from_utf8(name).ok()?;
            let counts = slot.get(SLOT_COUNTS..SLOT_COUNTS + 4)?.try_into().ok()?;
            (slot.first() == Some(&mapped::mark(&name))).then_some((name, counts))
        };
        slots.chunks_exact(SLOT_WORDS).filter_map(pool).collect()
    }
}
