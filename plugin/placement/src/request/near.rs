//! `--near`: each task gets cores next to its device. The option's text is read here; beside it are a step's devices.
//! In: `WHAT[:N][:strict][:own]`. Out: [`Near`], or an error that shows what may stand there. Pure.

use std::fmt;
use std::str::FromStr;

use derive_more::Display;

use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{INFO_BYTES, MAX_DEVICES, NEAR_BYTES};
use crate::sets::text::TextError;

const GRAMMAR: &str = "a --near: gpu, network, a PCI class such as 0302, a device's name such as ib0, \
     or none; then any of :N (devices for each task), :strict and :own";

const ADDRESS: &str = "a --near but a PCI address; give the device's name, which berth topo shows beside \
     its address, or gpu, network or a PCI class such as 0302 for all devices of a kind";

/// A `--near`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Near {
    /// The devices that tasks want to be near.
    pub what: What,
    /// Devices for each task; without it the step's devices are divided evenly.
    pub each: Option<u32>,
    /// Whether a task that does not fit next to its devices is refused.
    pub strict: bool,
    /// Whether a task sees only its own devices, instead of seeing them first.
    pub own: bool,
}

/// The devices that tasks want to be near.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum What {
    /// GPUs and other accelerators.
    #[display("gpu")]
    Gpu,
    /// Network adapters.
    #[display("network")]
    Network,
    /// Devices of a PCI class and subclass.
    #[display("{_0:04x}")]
    Class(u16),
    /// The device with this name in the operating system.
    Name(String),
    /// No device: a `--near` that comes from elsewhere does not count.
    #[display("none")]
    Nothing,
}

impl Near {
    /// Whether it names devices, and is no `none`.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.what != What::Nothing
    }
}

impl FromStr for What {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let is_class = text.len() == 4 && text.bytes().all(|letter| letter.is_ascii_hexdigit());
        // Names of devices begin with a letter.
        if is_class && text.starts_with(|first: char| first.is_ascii_digit()) {
            return u16::from_str_radix(text, 16)
                .map(Self::Class)
                .map_err(|_| TextError::new(text, GRAMMAR));
        }
        let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.len() <= INFO_BYTES
            && text
                .bytes()
                .all(|letter| letter.is_ascii_alphanumeric() || b"_-.".contains(&letter));
        match is_name {
            _ if is("gpu") => Ok(Self::Gpu),
            _ if is("network") => Ok(Self::Network),
            _ if is("none") => Ok(Self::Nothing),
            true => Ok(Self::Name(text.into())),
            false => Err(TextError::new(text, GRAMMAR)),
        }
    }
}

impl FromStr for Near {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, GRAMMAR);
        if text.len() > NEAR_BYTES {
            return Err(wrong());
        }
        if begins_with_address(text) {
            return Err(TextError::new(text, ADDRESS));
        }
        let mut words = text.split(':');
        let mut near = Self {
            what: words.next().ok_or_else(wrong)?.parse()?,
            each: None,
            strict: false,
            own: false,
        };
        for word in words {
            if word.eq_ignore_ascii_case("strict") && !near.strict {
                near.strict = true;
            } else if word.eq_ignore_ascii_case("own") && !near.own {
                near.own = true;
            } else if near.each.is_none()
                && let Some(count) = parse_number(word)
            {
                let fits = 1..=MAX_DEVICES as u32;
                near.each = Some(count).filter(|count| fits.contains(count));
                near.each.ok_or_else(|| {
                    TextError::new(word, &format!("a number of devices (1 to {MAX_DEVICES})"))
                })?;
            } else {
                return Err(wrong());
            }
        }
        Ok(near)
    }
}

/// Whether a text begins as `0000:c1:00.0` or `c1:00.0` does.
fn begins_with_address(text: &str) -> bool {
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let is_hex = |part: &str, letters: std::ops::RangeInclusive<usize>| {
        letters.contains(&part.len()) && part.bytes().all(|letter| letter.is_ascii_hexdigit())
    };
    let bus = match is_hex(first, 4..=8) {
        true => parts.next().unwrap_or_default(),
        false => first,
    };
    let function = parts.next().and_then(|part| part.split_once('.'));
    let is_function = function.is_some_and(|(slot, of)| is_hex(slot, 2..=2) && is_hex(of, 1..=1));
    is_hex(bus, 2..=2) && is_function
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)?;
        if let Some(each) = self.each {
            write!(f, ":{each}")?;
        }
        f.write_str(if self.strict { ":strict" } else { "" })?;
        f.write_str(if self.own { ":own" } else { "" })
    }
}

/// The step's GPUs on a node as Slurm counts them: index *i* is the *i*-th `File=` of GRES `gpu` in
/// gres.conf. `gres_bind` has each task's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Gres {
    /// Devices that Slurm counts on the node.
    pub on_node: u32,
    /// The step's.
    pub step: Vec<u32>,
    /// Each task's by local id, where Slurm binds them; empty where it leaves the choice open.
    pub tasks: Vec<Vec<u32>>,
}
