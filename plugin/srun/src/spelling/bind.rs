//! `--cpu-bind` and `--mem-bind`, as `slurm_verify_cpu_bind` and `slurm_verify_mem_bind` read them.
//! In: the option's text. Out: the request in its words; a later word overrides an earlier one of
//! its kind.

use berth_placement::{CpuBind, Level, MemBind, MemPolicy, Mode, TextError};

use crate::release::Release;
use crate::spelling::{level, list, words};

/// The requested levels, a bit for each. Words of `--cpu-bind` replace each other; hints add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelBits(u8);

impl LevelBits {
    /// That level alone.
    #[must_use]
    pub fn only(level: Level) -> Self {
        Self(1 << level as u8)
    }

    /// The levels of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it has a level.
    #[must_use]
    pub fn has(self, level: Level) -> bool {
        self.with(Self::only(level)) == self
    }

    /// All requested levels; the one that slurmd follows comes first.
    pub fn all(self) -> impl Iterator<Item = Level> {
        let all = [Level::Threads, Level::Cores, Level::Sockets, Level::Ldoms];
        all.into_iter().filter(move |level| self.has(*level))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// srun's reading of CPU binding: the bits of `cpu_bind_type`, with the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedBind {
    /// Levels.
    pub levels: LevelBits,
    /// The mode that is spelled out instead of a level.
    pub mode: Option<Mode>,
    /// One thread of each core.
    pub one_thread: bool,
    /// `verbose`.
    pub verbose: bool,
    /// Whether there was a `rank` that srun ignores.
    pub ignored_rank: bool,
}

impl TypedBind {
    /// Whether only a report is requested.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.levels.is_empty() && self.mode.is_none() && !self.one_thread
    }

    /// The binding as slurmd will read it.
    #[must_use]
    pub fn bind(&self) -> CpuBind {
        CpuBind {
            level: self.levels.all().next(),
            mode: self.mode.clone(),
            one_thread: self.one_thread,
            verbose: self.verbose,
        }
    }

    /// Reads the words of a `--cpu-bind`.
    ///
    /// # Errors
    /// A text that srun refuses, and `help`, which starts no step.
    pub fn take(&mut self, text: &str, release: Release) -> Result<(), TextError> {
        words(text, starts_value).try_for_each(|word| self.word(word, release))
    }

    fn word(&mut self, word: &str, release: Release) -> Result<(), TextError> {
        let lower = word.to_ascii_lowercase();
        if let Some(level) = level(&lower) {
            self.levels = LevelBits::only(level);
            return Ok(());
        }
        match lower.as_str() {
            "q" | "quiet" => self.verbose = false,
            "v" | "verbose" => self.verbose = true,
            "one_thread" => self.one_thread = true,
            "no" | "none" => self.mode = Some(Mode::Free),
            "rank" if release >= Release::V24_11 => self.ignored_rank = true,
            "rank" => self.mode = Some(Mode::Rank),
            "rank_ldom" => self.mode = Some(Mode::RankLdom),
            _ => self.mode = Some(listed(word)?),
        }
        Ok(())
    }
}

/// The meaning of a whole `--cpu-bind`.
///
/// # Errors
/// A text that srun refuses.
pub fn cpu_bind(text: &str, release: Release) -> Result<CpuBind, TextError> {
    let mut found = TypedBind::default();
    found.take(text, release)?;
    Ok(found.bind())
}

/// A mode with a list.
fn listed(word: &str) -> Result<Mode, TextError> {
    let kinds = [
        (["map_cpu", "mapcpu"], CPU_NUMBERS),
        (["mask_cpu", "maskcpu"], CPU_MASKS),
        (["map_ldom", "mapldom"], NODE_NUMBERS),
        (["mask_ldom", "maskldom"], NODE_MASKS),
    ];
    let unknown = || {
        let values = "quiet, verbose, none, rank, map_cpu:LIST, mask_cpu:LIST, rank_ldom, map_ldom:LIST, \
                      mask_ldom:LIST, sockets, cores, threads, ldoms";
        unknown("--cpu-bind", word, values)
    };
    let (name, list) = list::of(word, &kinds).ok_or_else(unknown)??;
    Mode::read(name, &list).unwrap_or_else(|| Err(unknown()))
}

const CPU_NUMBERS: &str = "CPU numbers such as 0,2 or 1*4";
const CPU_MASKS: &str = "CPU masks such as 0x1,0xc or 0x3*4";
const NODE_NUMBERS: &str = "NUMA node numbers such as 0,2 or 1*4";
const NODE_MASKS: &str = "NUMA node masks such as 0x1,0x6 or 0x3*4";

/// The error for a word that is none of the option's values.
fn unknown(option: &str, word: &str, values: &str) -> TextError {
    let wanted = match word.eq_ignore_ascii_case("help") {
        true => format!("a {option} for a step: srun prints its help and starts nothing"),
        false => format!("a {option} value: {values}"),
    };
    TextError::new(word, &wanted)
}

/// The meaning of a whole `--mem-bind`.
///
/// # Errors
/// A text that srun refuses.
pub fn mem_bind(text: &str, release: Release) -> Result<MemBind, TextError> {
    let mut found = MemBind::default();
    mem_bind_into(&mut found, text, release)?;
    Ok(found)
}

/// Adds the meaning of a `--mem-bind` to that of an earlier one of the line.
///
/// # Errors
/// A text that srun refuses.
pub fn mem_bind_into(bind: &mut MemBind, text: &str, release: Release) -> Result<(), TextError> {
    for word in words(text, starts_value) {
        match word.to_ascii_lowercase().as_str() {
            "p" | "prefer" => bind.prefer = true,
            "q" | "quiet" => bind.verbose = false,
            "v" | "verbose" => bind.verbose = true,
            "sort" if release < Release::V25_11 => bind.sort = true,
            "nosort" if release < Release::V25_11 => bind.sort = false,
            "no" | "none" => bind.policy = None,
            "rank" => bind.policy = Some(MemPolicy::Rank),
            "local" => bind.policy = Some(MemPolicy::Local),
            _ => bind.policy = Some(mem_listed(word)?),
        }
    }
    Ok(())
}

fn mem_listed(word: &str) -> Result<MemPolicy, TextError> {
    let kinds = [
        (["map_mem", "mapmem"], NODE_NUMBERS),
        (["mask_mem", "maskmem"], NODE_MASKS),
    ];
    let unknown = || {
        let values = "quiet, verbose, prefer, none, rank, local, map_mem:LIST, mask_mem:LIST; sort and nosort up to \
                      Slurm 25.05";
        unknown("--mem-bind", word, values)
    };
    let (name, list) = list::of(word, &kinds).ok_or_else(unknown)??;
    MemPolicy::read(name, &list).unwrap_or_else(|| Err(unknown()))
}

/// Whether a list goes on here: with a decimal digit, or with hexadecimal digits up to the next
/// comma or the end. Source: `_isvalue`, which takes `c*2` for a word.
fn starts_value(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    text.starts_with(|letter: char| letter.is_ascii_digit())
        || matches!(text.as_bytes().get(digits), None | Some(b','))
}
