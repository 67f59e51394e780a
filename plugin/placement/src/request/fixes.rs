//! The named fixes: where berth's default differs from task/affinity, on purpose.
//! Each has its own switch (`fixes=+name,-name`); `compat=affinity` switches all of them off.
//! Pure data; the rules themselves ask `Fixes::has` where they apply.

use std::fmt;

use crate::sets::error::TextError;

/// One difference. Each is one bit of [`Fixes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Tasks bound to cores never share one while there is room.
    SmtNeighbours,
    /// Full cyclic over cores takes cores that no earlier task has.
    FcyclicCores,
    /// Cyclic and fcyclic obey `--ntasks-per-socket`.
    SocketLimit,
    /// The limits count a task on every core and socket it touches.
    CountTouched,
    /// `ldoms` stays inside the allocation.
    LdomsInside,
    /// Lists are also checked where cores are specialised.
    SpecLists,
    /// The real sockets count on uneven machines.
    RealSockets,
    /// Machines with holes in their numbering get hwloc's numbers.
    HoleNumbers,
    /// A NUMA node that does not exist is refused.
    MissingLdom,
    /// The third level of `-m` works.
    ThirdLevel,
    /// A note reports that `-c` was reduced.
    SayShrunk,
    /// The bind type is clean where `--overcommit` gives up placing.
    CleanType,
    /// A zero mask in a list is refused.
    EmptyMask,
    /// A step that has no CPU left is refused, not bound to none.
    NoCpuLeft,
    /// Masks inherited from an outer step do not count as a request.
    InheritedMask,
    /// Each core has the hardware threads that the tree says.
    CoreThreads,
    /// A limit that cannot hold is exceeded evenly.
    SpreadLimits,
    /// A note reports tasks that share CPUs although others are idle.
    SayShared,
    /// Isolated CPUs are left out while the tasks do not need them, and those that other software holds
    /// while the step has others.
    IsolatedCpus,
    /// No task has both performance and efficiency cores while each kind has room for whole tasks.
    OneKind,
    /// `rank` begins again where tasks outnumber CPUs, and an inner step does not inherit it.
    RankWraps,
}

/// The name of each fix, and what it fixes in one line. A new fix is a variant above and a line
/// here.
const TABLE: &[(Fix, &str, &str)] = &[
    (
        Fix::SmtNeighbours,
        "smt-neighbours",
        "tasks bound to cores never share a core while there is room (three and more threads per \
         core)",
    ),
    (
        Fix::FcyclicCores,
        "fcyclic-cores",
        "fcyclic with cores gives each task cores of its own while there is room",
    ),
    (
        Fix::SocketLimit,
        "socket-limit",
        "--ntasks-per-socket holds for cyclic and fcyclic too",
    ),
    (
        Fix::CountTouched,
        "count-touched",
        "--ntasks-per-core and --ntasks-per-socket count a task on every core and socket that it \
         touches",
    ),
    (
        Fix::LdomsInside,
        "ldoms-inside",
        "--cpu-bind=ldoms stays inside the step's CPUs",
    ),
    (
        Fix::SpecLists,
        "spec-lists",
        "CPU lists are checked also for jobs with --core-spec or --thread-spec",
    ),
    (
        Fix::RealSockets,
        "real-sockets",
        "sockets of uneven machines are the real ones, not equal parts",
    ),
    (
        Fix::HoleNumbers,
        "hole-numbers",
        "on machines with holes in the numbering each core has its own CPUs",
    ),
    (
        Fix::MissingLdom,
        "missing-ldom",
        "a NUMA node that does not exist is refused",
    ),
    (
        Fix::ThirdLevel,
        "third-level",
        "the third level of -m orders the hardware threads of a socket",
    ),
    (
        Fix::SayShrunk,
        "say-shrunk",
        "a note reports that -c was reduced",
    ),
    (
        Fix::CleanType,
        "clean-type",
        "the bind type loses its level where --overcommit gives up placing",
    ),
    (
        Fix::EmptyMask,
        "empty-mask",
        "a zero mask in a list is refused, and does not mean all of the step's CPUs",
    ),
    (
        Fix::NoCpuLeft,
        "no-cpu-left",
        "a step is refused if --thread-spec leaves it no CPU",
    ),
    (
        Fix::InheritedMask,
        "inherited-mask",
        "an srun inside a step does not inherit that step's masks as a request",
    ),
    (
        Fix::CoreThreads,
        "core-threads",
        "each core has its own hardware threads, also where cores have different numbers of them",
    ),
    (
        Fix::SpreadLimits,
        "spread-limits",
        "a limit on the number of tasks that cannot hold is exceeded evenly",
    ),
    (
        Fix::SayShared,
        "say-shared",
        "a note reports that tasks share CPUs although others of the step stay idle",
    ),
    (
        Fix::IsolatedCpus,
        "isolated-cpus",
        "no task gets CPUs that the kernel isolates while the step has enough others",
    ),
    (
        Fix::OneKind,
        "one-kind",
        "a task that is bound to cores or threads has cores of one kind while each kind has room for \
         whole tasks",
    ),
    (
        Fix::RankWraps,
        "rank-wraps",
        "--cpu-bind=rank begins again at the step's first CPU where tasks outnumber its CPUs",
    ),
];

