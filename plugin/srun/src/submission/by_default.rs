//! Which of berth's own options hold: `BERTH_BINDING` and others are the submitting user's defaults,
//! an outer command has asked for some, and others are typed.
//! In: the environment, the typed options. Out: an option's value as it is typed, and the variable
//! that it comes from. [`value`] is the whole rule:
//!
//! 1. A typed option overrides itself, by either of its names, and what excludes it ([`Choice`]),
//!    wherever that comes from.
//! 2. An outer command's option overrides a user's default for it, and one that excludes it.
//! 3. Among defaults for one option the innermost holds.
//!
//! A `--near` and a mapping, or a `--near` and a `--binding`, exclude each other by these rules whatever
//! the other one names. Whether they go together counts only where one place has both: `Wish::of` of
//! berth-placement. A `--near=none` overrides other values of `--near` and excludes nothing. A
//! `--binding=none` means that berth binds nothing: it overrides a mapping and a `--near` from elsewhere as
//! every other `--binding` does, and gives way to those of its own line.

use berth_placement::Near;

/// What an option chooses. Options of one choice belong together; those of choices that exclude each
/// other are never both in force unless somebody writes both in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Grid Engine's binding.
    Binding,
    /// Open MPI's mapping.
    Mapping,
    /// Cores next to devices, which narrows `--binding=auto` and some mappings of the same place.
    Near,
    /// The kind of cores, which narrows each of the others.
    Kind,
    /// The job's cpuset, inside which each of the others holds.
    Cpuset,
    /// Whether the tasks are confined to what the others choose.
    Confine,
    /// Whether the job runs outside of the site's pools.
    Pool,
}

/// An option of berth's own: its name, and the variables from which it comes.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    /// Its name without dashes.
    pub option: &'static str,
    /// What it chooses.
    pub choice: Choice,
    /// The user's default.
    pub own: &'static str,
    /// The value that an outer command put into `routed` because of its default.
    pub mark: &'static str,
    /// Slurm's variable for the option: an outer command has set it for the steps of its job,
    /// because of its option or of its default. Source: `spank_process_env_options`.
    pub routed: &'static str,
    /// The same for the option's sure name, which no default sets.
    pub sure: &'static str,
}

macro_rules! names {
    ($choice:ident, $option:literal, $variable:literal, $word:literal) => {
        Names {
            option: $option,
            choice: Choice::$choice,
            own: concat!("BERTH_", $variable),
            mark: concat!("BERTH_", $variable, "_ROUTED"),
            routed: concat!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_", $word),
            sure: concat!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_berth_", $word),
        }
    };
}

/// `--binding`.
pub const BINDING: Names = names!(Binding, "binding", "BINDING", "binding");

/// `--map-by`.
pub const MAP_BY: Names = names!(Mapping, "map-by", "MAP_BY", "map_by");

/// `--rank-by`.
pub const RANK_BY: Names = names!(Mapping, "rank-by", "RANK_BY", "rank_by");

/// `--bind-to`.
pub const BIND_TO: Names = names!(Mapping, "bind-to", "BIND_TO", "bind_to");

/// `--core-kind`.
pub const CORE_KIND: Names = names!(Kind, "core-kind", "CORE_KIND", "core_kind");

/// `--cpuset`.
pub const CPUSET: Names = names!(Cpuset, "cpuset", "CPUSET", "cpuset");

/// `--near`.
pub const NEAR: Names = names!(Near, "near", "NEAR", "near");

/// `--confine`.
pub const CONFINE: Names = names!(Confine, "confine", "CONFINE", "confine");

/// `--pool`.
pub const POOL: Names = names!(Pool, "pool", "POOL", "pool");

/// Every option.
pub const ALL: [&Names; 9] = [
    &BINDING, &MAP_BY, &RANK_BY, &BIND_TO, &CORE_KIND, &NEAR, &CPUSET, &CONFINE, &POOL,
];

/// An option that is typed.
#[derive(Clone, Copy, Debug)]
pub struct Typed {
    names: &'static Names,
    /// Whether its value leaves no room for other choices.
    excludes: bool,
}

impl Typed {
    /// An option with its value.
    #[must_use]
    pub fn of(names: &'static Names, value: &str) -> Self {
        Self {
            names,
            excludes: names.chooses(value),
        }
    }

    /// Whether it overrides a value of an option that comes from elsewhere.
    fn overrides(&self, other: &Names) -> bool {
        self.names == other || self.excludes && self.names.choice.excludes(other.choice)
    }
}

impl Choice {
    /// Whether an option of this choice chooses CPUs by itself.
    #[must_use]
    pub fn chooses(self) -> bool {
        !matches!(self, Self::Kind | Self::Cpuset | Self::Confine | Self::Pool)
    }

    /// Whether only one of two choices can be in force.
    fn excludes(self, other: Self) -> bool {
        self != other && self.chooses() && other.chooses()
    }
}

impl Names {
    /// The variables by which an outer command's option or default comes.
    #[must_use]
    pub fn inherited(&self) -> [&'static str; 3] {
        [self.routed, self.sure, self.mark]
    }

