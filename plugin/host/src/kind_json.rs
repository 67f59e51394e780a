//! Kinds of cores and devices as a machine file has them, and the list of devices that the
//! probing child hands to the discovering command.
//! In: values or texts. Out: the other of the two, or an error. Pure; bounded.

use berth_placement::sets::ids::NumaId;
use berth_placement::sets::limits::{INFO_BYTES, MAX_DEVICES, MAX_INFOS};
use berth_placement::topology::devices::Pci;
use berth_placement::{CoreKind, Device, DeviceKind};
use serde::{Deserialize, Serialize};

use crate::machine_format::{FormatError, bounded, cpus, impossible, wrong};

/// Longest note kept, in bytes: an error with a path in it fits.
const NOTE_BYTES: usize = 1024;

#[derive(Serialize, Deserialize)]
pub(crate) struct KindText {
    cpus: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    infos: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct DeviceText {
    kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pci: Option<PciText>,
    cpus: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numa: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct PciText {
    address: String,
    class: u16,
    vendor: u16,
    product: u16,
}

impl KindText {
    pub(crate) fn of(kind: &CoreKind) -> Self {
        Self {
            cpus: kind.cpus.to_string(),
            rank: kind.rank,
            infos: kind.infos.clone(),
        }
    }

    pub(crate) fn read(&self) -> Result<CoreKind, FormatError> {
        let both = self.infos.iter().flat_map(|(name, value)| [name, value]);
        check(both, 2 * MAX_INFOS, INFO_BYTES)?;
        Ok(CoreKind {
            cpus: cpus(&self.cpus)?,
            rank: self.rank,
            infos: self.infos.clone(),
        })
    }
}

impl DeviceText {
    pub(crate) fn of(device: &Device) -> Self {
        Self {
            kind: device.kind.name().into(),
            names: device.names.clone(),
            pci: device.pci.map(|pci| PciText {
                address: pci.address.to_string(),
                class: pci.class,
                vendor: pci.vendor,
                product: pci.product,
            }),
            cpus: device.cpus.to_string(),
            numa: device.numa_node.map(|node| node.0),
        }
    }

    pub(crate) fn read(&self) -> Result<Device, FormatError> {
        check(&self.names, MAX_INFOS, INFO_BYTES)?;
        let pci = |pci: &PciText| {
            Ok::<_, FormatError>(Pci {
                address: pci.address.parse().map_err(impossible)?,
                class: pci.class,
                vendor: pci.vendor,
                product: pci.product,
            })
        };
        Ok(Device {
            kind: DeviceKind::of_name(&self.kind),
            names: self.names.clone(),
            pci: self.pci.as_ref().map(pci).transpose()?,
            cpus: cpus(&self.cpus)?,
            numa_node: self.numa.map(bounded).transpose()?.map(NumaId),
        })
    }
}

/// Notes in a form that can be read again: neither many nor long.
pub(crate) fn notes_to_write(notes: &[String]) -> Vec<String> {
    let short = |note: &String| {
        let mut end = note.len().min(NOTE_BYTES);
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        note.get(..end).unwrap_or_default().to_owned()
    };
    notes.iter().take(MAX_INFOS).map(short).collect()
}

/// Texts of a machine file, if they are neither many nor long.
pub(crate) fn bounded_texts(texts: Vec<String>) -> Result<Vec<String>, FormatError> {
    check(&texts, MAX_INFOS, NOTE_BYTES)?;
    Ok(texts)
}

fn check<'a>(
    texts: impl IntoIterator<Item = &'a String>,
    most: usize,
    bytes: usize,
) -> Result<(), FormatError> {
    for (at, text) in texts.into_iter().enumerate() {
        if at >= most || text.len() > bytes {
            let why =
                format!("it has more than {most} texts in one place, or one above {bytes} bytes");
            return Err(FormatError::Machine(why));
        }
    }
    Ok(())
}

/// A list of devices for the process that waits for it.
///
/// # Errors
/// None that is known: the types have no form that JSON lacks.
pub fn devices_to_json(devices: &[Device]) -> serde_json::Result<String> {
    let texts: Vec<_> = devices.iter().map(DeviceText::of).collect();
    serde_json::to_string(&texts)
}

/// Reads such a list.
///
/// # Errors
/// [`FormatError`] for any other text.
pub fn devices_from_json(bytes: &[u8]) -> Result<Vec<Device>, FormatError> {
    let texts: Vec<DeviceText> = serde_json::from_slice(bytes).map_err(|why| wrong(&why))?;
    if texts.len() > MAX_DEVICES {
        return Err(impossible(format!(
            "it has {} devices, and {MAX_DEVICES} is the limit",
            texts.len()
        )));
    }
    texts.iter().map(DeviceText::read).collect()
}
