//! The metrics of a node: one file of 64-bit words that slurmd and slurmstepd map and add to ([`Mapped`]), and the text in
//! which monitoring reads them: the format of Prometheus.
//! In: a node's state directory. Out: what was counted since the boot.

mod mapped;
mod text;

use std::collections::BTreeMap;

use strum::{EnumIter, EnumMessage, IntoStaticStr};

pub use self::mapped::Mapped;
pub use self::text::{Facts, State, text};
use crate::state::StateDir;
use crate::trust::{self, ReadError};

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

/// A counter: the number is the place of its word, and places are only appended. Monitoring reads each by its word,
/// with its comment as the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, EnumMessage, IntoStaticStr)]
pub enum Count {
    /// Steps and batch scripts that ran with berth.
    #[strum(serialize = "berth_launches_total")]
    Launches = 0,
    /// Tasks that were bound.
    #[strum(serialize = "berth_tasks_bound_total")]
    Bound = 1,
    /// Tasks that were left unbound, for whatever reason.
    #[strum(serialize = "berth_tasks_unbound_total")]
    Unbound = 2,
    /// Steps and batch scripts that were refused.
    #[strum(serialize = "berth_refused_total")]
    Refused = 3,
    /// Tasks for which the kernel did not have what was planned.
    #[strum(serialize = "berth_readback_differences_total")]
    Differences = 4,
    /// Unbound tasks that were launched while berth was switched off.
    #[strum(serialize = "berth_tasks_unbound_switched_off_total")]
    SwitchedOff = 5,
    /// Unbound tasks for which a --binding failed.
    #[strum(serialize = "berth_tasks_unbound_binding_failed_total")]
    BindingFailed = 6,
    /// Steps and batch scripts that Slurm gave some of the reserved CPUs.
    #[strum(serialize = "berth_reserved_granted_total")]
    ReservedGranted = 7,
    /// Steps and batch scripts that run on reserved CPUs, because Slurm gave them no others.
    #[strum(serialize = "berth_reserved_used_total")]
    ReservedUsed = 8,
    /// Bound tasks that were confined to their CPUs.
    #[strum(serialize = "berth_tasks_confined_total")]
    Confined = 9,
    /// Bound tasks that should have been confined to their CPUs, and were not.
    #[strum(serialize = "berth_tasks_not_confined_total")]
    NotConfined = 10,
    /// Steps and batch scripts of jobs that are in a pool.
    #[strum(serialize = "berth_pool_steps_total")]
    InPool = 11,
    /// Steps and batch scripts that ran outside of their pool, because it was full.
    #[strum(serialize = "berth_pool_full_total")]
    PoolFull = 12,
    /// Seconds in which tasks of a step wanted a CPU and none of them had one: steps that have ended, outside of
    /// pools, on a node that has pools.
    #[strum(serialize = "berth_pool_others_waited_seconds_total")]
    OthersWaited = 13,
}

/// The counts of a pool; times in microseconds of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Steps and scripts of its jobs that have ended here.
    pub steps: u64,
    /// The CPUs of their jobs times the time that the steps ran.
    pub requested: u64,
    /// Their CPU time.
    pub delivered: u64,
    /// The time in which at least one of a step's tasks waited for a CPU.
    pub stalled: u64,
}

impl PoolCounts {
    const fn values(self) -> [u64; 4] {
        [self.steps, self.requested, self.delivered, self.stalled]
    }
}

/// The counters of a node.
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
        let bytes = trust::read(&dir.path().join(NAME), MOST)?;
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
