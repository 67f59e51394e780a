//! Sets as texts, in values that travel from one process to another: masks, without `0x`. Their reader is strict and
//! bounded. In the machine file, which people read, they are lists ([`list`], [`lists`]).

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::sets::cpuset::{CpuSet, Set};

impl<T> Serialize for Set<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.to_short_hex())
    }
}

impl<'de, T> Deserialize<'de> for Set<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_hex(<&str>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A set as a list: `0-3,8`.
pub(crate) mod list {
    use super::{CpuSet, Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(set: &CpuSet, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(set)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CpuSet, D::Error> {
        CpuSet::from_list(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Sets as lists.
pub(crate) mod lists {
    use super::{CpuSet, Deserialize, Deserializer, Serializer, list};

    #[derive(Deserialize)]
    struct Listed(#[serde(deserialize_with = "list::deserialize")] CpuSet);

    pub(crate) fn serialize<S: Serializer>(sets: &[CpuSet], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(sets.iter().map(CpuSet::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CpuSet>, D::Error> {
        let sets = Vec::<Listed>::deserialize(from)?;
        Ok(sets.into_iter().map(|Listed(set)| set).collect())
    }
}

/// A value as its text.
pub(crate) mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        value: &impl Display,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
        from: D,
    ) -> Result<T, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
