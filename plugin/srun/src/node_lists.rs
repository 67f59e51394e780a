//! Slurm's lists about an allocation's nodes: host lists, `n[1-3,07],r[1-2]n[1-4]`, as names, and lists of counts, one
//! for each node: `4(x2),2`. In: a text that may come from a user, and a limit. Out: the names in the list's order, as
//! slurmctld writes and counts them (`hostlist_create` of src/common/hostlist.c); counts that the callers add up,
//! compare or go through. Memory grows with the text's length and not with its numbers. Pure. Slurm's own reader has no
//! limit: a range up to the largest number never ends there, and brackets multiply.

use std::fmt::Write;

use berth_placement::TextError;
use berth_placement::sets::limits::NODE_LIST;

/// More brackets than a name of Slurm's has dimensions.
const MOST_PIECES: usize = 16;

/// The limits of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// The number of names.
    pub names: usize,
    /// Memory of all names together.
    pub bytes: usize,
}

impl Most {
    /// A limit of more nodes than slurmctld takes, and more than a command line has room for.
    pub const COMMAND_LINE: Self = Self {
        names: 1 << 17,
        bytes: 64 << 20,
    };
}

/// The names of a list.
///
/// # Errors
/// A bracket that does not close, a range that is none, or more names than wanted.
pub fn expand(list: &str, most: Most) -> Result<Vec<String>, TextError> {
    if list.len() > NODE_LIST {
        return Err(too_many(list, most));
    }
    let mut names = Names {
        all: Vec::new(),
        bytes: 0,
        most,
    };
    for part in parts(list) {
        let pieces = pieces(part).ok_or_else(|| wrong(part))?;
        let added = names.add(&mut String::new(), &pieces);
        added.map_err(|Full| too_many(list, most))?;
    }
    Ok(names.all)
}

/// Whether a list has a node; none is in no list.
///
/// # Errors
/// Those of [`expand`], in words.
pub fn has(list: &str, node: Option<&str>) -> Result<bool, String> {
    let names = expand(list, Most::COMMAND_LINE).map_err(|why| why.to_string())?;
    Ok(names.iter().any(|name| Some(name.as_str()) == node))
}

fn wrong(part: &str) -> TextError {
    let wanted = "a host list: write names with commas between, ranges in brackets: n[1-4],m7";
    TextError::new(part, wanted)
}

fn too_many(list: &str, most: Most) -> TextError {
    let wanted = format!(
        "a list of at most {} hosts with names of {} KiB together: give fewer",
        most.names,
        most.bytes >> 10
    );
    TextError::new(list, &wanted)
}

/// The list at its commas, not those within brackets.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    list.split(move |letter| {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
        letter == ',' && !inside
    })
}

/// A stretch of a name.
enum Piece<'a> {
    Text(&'a str),
    Numbers(Vec<Range>),
}

/// Successive numbers, with zeros before those that have fewer digits.
struct Range {
    first: u64,
    last: u64,
    width: usize,
}

fn pieces(part: &str) -> Option<Vec<Piece<'_>>> {
    let (mut pieces, mut rest) = (Vec::new(), part);
    while !rest.is_empty() && pieces.len() <= MOST_PIECES {
        let (text, from) = rest.split_at(rest.find(['[', ']']).unwrap_or(rest.len()));
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        rest = from;
        if !rest.is_empty() {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            let ranges: Option<_> = inside.split(',').map(range).collect();
            pieces.push(Piece::Numbers(ranges?));
            rest = after;
        }
    }
    (rest.is_empty() && !pieces.is_empty()).then_some(pieces)
}

fn range(text: &str) -> Option<Range> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        let digits = text.bytes().all(|letter| letter.is_ascii_digit());
        text.parse().ok().filter(|_| digits)
    };
    let range = Range {
        first: number(first)?,
        last: number(last)?,
        width: first.len(),
    };
    (range.first <= range.last).then_some(range)
}

/// The names that have been made so far.
struct Names {
    all: Vec<String>,
    bytes: usize,
    most: Most,
}

