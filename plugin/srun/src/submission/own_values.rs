//! The value of each of berth's own options: `BERTH_BINDING` and others are the submitting user's defaults,
//! an outer command has asked for some, and others are typed, perhaps by both of their names.
//! In: the environment, the typed options. Out: an option's value as it is typed, and the variable
//! that it comes from; what is wrong. [`value`] is the whole rule:
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
//! every other `--binding` does, and gives way to those of its own line. Slurm keeps both values of an option that is
//! typed by both of its names, `--near` and `--berth-near`, and only one could count.

use berth_placement::Near;

use crate::line::LineOption;
use crate::options::{Choice, Own};

/// An option that is typed.
#[derive(Clone, Copy, Debug)]
pub struct Typed {
    own: Own,
    /// Whether its value leaves no room for other choices.
    excludes: bool,
}

impl Typed {
    /// An option with its value.
    #[must_use]
    pub fn of(own: Own, value: &str) -> Self {
        Self {
            own,
            excludes: chooses(own, value),
        }
    }

    /// Whether it overrides a value of an option that comes from elsewhere.
    fn overrides(&self, other: Own) -> bool {
        self.own == other || self.excludes && self.own.choice.excludes(other.choice)
    }
}

/// Whether an option chooses something with this value.
fn chooses(own: Own, value: &str) -> bool {
    let is_none = || value.parse::<Near>().is_ok_and(|near| !near.asks());
    own.choice != Choice::Near || !is_none()
}

/// The variable by which an outer command's option or default comes, and its value.
fn outer(own: Own, env: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let found = |name: &'static str| Some((name, env(name)?));
    found(own.routed_sure).or_else(|| found(own.routed))
}

/// The value of an outer command's option, and not of a default for it.
fn outer_option(own: Own, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (name, value) = outer(own, &env)?;
    let is_option = name == own.routed_sure || Some(&value) != env(own.mark).as_ref();
    is_option.then_some(value)
}

/// Whether an option's value that is not typed counts beside the typed options.
#[must_use]
pub fn counts_beside(own: Own, typed: &[Typed]) -> bool {
    !typed.iter().any(|one| one.overrides(own))
}

/// The user's default for an option, where it holds.
#[must_use]
pub fn users(own: Own, typed: &[Typed], env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let text = env(own.variable).filter(|_| counts_beside(own, typed))?;
    let is_overridden = Own::ALL.into_iter().any(|other| {
        let outer = outer_option(other, &env).filter(|_| counts_beside(other, typed));
        outer.is_some_and(|value| Typed::of(other, &value).overrides(own))
    });
    (!is_overridden).then_some(text)
}

/// The value of an option that a command does not have itself, and the variable that gives it.
#[must_use]
pub fn value(
    own: Own,
    typed: &[Typed],
    env: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let users = users(own, typed, &env).map(|text| (own.variable, text));
    let outer = || outer(own, &env).filter(|_| counts_beside(own, typed));
    users.or_else(outer)
}

/// The reason why a line is refused that gives one option two values, by both of its names.
#[must_use]
pub fn two_values(given: &[LineOption]) -> Option<String> {
    Own::ALL
        .into_iter()
        .find_map(|own| two_values_of(own, given))
}