impl Fix {
    /// Every fix with its name and what it is about.
    pub fn table() -> impl Iterator<Item = (Self, &'static str, &'static str)> {
        TABLE.iter().copied()
    }

    const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// Its name in settings and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        let entry = TABLE.iter().find(|(fix, _, _)| *fix == self);
        entry.map_or("", |(_, name, _)| *name)
    }
}

/// A set of fixes, with room for 64.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fixes(u64);

impl Default for Fixes {
    fn default() -> Self {
        Self::ALL
    }
}

impl Fixes {
    /// berth's default.
    pub const ALL: Self = Self::every();
    /// task/affinity, also where it is wrong.
    pub const NONE: Self = Self(0);

    const fn every() -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < TABLE.len() {
            bits |= TABLE[at].0.bit();
            at += 1;
        }
        Self(bits)
    }

    /// Whether a fix is on.
    #[must_use]
    pub const fn has(self, fix: Fix) -> bool {
        self.0 & fix.bit() != 0
    }

    /// This set with one fix on or off.
    #[must_use]
    pub fn with(self, fix: Fix, on: bool) -> Self {
        let bit = fix.bit();
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Applies `all`, `none`, or a list of `+name` and `-name` to a set.
    ///
    /// # Errors
    /// [`TextError`] for a word without its sign or an unknown name.
    pub fn apply(self, words: &str) -> Result<Self, TextError> {
        match words {
            "" => return Ok(self),
            "all" => return Ok(Self::ALL),
            "none" => return Ok(Self::NONE),
            _ => {}
        }
        words.split(',').try_fold(self, |set, word| {
            let found = word.split_at_checked(1).and_then(|(sign, name)| {
                let (fix, _, _) = TABLE.iter().find(|(_, known, _)| *known == name)?;
                ["+", "-"]
                    .contains(&sign)
                    .then(|| set.with(*fix, sign == "+"))
            });
            found.ok_or_else(|| {
                let names: Vec<_> = TABLE.iter().map(|(_, name, _)| *name).collect();
                let wanted = format!(
                    "+NAME or -NAME (all and none stand alone) with one of {}",
                    names.join(", ")
                );
                TextError::new(word, &wanted)
            })
        })
    }
}

/// The settings that give this set, as plugstack.conf has them, in the fewest words: `berth`, `affinity`,
/// `berth fixes=-NAME,…` or `affinity fixes=+NAME,…`.
impl fmt::Display for Fixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (on, off): (Vec<_>, Vec<_>) = TABLE.iter().partition(|(fix, _, _)| self.has(*fix));
        let (base, sign, others) = match on.len() > off.len() {
            true => ("berth", "-", off),
            false => ("affinity", "+", on),
        };
        f.write_str(base)?;
        for (place, (_, name, _)) in others.iter().enumerate() {
            let before = if place == 0 { " fixes=" } else { "," };
            write!(f, "{before}{sign}{name}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = TABLE.iter().filter(|(fix, _, _)| self.has(*fix));
        f.debug_set().entries(on.map(|(_, name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_shown_in_the_words_that_give_it() {
        assert_eq!(Fixes::ALL.to_string(), "berth");
        assert_eq!(Fixes::NONE.to_string(), "affinity");
        let all_but = Fixes::ALL.apply("-third-level,-say-shrunk").unwrap();
        for some in [Fixes::NONE.apply("+third-level").unwrap(), all_but] {
            let words = some.to_string();
            let (base, fixes) = words.split_once(" fixes=").unwrap();
            let base = if base == "berth" {
                Fixes::ALL
            } else {
                Fixes::NONE
            };
            assert_eq!(base.apply(fixes).unwrap(), some, "{words}");
        }
        assert!(all_but.to_string().starts_with("berth fixes=-"));
    }

    #[test]
    fn words_switch_one_by_one() {
        let one = Fixes::NONE.apply("+third-level").unwrap();
        assert!(one.has(Fix::ThirdLevel) && !one.has(Fix::SpecLists));
        let all_but = Fixes::ALL.apply("-third-level,-say-shrunk").unwrap();
        assert!(!all_but.has(Fix::ThirdLevel) && !all_but.has(Fix::SayShrunk));
        assert!(all_but.has(Fix::SmtNeighbours));
        assert_eq!(Fixes::NONE.apply("all").unwrap(), Fixes::ALL);
        assert_eq!(Fixes::ALL.apply("none").unwrap(), Fixes::NONE);
        for wrong in ["third-level", "+", "+no-such", "all,-third-level", ","] {
            let why = Fixes::ALL.apply(wrong).unwrap_err().to_string();
            assert!(why.contains("all and none stand alone"), "{wrong}: {why}");
        }
    }

    #[test]
    fn the_table_has_every_fix_once() {
        let all = Fix::table().fold(Fixes::NONE, |set, (fix, _, _)| {
            assert!(!set.has(fix), "{} twice", fix.name());
            set.with(fix, true)
        });
        assert_eq!(all, Fixes::ALL);
    }
}
