//! Slurm's release lines, and Slurm's numbers for them. Pure.

use std::fmt;

/// A release line: all micro releases of one `YY.MM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// 22.05
    V22_05,
    /// 23.02
    V23_02,
    /// 23.11
    V23_11,
    /// 24.05
    V24_05,
    /// 24.11
    V24_11,
    /// 25.05
    V25_05,
    /// 25.11
    V25_11,
    /// 26.05
    V26_05,
}

/// Line, API major number (slurm.h's `SLURM_API_CURRENT`, top of `slurm_api_version()`), year,
/// month.
const LINES: [(Line, u32, u8, u8); 8] = [
    (Line::V22_05, 38, 22, 5),
    (Line::V23_02, 39, 23, 2),
    (Line::V23_11, 40, 23, 11),
    (Line::V24_05, 41, 24, 5),
    (Line::V24_11, 42, 24, 11),
    (Line::V25_05, 43, 25, 5),
    (Line::V25_11, 44, 25, 11),
    (Line::V26_05, 45, 26, 5),
];

impl Line {
    /// Every line we have a table for, oldest first.
    pub fn all() -> impl Iterator<Item = Line> {
        LINES.iter().map(|(line, ..)| *line)
    }

    /// The line whose `slurm_api_version()` is `version` (major in bits 16 and up).
    pub fn from_api_version(version: u32) -> Option<Line> {
        LINES
            .iter()
            .find(|(_, major, ..)| *major == version >> 16)
            .map(|(line, ..)| *line)
    }

    /// The line of a `plugin_version` (`0xYYMMuu`, SLURM_VERSION_NUM in slurm.h).
    pub fn from_plugin_version(version: u32) -> Option<Line> {
        Line::all().find(|line| line.plugin_version() >> 8 == version >> 8)
    }

    /// `plugin_version` of this line, with micro 0.
    pub fn plugin_version(self) -> u32 {
        let (year, month) = self.year_month();
        u32::from(year) << 16 | u32::from(month) << 8
    }

    fn year_month(self) -> (u8, u8) {
        // Every Line stands in LINES (tested), so the second arm is never taken.
        LINES
            .iter()
            .find(|(line, ..)| *line == self)
            .map_or((0, 0), |(_, _, year, month)| (*year, *month))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month) = self.year_month();
        write!(f, "{year:02}.{month:02}")
    }
}

/// A release: its line, and the micro number if that could be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The line.
    pub line: Line,
    /// The number after it.
    pub micro: Option<u8>,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.micro {
            Some(micro) => write!(f, "{}.{micro}", self.line),
            None => write!(f, "{}.?", self.line),
        }
    }
}

/// A Slurm without a table, with the two numbers that it gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownLine {
    /// `slurm_api_version()`, if this process has it.
    pub api_version: Option<u32>,
    /// `plugin_version` of a stock plugin, if one was found.
    pub plugin_version: Option<u32>,
}

impl fmt::Display for UnknownLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.plugin_version, self.api_version) {
            (Some(number), _) => {
                write!(
                    f,
                    "{:02}.{:02}.{}",
                    number >> 16,
                    number >> 8 & 0xff,
                    number & 0xff
                )
            }
            (None, Some(number)) => write!(
                f,
                "API version {}.{}.{}",
                number >> 16,
                number >> 8 & 0xff,
                number & 0xff
            ),
            (None, None) => f.write_str("a program without slurm_api_version()"),
        }
    }
}