    /// Whether the option chooses something with this value.
    fn chooses(&self, value: &str) -> bool {
        let is_none = || value.parse::<Near>().is_ok_and(|near| !near.asks());
        self.choice != Choice::Near || !is_none()
    }

    /// The variable by which an outer command's option or default comes, and its value.
    fn outer(&self, env: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
        let found = |name: &'static str| Some((name, env(name)?));
        found(self.sure).or_else(|| found(self.routed))
    }

    /// The value of an outer command's option, and not of a default for it.
    fn outer_option(&self, env: impl Fn(&str) -> Option<String>) -> Option<String> {
        let (name, value) = self.outer(&env)?;
        let is_option = name == self.sure || Some(&value) != env(self.mark).as_ref();
        is_option.then_some(value)
    }
}

/// Whether an option's value that is not typed counts beside the typed options.
#[must_use]
pub fn counts_beside(names: &Names, typed: &[Typed]) -> bool {
    !typed.iter().any(|one| one.overrides(names))
}

/// The user's default for an option, where it holds.
#[must_use]
pub fn users(
    names: &Names,
    typed: &[Typed],
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let is_overridden = ALL.into_iter().any(|other| {
        let outer = other
            .outer_option(&env)
            .filter(|_| counts_beside(other, typed));
        outer.is_some_and(|value| Typed::of(other, &value).overrides(names))
    });
    env(names.own).filter(|_| counts_beside(names, typed) && !is_overridden)
}

