//! Slurm's release lines, in their order: srun's options and their meaning differ between them.

use std::fmt;
use std::str::FromStr;

use berth_placement::controller::select::SlurmLine;
use berth_placement::sets::text::shown;

/// The most bytes of a wrong name in a message.
const MOST_SHOWN: usize = 80;

/// A release line, `22.05` to `26.05`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(non_camel_case_types, reason = "the names are numbers with a dot")]
#[allow(missing_docs, reason = "the names say everything")]
pub enum Release {
    V22_05,
    V23_02,
    V23_11,
    V24_05,
    V24_11,
    V25_05,
    V25_11,
    #[default]
    V26_05,
}

impl Release {
    /// Every line that berth knows, the oldest first.
    pub const ALL: [Self; 8] = [
        Self::V22_05,
        Self::V23_02,
        Self::V23_11,
        Self::V24_05,
        Self::V24_11,
        Self::V25_05,
        Self::V25_11,
        Self::V26_05,
    ];
    /// The newest line whose srun was compared with this crate.
    pub const NEWEST: Self = Self::V26_05;

    /// Slurm's spelling of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V22_05 => "22.05",
            Self::V23_02 => "23.02",
            Self::V23_11 => "23.11",
            Self::V24_05 => "24.05",
            Self::V24_11 => "24.11",
            Self::V25_05 => "25.05",
            Self::V25_11 => "25.11",
            Self::V26_05 => "26.05",
        }
    }

    /// The line whose rules the model of slurmctld's selection uses: the newest modelled one that is not newer.
    #[must_use]
    pub fn modelled(self) -> SlurmLine {
        match self {
            Self::V22_05 | Self::V23_02 | Self::V23_11 | Self::V24_05 => SlurmLine::V22_05,
            Self::V24_11 | Self::V25_05 | Self::V25_11 => SlurmLine::V24_11,
            Self::V26_05 => SlurmLine::V26_05,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Release {
    type Err = String;

    /// `24.11`, also with the number of a micro release after it.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|line| {
            let rest = text.strip_prefix(line.name());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        found.ok_or_else(|| {
            let known: Vec<_> = Self::ALL.map(Self::name).into();
            format!(
                "\"{}\" is not a release line of Slurm that berth knows: {}",
                shown(MOST_SHOWN, text),
                known.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for line in Release::ALL {
            assert_eq!(line.name().parse(), Ok(line));
        }
        assert_eq!("22.05.8".parse(), Ok(Release::V22_05));
        for wrong in ["", "22.5", "22.050", "27.05"] {
            assert!(wrong.parse::<Release>().is_err(), "{wrong}");
        }
    }
}
