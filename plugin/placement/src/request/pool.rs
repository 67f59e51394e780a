//! `--pool`: whether a job that the site's pools would take runs as a normal one. In: the word. Out: the wish. Pure.

use std::str::FromStr;

use derive_more::Display;

use crate::sets::error::TextError;

/// What a job requests. No job can request a pool: the site says which jobs are in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[display("none")]
pub enum PoolWish {
    /// The job runs as a normal one.
    None,
}

impl FromStr for PoolWish {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text {
            "none" => Ok(Self::None),
            _ => Err(TextError::new(
                text,
                "none (the site decides which jobs are in a pool, by their partition)",
            )),
        }
    }
}

/// A pool's name, as `berth plan` asks about it; `none` is no pool.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub struct PoolName(String);

/// Bytes of a name.
const MOST: usize = 64;

impl PoolName {
    /// The name, unless it is `none`.
    #[must_use]
    pub fn of_a_pool(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|name| *name != "none")
    }
}

impl FromStr for PoolName {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let fits = |letter: char| letter.is_alphanumeric() || "_-.@+".contains(letter);
        match !text.is_empty() && text.len() <= MOST && text.chars().all(fits) {
            true => Ok(Self(text.into())),
            false => Err(TextError::new(
                text,
                "none or the name of one of the site's pools",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_chooses_a_pool() {
        assert_eq!("none".parse(), Ok(PoolWish::None));
        for text in ["", "multi8", "None", "none "] {
            assert!(text.parse::<PoolWish>().is_err(), "{text}");
        }
        for (text, pool) in [("none", None), ("multi8", Some("multi8"))] {
            let name: PoolName = text.parse().unwrap();
            assert_eq!((name.of_a_pool(), name.to_string().as_str()), (pool, text));
        }
        for text in ["", "a b", "none!"] {
            assert!(text.parse::<PoolName>().is_err(), "{text}");
        }
    }
}