/// The list has more names than the limit.
struct Full;

impl Names {
    /// Every name that begins with `name` and goes on with `pieces`.
    fn add(&mut self, name: &mut String, pieces: &[Piece<'_>]) -> Result<(), Full> {
        let Some((piece, rest)) = pieces.split_first() else {
            self.bytes += size_of::<String>() + name.len();
            if self.all.len() >= self.most.names || self.bytes > self.most.bytes {
                return Err(Full);
            }
            self.all.push(name.clone());
            return Ok(());
        };
        let before = name.len();
        match piece {
            Piece::Text(text) => {
                name.push_str(text);
                self.add(name, rest)?;
            }
            Piece::Numbers(ranges) => {
                for range in ranges {
                    for number in range.first..=range.last {
                        name.truncate(before);
                        let width = range.width;
                        write!(name, "{number:0width$}").map_err(|_| Full)?;
                        self.add(name, rest)?;
                    }
                }
            }
        }
        name.truncate(before);
        Ok(())
    }
}

/// A key by which n2 comes before n10.
#[must_use]
pub fn natural(name: &str) -> Vec<(String, u64)> {
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

/// Slurm's `4(x2),2` (CPUs or tasks of an allocation's nodes): counts, each with the number of
/// successive nodes that have it. A repeat stays a number, so the memory that the list takes is a
/// small multiple of its text, whatever the text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<(u32, u32)>);

impl Runs {
    /// All nodes together; a sum beyond 64 bits stays at the largest number.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let product = |&(count, nodes): &(u32, u32)| u64::from(count) * u64::from(nodes);
        self.0.iter().map(product).fold(0, u64::saturating_add)
    }

    /// One count per node, in order. The caller says how many nodes it wants.
    pub fn each(&self) -> impl Iterator<Item = u32> + '_ {
        let run = |&(count, nodes): &(u32, u32)| std::iter::repeat_n(count, nodes as usize);
        self.0.iter().flat_map(run)
    }
}

/// Reads such a list; none if the text is not one, or is longer than Linux passes on.
#[must_use]
pub fn each_node(text: &str) -> Option<Runs> {
    let part = |part: &str| -> Option<(u32, u32)> {
        match part.split_once("(x") {
            Some((count, nodes)) => {
                let nodes = nodes.strip_suffix(')')?;
                Some((count.parse().ok()?, nodes.parse().ok()?))
            }
            None => Some((part.parse().ok()?, 1)),
        }
    };
    if text.len() > NODE_LIST {
        return None;
    }
    text.split(',').map(part).collect::<Option<_>>().map(Runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Most = Most {
        names: 1000,
        bytes: 100_000,
    };

    #[test]
    fn short_texts_that_stand_for_much() {
        for (text, says) in [
            ("[1]".repeat(MOST_PIECES + 2), "not a host list"),
            (
                format!("n[1-900]{}", "x".repeat(1000)),
                "at most 1000 hosts",
            ),
            ("[0-9]".repeat(16), "at most 1000 hosts"),
            (
                format!("n[{}0-900]", "0".repeat(1000)),
                "at most 1000 hosts",
            ),
            ("n,".repeat(NODE_LIST), "at most 1000 hosts"),
        ] {
            let why = expand(&text, SOME).unwrap_err().to_string();
            assert!(why.contains(says), "{text:.40}: {why}");
        }
    }

    #[test]
    fn two_before_ten() {
        let mut names = ["n10", "n2", "m1", "n2b"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["m1", "n2", "n2b", "n10"]);
    }

    #[test]
    fn repeats_stay_numbers() {
        let most = "4294967295(x4294967295)";
        let runs = each_node(&[most; 200].join(",")).unwrap();
        assert_eq!(runs.sum(), u64::MAX);
        assert_eq!(runs.0.len(), 200);
        assert_eq!(runs.each().take(3).collect::<Vec<_>>(), [u32::MAX; 3]);
        assert_eq!(each_node(&"1,".repeat(NODE_LIST)), None);
    }
}
