//! Slurm's host lists: `n[1-3,07],m4` to names, and the order of names.

use crate::Failure;

/// More nodes than slurmctld takes.
const MOST: usize = 1 << 17;

/// The names of a list, in its order.
///
/// # Errors
/// A bracket that does not close, a range that is none, or far too many names.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, Failure> {
    let wrong = |part: &str| {
        format!(
            "\"{part}\" is no host list; write names with commas between, ranges in brackets: n[1-4],m7"
        )
    };
    let mut names = Vec::new();
    for part in parts(list) {
        let found = match part.split_once('[') {
            None if part.is_empty() || part.contains(']') => return Err(wrong(list).into()),
            None => vec![part.to_string()],
            Some((prefix, rest)) => {
                let (ranges, suffix) = rest.split_once(']').ok_or_else(|| wrong(part))?;
                if suffix.contains(['[', ']']) {
                    return Err(format!(
                        "\"{part}\" has two brackets; berth takes one a name: write the parts apart"
                    )
                    .into());
                }
                let numbers = numbers(ranges).ok_or_else(|| wrong(part))?;
                let name = |number: &String| format!("{prefix}{number}{suffix}");
                numbers.iter().map(name).collect()
            }
        };
        names.extend(found);
        if names.len() > MOST {
            return Err(format!("a list of more than {MOST} nodes; give fewer").into());
        }
    }
    Ok(names)
}

/// The list at its commas, not those within brackets.
fn parts(list: &str) -> Vec<&str> {
    let (mut inside, mut from, mut parts) = (false, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    parts
}

/// `1-3,07` as numbers with their leading zeros.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || (last - first) as usize >= MOST {
            return None;
        }
        all.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Some(all)
}

/// A key by which n2 comes before n10.
pub(crate) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (word, tail) = rest.split_at(text);
        let digits = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        key.push((word.to_string(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_hosts() {
        let names = |list| expand(list).map(|names| names.join(" "));
        assert_eq!(names("n1").unwrap(), "n1");
        assert_eq!(names("n[1-3,07],m4").unwrap(), "n1 n2 n3 n07 m4");
        assert_eq!(names("n[08-10]-ib").unwrap(), "n08-ib n09-ib n10-ib");
        for wrong in [
            "",
            "n[1-",
            "n[3-1]",
            "n1,,n2",
            "n]1",
            "n[1]m[2]",
            "n[a]",
            "n[0-99999999]",
        ] {
            assert!(expand(wrong).is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn two_before_ten() {
        let mut names = ["n10", "n2", "m1", "n2b"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["m1", "n2", "n2b", "n10"]);
    }
}
