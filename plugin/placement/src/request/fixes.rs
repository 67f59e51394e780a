//! The named fixes: where berth's default differs from task/affinity, on purpose.
//! Each has its own switch (`fixes=+name,-name`); `compat=affinity` switches all of them off.
//! Pure data; the rules themselves ask `Fixes::has` where they apply.

use std::fmt;

use strum::{EnumCount, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::sets::text::TextError;

/// One difference, with its text for people: what is fixed. Each is one bit of [`Fixes`]; the name in settings is the
/// variant's in kebab-case.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    EnumCount,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Fix {
    /// tasks bound to cores never share a core while there is room (three and more threads per core)
    SmtNeighbours,
    /// fcyclic with cores gives each task cores of its own while there is room
    FcyclicCores,
    /// --ntasks-per-socket holds for cyclic and fcyclic too
    SocketLimit,
    /// --ntasks-per-core and --ntasks-per-socket count a task on every core and socket that it touches
    CountTouched,
    /// --cpu-bind=ldoms stays inside the step's CPUs
    LdomsInside,
    /// CPU lists are checked also for jobs with --core-spec or --thread-spec
    SpecLists,
    /// sockets of uneven machines are the real ones, not equal parts
    RealSockets,
    /// on machines with holes in the numbering each core has its own CPUs
    HoleNumbers,
    /// a NUMA node that does not exist is refused
    MissingLdom,
    /// the third level of -m orders the hardware threads of a socket
    ThirdLevel,
    /// a note reports that -c was reduced
    SayShrunk,
    /// the bind type loses its level where --overcommit gives up placing
    CleanType,
    /// a zero mask in a list is refused, and does not mean all of the step's CPUs
    EmptyMask,
    /// a step is refused if --thread-spec leaves it no CPU
    NoCpuLeft,
    /// an srun inside a step does not inherit that step's masks as a request
    InheritedMask,
    /// each core has its own hardware threads, also where cores have different numbers of them
    CoreThreads,
    /// a limit on the number of tasks that cannot hold is exceeded evenly
    SpreadLimits,
    /// a note reports that tasks share CPUs although others of the step stay idle
    SayShared,
    /// no task gets CPUs that the kernel isolates while the step has enough others
    IsolatedCpus,
    /// a task that is bound to cores or threads has cores of one kind while each kind has room for whole tasks
    OneKind,
    /// --cpu-bind=rank begins again at the step's first CPU where tasks outnumber its CPUs
    RankWraps,
}

impl Fix {
    /// Every fix with its name and what it is about.
    pub fn table() -> impl Iterator<Item = (Self, &'static str, &'static str)> {
        let all = Self::VARIANTS.iter().copied();
        all.map(|fix| (fix, fix.name(), fix.get_documentation().unwrap_or_default()))
    }

    const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// Its name in settings and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
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
    pub const ALL: Self = Self((1 << Fix::COUNT) - 1);
    /// task/affinity, also where it is wrong.
    pub const NONE: Self = Self(0);

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
                let fix = name.parse().ok()?;
                ["+", "-"]
                    .contains(&sign)
                    .then(|| set.with(fix, sign == "+"))
            });
            found.ok_or_else(|| {
                let wanted = format!(
                    "+NAME or -NAME (all and none stand alone) with one of {}",
                    Fix::VARIANTS
                        .iter()
                        .map(|fix| fix.name())
                        .collect::<Vec<_>>()
                        .join(", ")
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
        let all = Fix::VARIANTS.iter().copied();
        let (on, off): (Vec<Fix>, Vec<Fix>) = all.partition(|fix| self.has(*fix));
        let (base, sign, others) = match on.len() > off.len() {
            true => ("berth", "-", off),
            false => ("affinity", "+", on),
        };
        f.write_str(base)?;
        for (place, fix) in others.into_iter().enumerate() {
            let before = if place == 0 { " fixes=" } else { "," };
            write!(f, "{before}{sign}{}", fix.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = Fix::VARIANTS.iter().filter(|fix| self.has(**fix));
        f.debug_set().entries(on).finish()
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
