//! Ranges in `map_cpu`, `map_ldom` and `map_mem` lists: handy here, but srun takes none, so that
//! the list to write for srun is said.

use std::str::FromStr;

/// Longer lists than any machine needs are left to the parser's own limits.
const MOST: u32 = 1 << 16;

/// A value of `--cpu-bind` or `--mem-bind` whose lists had their ranges spelled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bind<T> {
    /// What it means.
    pub value: T,
    /// As srun takes it, where that is not what was written.
    spelled: Option<String>,
}

impl<T: FromStr> FromStr for Bind<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        let spelled = spell_out(text);
        Ok(Self {
            value: spelled.parse()?,
            spelled: Some(spelled).filter(|spelled| spelled != text),
        })
    }
}

impl<T> Bind<T> {
    /// What the user should know.
    pub(crate) fn note(&self, option: &str) -> Option<String> {
        let spelled = self.spelled.as_ref()?;
        Some(format!(
            "srun takes no ranges in {option}; write {option}={spelled} for it"
        ))
    }
}

/// `map_cpu:0-2,7` as `map_cpu:0,1,2,7`; anything else as it is.
fn spell_out(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let has_map = ["map_cpu", "map_ldom", "map_mem"]
        .iter()
        .any(|name| lower.contains(name));
    if !has_map {
        return text.to_owned();
    }
    let parts = text.split(',').map(|part| {
        let (_, range) = part.rsplit_once([':', '=']).unwrap_or(("", part));
        let numbers = range.split_once('-').and_then(|(first, last)| {
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last && last < MOST).then(|| {
                let all: Vec<_> = (first..=last).map(|number| number.to_string()).collect();
                all.join(",")
            })
        });
        match numbers {
            Some(numbers) => format!("{}{numbers}", &part[..part.len() - range.len()]),
            None => part.to_owned(),
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::spell_out;

    #[test]
    fn ranges_of_numbers_and_nothing_else() {
        for (text, spelled) in [
            ("map_cpu:0-2,7", "map_cpu:0,1,2,7"),
            ("v,map_cpu=3,5-6", "v,map_cpu=3,5,6"),
            ("map_mem:1-1", "map_mem:1"),
            ("mask_cpu:0x1-0x2", "mask_cpu:0x1-0x2"),
            ("map_cpu:2-1", "map_cpu:2-1"),
            ("map_cpu:0-99999", "map_cpu:0-99999"),
            ("cores", "cores"),
        ] {
            assert_eq!(spell_out(text), spelled, "{text}");
        }
    }
}
