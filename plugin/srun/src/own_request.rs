//! The request of berth's own options. In: the text of each. Out: [`OwnRequest`], or an error in a text.

use std::fmt::Display;
use std::str::FromStr;

use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::{Binding, Confine, CpusetRequest, Mapping, Near, PoolName, PoolWish};

use crate::options::Own;

/// The values of berth's own options; `None` where an option is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnRequest {
    /// `--binding`.
    pub binding: Option<Binding>,
    /// `--map-by`, `--rank-by` and `--bind-to`, whether they go together or not.
    pub mapping: Option<Mapping>,
    /// `--near`.
    pub near: Option<Near>,
    /// `--core-kind`.
    pub core_kind: Option<CoreKindWish>,
    /// `--confine`.
    pub confine: Option<Confine>,
    /// `--pool`. Slurm's commands take only `none`.
    pub pool: Option<PoolName>,
    /// `--cpuset`.
    pub cpuset: Option<CpusetRequest>,
}

impl OwnRequest {
    /// Reads an option's text. What was given before no longer counts.
    ///
    /// # Errors
    /// A text that cannot be read.
    pub fn set(&mut self, own: Own, text: &str) -> Result<(), String> {
        let mapping = &mut self.mapping;
        match own {
            Own::Binding => self.binding = read(text)?,
            Own::MapBy => mapping.get_or_insert_default().map = read(text)?,
            Own::RankBy => mapping.get_or_insert_default().rank = read(text)?,
            Own::BindTo => mapping.get_or_insert_default().bind = read(text)?,
            Own::Near => self.near = read(text)?,
            Own::CoreKind => self.core_kind = read(text)?,
            Own::Confine => self.confine = read(text)?,
            Own::Pool => self.pool = read(text)?,
            Own::Cpuset => self.cpuset = read(text)?,
        }
        Ok(())
    }

    /// Reads an option's text where a command of Slurm's takes it: of `--pool` only `none`.
    ///
    /// # Errors
    /// A text that cannot be read, in words for the user.
    pub fn take(&mut self, own: Own, text: &str) -> Result<(), String> {
        // The site decides which jobs are in a pool.
        let read = match own {
            Own::Pool => read::<PoolWish>(text).map(drop),
            _ => Ok(()),
        };
        let read = read.and_then(|()| self.set(own, text));
        // The errors of some name the option themselves.
        read.map_err(|why| match own.choice {
            choice if choice.chooses() => why,
            _ => format!("--{}: {why}", own.name),
        })
    }

    /// An option's value as it is typed.
    #[must_use]
    pub fn text(&self, own: Own) -> Option<String> {
        let mapping = self.mapping.as_ref();
        match own {
            Own::Binding => text(self.binding.as_ref()),
            Own::MapBy => text(mapping?.map.as_ref()),
            Own::RankBy => text(mapping?.rank.as_ref()),
            Own::BindTo => text(mapping?.bind.as_ref()),
            Own::Near => text(self.near.as_ref()),
            Own::CoreKind => text(self.core_kind.as_ref()),
            Own::Confine => text(self.confine.as_ref()),
            Own::Pool => text(self.pool.as_ref()),
            Own::Cpuset => text(self.cpuset.as_ref()),
        }
    }
}

fn read<T: FromStr<Err: Display>>(text: &str) -> Result<Option<T>, String> {
    text.parse()
        .map(Some)
        .map_err(|why: T::Err| why.to_string())
}

fn text(value: Option<&impl Display>) -> Option<String> {
    value.map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_option_once() {
        for own in Own::ALL {
            let why = OwnRequest::default().take(own, "no:such:text").unwrap_err();
            let first = why.lines().next().unwrap_or_default();
            let names = first.matches("--").count();
            assert!(first.contains(&format!("--{}", own.name)), "{why}");
            assert_eq!(names, 1, "{why}");
        }
    }

    #[test]
    fn the_text_is_what_was_read() {
        let mut request = OwnRequest::default();
        for own in Own::ALL {
            let text = match own {
                Own::Binding => "linear:2",
                Own::MapBy | Own::BindTo => "core",
                Own::RankBy => "slot",
                Own::Near => "gpu:2",
                Own::CoreKind => "any",
                Own::Confine => "task",
                Own::Pool => "none",
                Own::Cpuset => "CPUSET[NCPUS=2]",
            };
            assert_eq!(request.text(own), None);
            assert_eq!(request.take(own, text), Ok(()));
            assert_eq!(request.text(own).as_deref(), Some(text));
        }
        assert!(request.take(Own::Pool, "blue").is_err());
        assert_eq!(request.set(Own::Pool, "blue"), Ok(()));
    }
}
