//! Devices and the CPUs next to them: GPUs, network adapters, disks.
//! One PCI function is one device, whatever names the system has for it. Pure data.

use std::str::FromStr;

use derive_more::Display;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::NumaId;
#[cfg(feature = "serde")]
use crate::sets::serialized;
use crate::sets::text::TextError;

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Device {
    /// Its purpose.
    pub kind: DeviceKind,
    /// Its names in the operating system: `nvme0n1`, `ib0` and `mlx5_0`. There may be none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub names: Vec<String>,
    /// Its function on the PCI bus.
    pub pci: Option<Pci>,
    /// CPUs next to it; all of the machine if it has no place of its own.
    #[cfg_attr(feature = "serde", serde(with = "serialized::list"))]
    pub cpus: CpuSet,
    /// The NUMA node next to it, if it is exactly one.
    #[cfg_attr(feature = "serde", serde(rename = "numa"))]
    pub numa_node: Option<NumaId>,
}

/// The purpose of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum DeviceKind {
    /// GPUs and other accelerators.
    Gpu,
    /// Ethernet, InfiniBand and the like.
    Network,
    /// Disks and what they are attached to.
    Storage,
    /// Anything else, such as the screen of a management controller.
    #[default]
    #[cfg_attr(feature = "serde", serde(other))]
    Other,
}

/// A function on the PCI bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Pci {
    /// Its address.
    #[cfg_attr(feature = "serde", serde(with = "serialized::text"))]
    pub address: PciAddress,
    /// Class and subclass: `0302` is a 3D controller.
    pub class: u16,
    /// Its maker.
    pub vendor: u16,
    /// The vendor's number of the product.
    pub product: u16,
}

/// A place on the PCI bus, written `0000:d1:00.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Display)]
#[display("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")]
pub struct PciAddress {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device on the bus.
    pub slot: u8,
    /// Function of the device.
    pub function: u8,
}

impl Device {
    /// Its place on the PCI bus and its first name, for texts: `0000:d1:00.0 (ib0)`.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.pci.map(|pci| pci.address), self.names.first()) {
            (Some(address), Some(name)) => format!("{address} ({name})"),
            (Some(address), None) => address.to_string(),
            (None, Some(name)) => name.clone(),
            (None, None) => format!("a {} without a name", self.kind.name()),
        }
    }
}

impl DeviceKind {
    /// The kind of a PCI function. A plain VGA controller is a GPU if its vendor makes GPUs that
    /// compute; otherwise it is a management controller's screen.
    #[must_use]
    pub fn of_pci(class: u16, vendor: u16) -> Self {
        const COMPUTE: [u16; 3] = [0x10de, 0x1002, 0x8086];
        match (class >> 8, class & 0xff) {
            (0x03, 0x00) if COMPUTE.contains(&vendor) => Self::Gpu,
            (0x03, 0x02 | 0x80) | (0x12, _) => Self::Gpu,
            // The last is InfiniBand's old class.
            (0x02, _) | (0x0c, 0x06) => Self::Network,
            // The last is Fibre Channel.
            (0x01, _) | (0x0c, 0x04) => Self::Storage,
            _ => Self::Other,
        }
    }

    /// Its word: `gpu`, `network`, `storage` or `other`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl FromStr for PciAddress {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let read = || {
            let (domain, rest) = text.split_once(':')?;
            let (bus, rest) = rest.split_once(':')?;
            let (slot, function) = rest.split_once('.')?;
            let hex = |digits: &str, most: usize| {
                let all = digits.len() <= most && digits.bytes().all(|b| b.is_ascii_hexdigit());
                all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
            };
            Some(Self {
                domain: hex(domain, 8)?,
                bus: hex(bus, 2)? as u8,
                slot: hex(slot, 2)? as u8,
                function: hex(function, 1)? as u8,
            })
        };
        read().ok_or_else(|| TextError::new(text, "a PCI address such as 0000:d1:00.0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_written() {
        for text in ["0000:d1:00.0", "0001:0a:1f.7", "10000:00:00.f"] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "0000:d1:00",
            "0000:d1:00.00",
            "0000:+1:00.0",
            "0000:100:00.0",
        ] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_management_controllers_screen_computes_nothing() {
        for (class, vendor, kind) in [
            (0x0300, 0x1a03, DeviceKind::Other),
            (0x0300, 0x10de, DeviceKind::Gpu),
            (0x0302, 0x10de, DeviceKind::Gpu),
            (0x0380, 0x1002, DeviceKind::Gpu),
            (0x1200, 0x1002, DeviceKind::Gpu),
            (0x0207, 0x15b3, DeviceKind::Network),
            (0x0108, 0x1e0f, DeviceKind::Storage),
            (0x0604, 0x8086, DeviceKind::Other),
            (0x0002, 0x1af4, DeviceKind::Other),
        ] {
            assert_eq!(DeviceKind::of_pci(class, vendor), kind, "{class:04x}");
        }
    }
}