/// The reason why a line is refused that gives this option two values, by both of its names.
pub(super) fn two_values_of(own: Own, given: &[LineOption]) -> Option<String> {
    let last = |is_alias: bool| {
        let mut all = given.iter().rev();
        let found = all.find(|one| one.name == own.name && one.alias.is_some() == is_alias);
        Some((found?.alias.unwrap_or(own.name), found?.value.as_deref()?))
    };
    let [(short, value), (sure, other)] = [last(false)?, last(true)?];
    (value != other).then(|| {
        format!(
            "--{short}={value} and --{sure}={other} are two names of one option; leave out one of them"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::read;
    use crate::options::Command;

    const OWN: &str = "BERTH_BINDING";
    const ROUTED: &str = "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding";
    const MARK: &str = "BERTH_BINDING_ROUTED";

    fn found(own: Own, typed: &[Typed], set: &[(&str, &str)]) -> Option<(String, String)> {
        let known = |name: &str| {
            let mut pairs = set.iter().filter(|(known, _)| *known == name);
            pairs.next().map(|(_, value)| (*value).to_string())
        };
        value(own, typed, known).map(|(name, text)| (name.to_string(), text))
    }

    /// An option that is typed with a value.
    fn typed(own: Own) -> Typed {
        Typed::of(own, "gpu")
    }

    fn is(name: &str, text: &str) -> Option<(String, String)> {
        Some((name.to_string(), text.to_string()))
    }

    #[test]
    fn the_innermost_default_and_the_outer_option() {
        let found = |set: &[(&str, &str)]| found(Own::Binding, &[], set);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(OWN, "linear:1")]), is(OWN, "linear:1"));
        assert_eq!(found(&[(ROUTED, "linear:2")]), is(ROUTED, "linear:2"));
        let option = [(OWN, "linear:1"), (ROUTED, "linear:2")];
        assert_eq!(found(&option), is(ROUTED, "linear:2"));
        let default = [(OWN, "linear:1"), (ROUTED, "linear:2"), (MARK, "linear:2")];
        assert_eq!(found(&default), is(OWN, "linear:1"));
        assert_eq!(found(&default[1..]), is(ROUTED, "linear:2"));
        // The sure name is only ever typed.
        let sure = [(OWN, "linear:1"), (Own::Binding.routed_sure, "linear:2")];
        assert_eq!(found(&sure), is(Own::Binding.routed_sure, "linear:2"));
    }

    #[test]
    fn an_outer_option_overrides_a_default_for_another_choice() {
        let mapped = (Own::MapBy.variable, "core");
        let option = [mapped, (ROUTED, "linear:2")];
        assert_eq!(found(Own::MapBy, &[], &option), None);
        assert_eq!(found(Own::Binding, &[], &option), is(ROUTED, "linear:2"));
        // Options of one choice belong together.
        let together = [(Own::MapBy.variable, "core"), (Own::BindTo.routed, "core")];
        assert_eq!(
            found(Own::MapBy, &[], &together),
            is(Own::MapBy.variable, "core")
        );
        // Two defaults contradict each other, wherever they come from, and both are shown.
        let default = [mapped, (ROUTED, "linear:2"), (MARK, "linear:2")];
        assert_eq!(
            found(Own::MapBy, &[], &default),
            is(Own::MapBy.variable, "core")
        );
        assert_eq!(found(Own::Binding, &[], &default), is(ROUTED, "linear:2"));
    }

    #[test]
    fn a_typed_option_overrides_other_choices() {
        let both = [(Own::MapBy.variable, "core"), (ROUTED, "linear:2")];
        assert_eq!(found(Own::Binding, &[typed(Own::BindTo)], &both), None);
        // The outer --binding no longer counts, so the default does.
        assert_eq!(
            found(Own::MapBy, &[typed(Own::BindTo)], &both),
            is(Own::MapBy.variable, "core")
        );
        assert_eq!(found(Own::MapBy, &[typed(Own::Binding)], &both), None);
        assert!(counts_beside(Own::RankBy, &[typed(Own::MapBy)]));
        let env = |name: &str| (name == OWN).then(|| "linear:1".to_string());
        assert_eq!(users(Own::Binding, &[typed(Own::Binding)], env), None);
    }

    #[test]
    fn what_narrows_and_a_fence_go_with_every_choice() {
        for beside in [Own::CoreKind, Own::Cpuset, Own::Confine] {
            for one in Own::ALL.into_iter().filter(|one| *one != beside) {
                let counts = counts_beside(beside, &[typed(one)]);
                assert!(counts && counts_beside(one, &[typed(beside)]));
            }
        }
        let outer = [
            (Own::CoreKind.variable, "performance"),
            (ROUTED, "linear:2"),
        ];
        let own = is(Own::CoreKind.variable, "performance");
        assert_eq!(found(Own::CoreKind, &[typed(Own::MapBy)], &outer), own);
    }

    #[test]
    fn a_typed_option_overrides_itself_by_either_name() {
        for one in Own::ALL {
            assert!(!counts_beside(one, &[typed(one)]), "{}", one.name);
            for name in one.inherited() {
                assert_eq!(found(one, &[typed(one)], &[(name, "core")]), None);
            }
        }
        // The outer one no longer overrides a default for another choice.
        let env = [
            (Own::Near.routed_sure, "gpu"),
            (Own::MapBy.variable, "core"),
        ];
        let none = Typed::of(Own::Near, "none");
        assert_eq!(
            found(Own::MapBy, &[none], &env),
            is(Own::MapBy.variable, "core")
        );
    }

    #[test]
    fn devices_and_a_share_stand_together_only_from_one_place() {
        let share = (Own::Binding.variable, "auto");
        assert_eq!(found(Own::Binding, &[typed(Own::Near)], &[share]), None);
        let near = [(Own::Near.variable, "gpu"), (Own::Near.routed, "gpu")];
        assert_eq!(
            found(Own::Near, &[Typed::of(Own::Binding, "auto")], &near),
            None
        );
        // Two defaults, or two options of one outer command.
        let both = [share, near[0]];
        assert_eq!(
            found(Own::Binding, &[], &both),
            is(Own::Binding.variable, "auto")
        );
        assert_eq!(found(Own::Near, &[], &both), is(Own::Near.variable, "gpu"));
        let outer = [(ROUTED, "auto"), near[1]];
        assert_eq!(found(Own::Binding, &[], &outer), is(ROUTED, "auto"));
        assert_eq!(found(Own::Near, &[], &outer), is(Own::Near.routed, "gpu"));
    }

    #[test]
    fn devices_and_a_mapping_stand_together_only_from_one_place() {
        let outer = [(Own::Near.routed, "gpu"), (Own::MapBy.routed_sure, "numa")];
        assert_eq!(found(Own::Near, &[typed(Own::RankBy)], &outer), None);
        assert_eq!(found(Own::MapBy, &[typed(Own::Near)], &outer), None);
        // One outer command wrote both, or the user has defaults for both.
        assert_eq!(found(Own::Near, &[], &outer), is(Own::Near.routed, "gpu"));
        assert_eq!(
            found(Own::MapBy, &[], &outer),
            is(Own::MapBy.routed_sure, "numa")
        );
        let own = [(Own::Near.variable, "gpu"), (Own::MapBy.variable, "core")];
        assert_eq!(found(Own::Near, &[], &own), is(Own::Near.variable, "gpu"));
        assert_eq!(
            found(Own::MapBy, &[], &own),
            is(Own::MapBy.variable, "core")
        );
        // An outer option overrides a default.
        assert_eq!(
            found(Own::Near, &[], &[own[0], (Own::BindTo.routed, "core")]),
            None
        );
        assert_eq!(
            found(Own::MapBy, &[], &[own[1], (Own::Near.routed, "gpu")]),
            None
        );
    }

    #[test]
    fn no_binding_overrides_every_choice_from_elsewhere() {
        let none = [Typed::of(Own::Binding, "none")];
        for one in [
            Own::Binding,
            Own::MapBy,
            Own::RankBy,
            Own::BindTo,
            Own::Near,
        ] {
            for name in one.inherited().into_iter().chain([one.variable]) {
                assert_eq!(found(one, &none, &[(name, "core")]), None, "{name}");
            }
            // A job's option does the same to a user's default.
            if one != Own::Binding {
                let outer = [(ROUTED, "none"), (one.variable, "core")];
                assert_eq!(found(one, &[], &outer), None, "{}", one.variable);
            }
        }
        let kind = (Own::CoreKind.variable, "performance");
        assert_eq!(found(Own::CoreKind, &none, &[kind]), is(kind.0, kind.1));
    }

    #[test]
    fn no_device_overrides_no_other_choice() {
        for none in ["none", "None"] {
            let typed = [Typed::of(Own::Near, none)];
            assert!(!counts_beside(Own::Near, &typed), "{none}");
            assert!(counts_beside(Own::Binding, &typed) && counts_beside(Own::MapBy, &typed));
            let outer = [
                (Own::Near.routed, none),
                (Own::MapBy.variable, "core"),
                (Own::Near.variable, "gpu"),
            ];
            assert_eq!(
                found(Own::MapBy, &[], &outer),
                is(Own::MapBy.variable, "core")
            );
            assert_eq!(found(Own::Near, &[], &outer), is(Own::Near.routed, none));
        }
    }

    #[test]
    fn both_names_with_two_values_are_refused() {
        for (line, expected) in [
            ("--near=gpu --berth-near=gpu ./a", None),
            ("--near=gpu --near=network ./a", None),
            ("--berth-near=gpu --berth-near=network ./a", None),
            ("--near=gpu --berth-binding=auto ./a", None),
            ("--near=gpu ./a --berth-near=network", None),
            (
                "--berth-near gpu --near=network ./a",
                Some(
                    "--near=network and --berth-near=gpu are two names of one option; leave out one of them",
                ),
            ),
            (
                "--map-by=core -n2 --berth-map-by=numa --map-by=slot ./a",
                Some(
                    "--map-by=slot and --berth-map-by=numa are two names of one option; leave out one of them",
                ),
            ),
        ] {
            let words: Vec<_> = line.split(' ').collect();
            let found = two_values(&read(&words, Command::Srun, None).options);
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
