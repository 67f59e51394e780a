//! The list of calls that a launch hook may make: kinds of launches, the most of one launch, and
//! the call in words. `*` stands for every kind, for any number, and in the words for any text.

/// A line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    kinds: Vec<String>,
    most: u64,
    words: String,
}

/// The list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List(Vec<Line>);

impl List {
    /// Reads it; `#` begins a comment.
    ///
    /// # Errors
    /// A line that has not three parts, or no number where one belongs.
    pub fn read(text: &str) -> Result<Self, String> {
        let line = |line: &str| {
            let wrong = || format!("expected KINDS MOST CALL, found {line:?}");
            let mut words = line.split_whitespace();
            let (kinds, most) = (words.next(), words.next());
            let kinds = kinds.ok_or_else(wrong)?.split(',').map(str::to_owned);
            let most = match most.ok_or_else(wrong)? {
                "*" => u64::MAX,
                most => most.parse().map_err(|_| wrong())?,
            };
            let words: Vec<_> = words.collect();
            if words.is_empty() {
                return Err(wrong());
            }
            Ok(Line {
                kinds: kinds.collect(),
                most,
                words: words.join(" "),
            })
        };
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or(""));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        Ok(Self(lines.map(line).collect::<Result<_, _>>()?))
    }

    /// How often a launch of a kind may make a call; never where no line says so.
    #[must_use]
    pub fn most(&self, kind: &str, words: &str) -> u64 {
        let fits = |line: &&Line| {
            line.kinds.iter().any(|name| name == "*" || name == kind) && is(&line.words, words)
        };
        self.0
            .iter()
            .filter(fits)
            .map(|line| line.most)
            .max()
            .unwrap_or(0)
    }
}

fn is(pattern: &str, words: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == words,
        Some((head, tail)) => {
            words.len() >= head.len() + tail.len()
                && words.starts_with(head)
                && words.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_line_allows_is_forbidden() {
        let list = List::read("# a list\n* 2 access STATE/off\nplain,list * brk # memory\n");
        let list = list.unwrap();
        assert_eq!(list.most("plain", "access STATE/off"), 2);
        assert_eq!(list.most("list", "brk"), u64::MAX);
        assert_eq!(list.most("binding", "brk"), 0);
        assert_eq!(list.most("plain", "nanosleep"), 0);
        assert!(List::read("* 2").is_err() && List::read("* two brk").is_err());
    }
}
