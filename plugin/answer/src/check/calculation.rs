//! The shell's `$((…))`, as far as the values of its names are known.

use crate::shell::{is_letter, is_variable};

/// Bytes of a value that is put together: a mask for each of 256 tasks on 512 CPUs. A variable that holds itself twice
/// doubles with each line of a script.
pub(super) const LONGEST: usize = 32 << 10;

/// The longest value that takes the place of its name in a calculation.
const LONGEST_OPERAND: usize = 64;

/// The longest calculation that is looked for.
const LONGEST_CALCULATION: usize = 1000;

const SIGNS: [char; 5] = ['+', '-', '*', '/', '%'];

/// The text with the results of its `$((…))`, the inner ones first. Where a result is not known, names have their values, so
/// that the job's variables may complete it.
pub(super) fn calculate<'a>(mut text: String, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut end = text.len();
    while let Some(start) = text[..end].rfind("$((")
        && text.len() <= LONGEST
    {
        end = start;
        let Some(inner) = inner(&text[start + 3..]) else {
            continue;
        };
        let range = start..start + inner.len() + 5;
        let known = with_values(inner, &value);
        let number = result(&known).map(|number| number.to_string());
        let new = number.unwrap_or_else(|| format!("$(({known}))"));
        text.replace_range(range, &new);
    }
    text
}

/// A calculation up to the `))` that closes it; none where that is missing or more than [`LONGEST_CALCULATION`] bytes away.
fn inner(text: &str) -> Option<&str> {
    let mut open = 0_u32;
    let mut bytes = text.bytes().enumerate().take(LONGEST_CALCULATION);
    let end = bytes.find(|(_, byte)| match byte {
        b'(' => {
            open += 1;
            false
        }
        b')' if open > 0 => {
            open -= 1;
            false
        }
        byte => *byte == b')',
    });
    let (inner, rest) = text.split_at(end?.0);
    rest.starts_with("))").then_some(inner)
}

/// The variables that calculations in a word change, as in `$((N++))`.
pub(super) fn changed_in(word: &str) -> impl Iterator<Item = &str> {
    word.split("$((").skip(1).flat_map(changed)
}

/// The variables that a calculation changes: `N=2`, `N+=2`, `N++`.
pub(super) fn changed(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut before, mut rest) = text.split_at(text.find(is_letter).unwrap_or(text.len()));
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_letter(letter));
        let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let next = behind.find(is_letter).unwrap_or(behind.len());
        let between = behind[..next].trim_start();
        let operator = between.trim_end_matches(|letter| letter != '=');
        let operator = operator.strip_suffix('=');
        let is_set = operator.is_some_and(|operator| {
            let mut signs = operator.chars();
            signs.all(|sign| "*/%+-&^|<>".contains(sign)) && !["<", ">"].contains(&operator)
        });
        let is_counted = |signs: &str| between.starts_with(signs) || before.ends_with(signs);
        if is_variable(name) && (is_set || is_counted("++") || is_counted("--")) {
            names.push(name);
        }
        before = behind[..next].trim_end();
        rest = &behind[next..];
    }
    names
}

/// The name and the default of `NAME:-default` and `NAME:=default`.
pub(super) fn with_default(braced: &str) -> Option<(&str, &str)> {
    braced.split_once(":-").or(braced.split_once(":="))
}

/// A calculation with the values of its names that are numbers, other variables or calculations.
fn with_values<'a>(text: &str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let is_operand = |value: &&str| {
        let name = value.strip_prefix('$').unwrap_or_default();
        let braced = name
            .strip_prefix('{')
            .and_then(|name| name.strip_suffix('}'));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let defaulted = braced.and_then(with_default);
        let defaulted = defaulted.filter(|(_, default)| is_number(default));
        let braced = defaulted.map(|(name, _)| name).or(braced);
        let is_calculated = name.starts_with("((") && name.ends_with("))");
        let is_known = value.parse::<i64>().is_ok() || is_variable(braced.unwrap_or(name));
        (is_known || is_calculated) && value.len() <= LONGEST_OPERAND
    };
    let is_between = |letter: char| SIGNS.contains(&letter) || "() ".contains(letter);
    let operands = text.split_inclusive(is_between).map(|part| {
        let name = part.trim_end_matches(is_between);
        let value = value(name).filter(is_operand);
        value.map_or(part.into(), |value| part.replacen(name, value, 1))
    });
    operands.collect()
}

/// The result of whole numbers with `+ - * / %` between them, and brackets around some of them.
fn result(text: &str) -> Option<i64> {
    let mut text = text.to_string();
    while let Some(start) = text.rfind('(') {
        let end = start + text[start..].find(')')?;
        let number = without_brackets(&text[start + 1..end])?;
        text.replace_range(start..=end, &number.to_string());
    }
    without_brackets(&text)
}

fn without_brackets(mut text: &str) -> Option<i64> {
    let (mut sum, mut product, mut sign) = (0_i64, 0_i64, '+');
    loop {
        let end = text.find(SIGNS);
        let (operand, rest) = text.split_at(end.unwrap_or(text.len()));
        let number: i64 = operand.trim().parse().ok()?;
        if matches!(sign, '+' | '-') {
            sum = sum.checked_add(product)?;
        }
        product = match sign {
            '+' => number,
            '-' => number.checked_neg()?,
            '*' => product.checked_mul(number)?,
            '/' => product.checked_div(number)?,
            _ => product.checked_rem(number)?,
        };
        let mut rest = rest.chars();
        match rest.next() {
            Some(next) => (sign, text) = (next, rest.as_str()),
            None => return sum.checked_add(product),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_calculated() {
        let value = |name: &str| {
            [("N", "4"), ("E", "x"), ("J", "${JOB}")]
                .iter()
                .find(|one| one.0 == name)
                .map(|one| one.1)
        };
        for (text, expected) in [
            ("$((N*2))", "8"),
            ("-n$(( N / 3 + 10 - 2*N ))x", "-n3x"),
            ("$((7%4))$((1-3))", "3-2"),
            ("$((E))", "$((E))"),
            ("$((N/0))", "$((4/0))"),
            ("$((M*2))", "$((M*2))"),
            ("$((9223372036854775807*2))", "$((9223372036854775807*2))"),
            ("$(((N+1)*2))", "10"),
            ("$((16/(N*(N-2))))x", "2x"),
            ("$((2*(N))", "$((2*(N))"),
            ("$(($((N+1))*2))", "10"),
            ("$((J * N))x", "$((${JOB} * 4))x"),
        ] {
            assert_eq!(calculate(text.into(), value), expected);
        }
    }
}
