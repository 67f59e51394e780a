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

    /// An option that is typed with a value.
    fn typed(own: Own) -> Typed {
        Typed::of(own, "gpu")
    }

    #[test]
    fn what_narrows_and_a_fence_go_with_every_choice() {
        for beside in [Own::CoreKind, Own::Cpuset, Own::Confine] {
            for one in Own::ALL.into_iter().filter(|one| *one != beside) {
                let counts = counts_beside(beside, &[typed(one)]);
                assert!(counts && counts_beside(one, &[typed(beside)]));
            }
        }
    }

    #[test]
    fn a_typed_option_overrides_itself_by_either_name() {
        for one in Own::ALL {
            assert!(!counts_beside(one, &[typed(one)]), "{}", one.name);
            for name in one.inherited() {
                let env = |known: &str| (known == name).then(|| "core".into());
                assert_eq!(value(one, &[typed(one)], env), None, "{name}");
            }
        }
    }

    #[test]
    fn no_binding_overrides_every_choice_from_elsewhere() {
        let none = [Typed::of(Own::Binding, "none")];
        for one in Own::ALL {
            if one.choice == Choice::Beside {
                continue;
            }
            for name in one.inherited().into_iter().chain([one.variable]) {
                let env = |known: &str| (known == name).then(|| "core".into());
                assert_eq!(value(one, &none, env), None, "{name}");
            }
            // A job's option does the same to a user's default.
            if one != Own::Binding {
                let env = |known: &str| match known {
                    _ if known == Own::Binding.routed => Some("none".into()),
                    _ => (known == one.variable).then(|| "core".into()),
                };
                assert_eq!(value(one, &[], env), None, "{}", one.variable);
            }
        }
    }
}
