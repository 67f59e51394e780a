//! Which of berth's own options hold: `BERTH_BINDING` and others are the submitting user's defaults,
//! an outer command has asked for some, and others are typed.
//! In: the environment, the typed options. Out: an option's value as it is typed, and the variable
//! that it comes from. [`value`] is the whole rule:
//!
//! 1. A typed option overrides what excludes it ([`Choice`]), wherever that comes from.
//! 2. An outer command's option overrides a user's default for it, and one that excludes it.
//! 3. Among defaults for one option the innermost holds.

/// What an option chooses. Options of one choice belong together; those of choices that exclude each
/// other are never both in force unless somebody writes both in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Grid Engine's binding.
    Binding,
    /// Open MPI's mapping.
    Mapping,
    /// Cores next to devices, which narrows a mapping.
    Near,
    /// The kind of cores, which narrows each of the others.
    Kind,
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

/// `--near`.
pub const NEAR: Names = names!(Near, "near", "NEAR", "near");

/// Every option.
pub const ALL: [&Names; 6] = [&BINDING, &MAP_BY, &RANK_BY, &BIND_TO, &CORE_KIND, &NEAR];

impl Choice {
    /// Whether only one of two choices can be in force.
    fn excludes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Binding, other) | (other, Self::Binding) => {
                matches!(other, Self::Mapping | Self::Near)
            }
            (Self::Mapping | Self::Near | Self::Kind, _) => false,
        }
    }
}

impl Names {
    /// The variable by which an outer command's option or default comes, and its value.
    fn outer(&self, env: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
        let found = |name: &'static str| Some((name, env(name)?));
        found(self.sure).or_else(|| found(self.routed))
    }

    /// Whether an outer command has the option, and not only a default for it.
    fn is_outer_option(&self, env: impl Fn(&str) -> Option<String>) -> bool {
        let outer = self.outer(&env);
        outer.is_some_and(|(name, value)| name == self.sure || Some(value) != env(self.mark))
    }
}

/// Whether an option that is not typed counts beside those that are.
#[must_use]
pub fn counts_beside(names: &Names, typed: &[&Names]) -> bool {
    let excludes = |one: &&Names| one.choice.excludes(names.choice);
    !typed.iter().any(excludes)
}

/// The user's default for an option, where it holds.
#[must_use]
pub fn users(
    names: &Names,
    typed: &[&Names],
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let overrides = |other: &&&Names| {
        **other == names || other.choice.excludes(names.choice) && counts_beside(other, typed)
    };
    let mut others = ALL.iter().filter(overrides);
    let is_free = !typed.contains(&names) && counts_beside(names, typed);
    let holds = is_free && !others.any(|other| other.is_outer_option(&env));
    env(names.own).filter(|_| holds)
}

/// The value of an option that a command does not have itself, and the variable that gives it.
#[must_use]
pub fn value(
    names: &Names,
    typed: &[&Names],
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

    fn found(names: &Names, typed: &[&Names], set: &[(&str, &str)]) -> Option<(String, String)> {
        let known = |name: &str| {
            let mut pairs = set.iter().filter(|(known, _)| *known == name);
            pairs.next().map(|(_, value)| (*value).to_string())
        };
        value(names, typed, known).map(|(name, text)| (name.to_string(), text))
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
        assert_eq!(found(&BINDING, &[&BIND_TO], &both), None);
        // The outer --binding no longer counts, so the default does.
        let typed = [&BIND_TO];
        assert_eq!(found(&MAP_BY, &typed, &both), is(MAP_BY.own, "core"));
        assert_eq!(found(&MAP_BY, &[&BINDING], &both), None);
        assert!(counts_beside(&RANK_BY, &[&MAP_BY]));
        let env = |name: &str| (name == OWN).then(|| "linear:1".to_string());
        assert_eq!(users(&BINDING, &[&BINDING], env), None);
    }

    #[test]
    fn a_kind_of_cores_goes_with_every_choice() {
        for one in ALL {
            assert!(counts_beside(&CORE_KIND, &[one]) && counts_beside(one, &[&CORE_KIND]));
        }
        let outer = [(CORE_KIND.own, "performance"), (ROUTED, "linear:2")];
        let own = is(CORE_KIND.own, "performance");
        assert!(counts_beside(&NEAR, &[&MAP_BY]) && !counts_beside(&BINDING, &[&NEAR]));
        assert_eq!(found(&CORE_KIND, &[&MAP_BY], &outer), own);
    }
}
