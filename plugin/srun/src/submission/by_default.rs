//! `BERTH_BINDING` and others: the submitting user's defaults for berth's own options, and what an
//! outer command has asked for. The innermost one holds.
//! In: the environment. Out: an option's value as it is typed, and the variable that it comes from.

/// The variables from which an option of berth's own comes.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    /// The user's default.
    pub own: &'static str,
    /// The value that an outer command put into `routed` because of its default.
    pub mark: &'static str,
    /// Slurm's variable for the option: an outer command has set it for the steps of its job,
    /// because of its option or of its default. Source: `spank_process_env_options`.
    pub routed: &'static str,
}

macro_rules! names {
    ($variable:literal, $option:literal) => {
        Names {
            own: concat!("BERTH_", $variable),
            mark: concat!("BERTH_", $variable, "_ROUTED"),
            routed: concat!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_", $option),
        }
    };
}

/// The variables of `--binding`.
pub const BINDING: Names = names!("BINDING", "binding");

/// The variables of `--map-by`.
pub const MAP_BY: Names = names!("MAP_BY", "map_by");

/// The variables of `--rank-by`.
pub const RANK_BY: Names = names!("RANK_BY", "rank_by");

/// The variables of `--bind-to`.
pub const BIND_TO: Names = names!("BIND_TO", "bind_to");

/// The user's default, where it holds: an outer command's option overrides it, but an outer
/// command's default does not.
#[must_use]
pub fn users(names: &Names, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let outer = env(names.routed);
    let is_by_default = outer.is_none() || outer == env(names.mark);
    env(names.own).filter(|_| is_by_default)
}

/// The value of an option that a command does not have itself, and the variable that gives it.
#[must_use]
pub fn value(
    names: &'static Names,
    env: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let own = users(names, &env).map(|text| (names.own, text));
    own.or_else(|| Some((names.routed, env(names.routed)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = BINDING.own;
    const ROUTED: &str = BINDING.routed;
    const MARK: &str = BINDING.mark;

    #[test]
    fn the_innermost_default_and_the_outer_option() {
        let found = |set: &[(&str, &str)]| {
            let known = |name: &str| {
                let mut pairs = set.iter().filter(|(known, _)| *known == name);
                pairs.next().map(|(_, value)| (*value).to_string())
            };
            value(&BINDING, known)
        };
        let is = |name, text: &str| Some((name, text.to_string()));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(OWN, "linear:1")]), is(OWN, "linear:1"));
        assert_eq!(found(&[(ROUTED, "linear:2")]), is(ROUTED, "linear:2"));
        let option = [(OWN, "linear:1"), (ROUTED, "linear:2")];
        assert_eq!(found(&option), is(ROUTED, "linear:2"));
        let default = [(OWN, "linear:1"), (ROUTED, "linear:2"), (MARK, "linear:2")];
        assert_eq!(found(&default), is(OWN, "linear:1"));
        assert_eq!(found(&default[1..]), is(ROUTED, "linear:2"));
    }
}
