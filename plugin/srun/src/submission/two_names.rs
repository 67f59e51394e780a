//! One of berth's own options, given by both of its names: `--near` and `--berth-near`. Slurm keeps both
//! values, and only one could count.
//! In: the options of a line. Out: what is wrong, for the user.

use crate::line::LineOption;
use crate::options::Own;

/// The reason why a line is refused that gives one option two values, by both of its names.
#[must_use]
pub fn why(given: &[LineOption]) -> Option<String> {
    Own::ALL.into_iter().find_map(|own| of(own, given))
}

/// The reason why a line is refused that gives this option two values, by both of its names.
#[must_use]
pub fn of(own: Own, given: &[LineOption]) -> Option<String> {
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
            let found = why(&read(&words, Command::Srun, None).options);
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
