//! Sets as texts, in values that travel from one process to another: masks, without `0x`. Their reader is strict and
//! bounded.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::sets::cpuset::CpuSet;
use crate::sets::nodeset::NodeSet;

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.to_short_hex())
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_hex(<&str>::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for NodeSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_hex(<&str>::deserialize(from)?).map_err(D::Error::custom)
    }
}