/// The value of an option that a command does not have itself, and the variable that gives it.
#[must_use]
pub fn value(
    names: &Names,
    typed: &[Typed],
    env: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let own = users(names, typed, &env).map(|text| (names.own, text));
    let outer = || names.outer(&env).filter(|_| counts_beside(names, typed));
    own.or_else(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = BINDING.own;
    const ROUTED: &str = BINDING.routed;
    const MARK: &str = BINDING.mark;

    fn found(names: &Names, typed: &[Typed], set: &[(&str, &str)]) -> Option<(String, String)> {
        let known = |name: &str| {
            let mut pairs = set.iter().filter(|(known, _)| *known == name);
            pairs.next().map(|(_, value)| (*value).to_string())
        };
        value(names, typed, known).map(|(name, text)| (name.to_string(), text))
    }

    /// An option that is typed with a value.
    fn typed(names: &'static Names) -> Typed {
        Typed::of(names, "gpu")
    }

    fn is(name: &str, text: &str) -> Option<(String, String)> {
        Some((name.to_string(), text.to_string()))
    }

    #[test]
    fn the_innermost_default_and_the_outer_option() {
        let found = |set: &[(&str, &str)]| found(&BINDING, &[], set);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(OWN, "linear:1")]), is(OWN, "linear:1"));
        assert_eq!(found(&[(ROUTED, "linear:2")]), is(ROUTED, "linear:2"));
        let option = [(OWN, "linear:1"), (ROUTED, "linear:2")];
        assert_eq!(found(&option), is(ROUTED, "linear:2"));
        let default = [(OWN, "linear:1"), (ROUTED, "linear:2"), (MARK, "linear:2")];
        assert_eq!(found(&default), is(OWN, "linear:1"));
        assert_eq!(found(&default[1..]), is(ROUTED, "linear:2"));
        // The sure name is only ever typed.
        let sure = [(OWN, "linear:1"), (BINDING.sure, "linear:2")];
        assert_eq!(found(&sure), is(BINDING.sure, "linear:2"));
    }

    #[test]
    fn an_outer_option_overrides_a_default_for_another_choice() {
        let mapped = (MAP_BY.own, "core");
        let option = [mapped, (ROUTED, "linear:2")];
        assert_eq!(found(&MAP_BY, &[], &option), None);
        assert_eq!(found(&BINDING, &[], &option), is(ROUTED, "linear:2"));
        // Options of one choice belong together.
        let together = [(MAP_BY.own, "core"), (BIND_TO.routed, "core")];
        assert_eq!(found(&MAP_BY, &[], &together), is(MAP_BY.own, "core"));
        // Two defaults contradict each other, wherever they come from, and both are shown.
        let default = [mapped, (ROUTED, "linear:2"), (MARK, "linear:2")];
        assert_eq!(found(&MAP_BY, &[], &default), is(MAP_BY.own, "core"));
        assert_eq!(found(&BINDING, &[], &default), is(ROUTED, "linear:2"));
    }

    #[test]
    fn a_typed_option_overrides_other_choices() {
        let both = [(MAP_BY.own, "core"), (ROUTED, "linear:2")];
        assert_eq!(found(&BINDING, &[typed(&BIND_TO)], &both), None);
        // The outer --binding no longer counts, so the default does.
        assert_eq!(
            found(&MAP_BY, &[typed(&BIND_TO)], &both),
            is(MAP_BY.own, "core")
        );
        assert_eq!(found(&MAP_BY, &[typed(&BINDING)], &both), None);
        assert!(counts_beside(&RANK_BY, &[typed(&MAP_BY)]));
        let env = |name: &str| (name == OWN).then(|| "linear:1".to_string());
        assert_eq!(users(&BINDING, &[typed(&BINDING)], env), None);
    }

    #[test]
    fn what_narrows_and_a_fence_go_with_every_choice() {
        for beside in [&CORE_KIND, &CPUSET, &CONFINE] {
            for one in ALL.into_iter().filter(|one| *one != beside) {
                let counts = counts_beside(beside, &[typed(one)]);
                assert!(counts && counts_beside(one, &[typed(beside)]));
            }
        }
        let outer = [(CORE_KIND.own, "performance"), (ROUTED, "linear:2")];
        let own = is(CORE_KIND.own, "performance");
        assert_eq!(found(&CORE_KIND, &[typed(&MAP_BY)], &outer), own);
    }

    #[test]
    fn a_typed_option_overrides_itself_by_either_name() {
        for one in ALL {
            assert!(!counts_beside(one, &[typed(one)]), "{}", one.option);
            for name in one.inherited() {
                assert_eq!(found(one, &[typed(one)], &[(name, "core")]), None);
            }
        }
        // The outer one no longer overrides a default for another choice.
        let env = [(NEAR.sure, "gpu"), (MAP_BY.own, "core")];
        let none = Typed::of(&NEAR, "none");
        assert_eq!(found(&MAP_BY, &[none], &env), is(MAP_BY.own, "core"));
    }

    #[test]
    fn devices_and_a_share_stand_together_only_from_one_place() {
        let share = (BINDING.own, "auto");
        assert_eq!(found(&BINDING, &[typed(&NEAR)], &[share]), None);
        let near = [(NEAR.own, "gpu"), (NEAR.routed, "gpu")];
        assert_eq!(found(&NEAR, &[Typed::of(&BINDING, "auto")], &near), None);
        // Two defaults, or two options of one outer command.
        let both = [share, near[0]];
        assert_eq!(found(&BINDING, &[], &both), is(BINDING.own, "auto"));
        assert_eq!(found(&NEAR, &[], &both), is(NEAR.own, "gpu"));
        let outer = [(ROUTED, "auto"), near[1]];
        assert_eq!(found(&BINDING, &[], &outer), is(ROUTED, "auto"));
        assert_eq!(found(&NEAR, &[], &outer), is(NEAR.routed, "gpu"));
    }

    #[test]
    fn devices_and_a_mapping_stand_together_only_from_one_place() {
        let outer = [(NEAR.routed, "gpu"), (MAP_BY.sure, "numa")];
        assert_eq!(found(&NEAR, &[typed(&RANK_BY)], &outer), None);
        assert_eq!(found(&MAP_BY, &[typed(&NEAR)], &outer), None);
        // One outer command wrote both, or the user has defaults for both.
        assert_eq!(found(&NEAR, &[], &outer), is(NEAR.routed, "gpu"));
        assert_eq!(found(&MAP_BY, &[], &outer), is(MAP_BY.sure, "numa"));
        let own = [(NEAR.own, "gpu"), (MAP_BY.own, "core")];
        assert_eq!(found(&NEAR, &[], &own), is(NEAR.own, "gpu"));
        assert_eq!(found(&MAP_BY, &[], &own), is(MAP_BY.own, "core"));
        // An outer option overrides a default.
        assert_eq!(found(&NEAR, &[], &[own[0], (BIND_TO.routed, "core")]), None);
        assert_eq!(found(&MAP_BY, &[], &[own[1], (NEAR.routed, "gpu")]), None);
    }

    #[test]
    fn no_binding_overrides_every_choice_from_elsewhere() {
        let none = [Typed::of(&BINDING, "none")];
        for one in [&BINDING, &MAP_BY, &RANK_BY, &BIND_TO, &NEAR] {
            for name in one.inherited().into_iter().chain([one.own]) {
                assert_eq!(found(one, &none, &[(name, "core")]), None, "{name}");
            }
            // A job's option does the same to a user's default.
            if one != &BINDING {
                let outer = [(ROUTED, "none"), (one.own, "core")];
                assert_eq!(found(one, &[], &outer), None, "{}", one.own);
            }
        }
        let kind = (CORE_KIND.own, "performance");
        assert_eq!(found(&CORE_KIND, &none, &[kind]), is(kind.0, kind.1));
    }

    #[test]
    fn no_device_overrides_no_other_choice() {
        for none in ["none", "None"] {
            let typed = [Typed::of(&NEAR, none)];
            assert!(!counts_beside(&NEAR, &typed), "{none}");
            assert!(counts_beside(&BINDING, &typed) && counts_beside(&MAP_BY, &typed));
            let outer = [(NEAR.routed, none), (MAP_BY.own, "core"), (NEAR.own, "gpu")];
            assert_eq!(found(&MAP_BY, &[], &outer), is(MAP_BY.own, "core"));
            assert_eq!(found(&NEAR, &[], &outer), is(NEAR.routed, none));
        }
    }
}
