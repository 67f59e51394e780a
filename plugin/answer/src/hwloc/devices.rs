//! Devices and the CPUs next to them: one for each PCI function, in PCI order, then those that are on no PCI bus.

use berth_placement::sets::limits::{INFO_BYTES, MAX_DEVICES, MAX_INFOS};
use berth_placement::sets::text::harmless;
use berth_placement::topology::devices::Pci;
use berth_placement::{CpuId, Device, DeviceKind, NumaNode};

use super::NoMachine;
use super::xml::{Object, wrong};

/// Every device of the tree.
pub(super) fn devices(whole: &Object<'_>, nodes: &[NumaNode]) -> Result<Vec<Device>, NoMachine> {
    let mut on_bus = Vec::new();
    let mut alone = Vec::new();
    gather(
        whole,
        whole,
        None,
        &mut |object, place, pci| match object.kind {
            "PCIDev" if on_bus.len() < MAX_DEVICES => on_bus.push((object.clone(), place.clone())),
            "OSDev" if pci.is_none() => alone.push((object.clone(), place.clone())),
            _ => {}
        },
    );
    let mut devices = Vec::new();
    for (object, place) in on_bus {
        let pci = pci(&object)?;
        if !is_important(pci.class) {
            // hwloc leaves such a function out, and keeps what the system has behind it.
            alone.extend(
                object
                    .devices
                    .into_iter()
                    .map(|below| (below, place.clone())),
            );
            continue;
        }
        devices.push(Device {
            kind: kind_of(&object, pci),
            names: names_below(&object),
            pci: Some(pci),
            ..placed(&place, nodes)
        });
    }
    devices.sort_by_key(|device| device.pci.map(|pci| pci.address));
    for (object, place) in alone {
        if let Some(kind) = system_kind(&object).filter(|_| devices.len() < MAX_DEVICES) {
            devices.push(Device {
                kind,
                names: object.attribute("name").map(clean).into_iter().collect(),
                ..placed(&place, nodes)
            });
        }
    }
    Ok(devices)
}

/// Each object of devices, with the object with CPUs that it hangs under, and the PCI function that it is behind.
fn gather<'t, 'a>(
    object: &'t Object<'a>,
    place: &'t Object<'a>,
    pci: Option<&'t Object<'a>>,
    found: &mut impl FnMut(&'t Object<'a>, &'t Object<'a>, Option<&'t Object<'a>>),
) {
    for below in object.memory.iter().chain(&object.below) {
        gather(below, below, None, found);
    }
    for device in &object.devices {
        found(device, place, pci);
        let behind = if device.kind == "PCIDev" {
            Some(device)
        } else {
            pci
        };
        gather(device, place, behind, found);
    }
}

/// `0302 [10de:2330] …`, and the address.
fn pci(object: &Object<'_>) -> Result<Pci, NoMachine> {
    let address = object.attribute("pci_busid").unwrap_or_default();
    let kind = object.attribute("pci_type").unwrap_or_default();
    let read = || {
        let (class, rest) = kind.split_once(" [")?;
        let (vendor, rest) = rest.split_once(':')?;
        let (product, _) = rest.split_once(']')?;
        let hex = |digits: &str| u16::from_str_radix(digits, 16).ok();
        Some((hex(class)?, hex(vendor)?, hex(product)?))
    };
    let (class, vendor, product) = read().ok_or_else(|| wrong(object.kind, "pci_type", kind))?;
    Ok(Pci {
        address: address
            .parse()
            .map_err(|_| wrong(object.kind, "pci_busid", address))?,
        class,
        vendor,
        product,
    })
}

/// Source: `hwloc_filter_check_pcidev_subtype_important`.
fn is_important(class: u16) -> bool {
    matches!(class >> 8, 0x00..=0x03 | 0x06 | 0x0b | 0x12)
        || matches!(class, 0x0502 | 0x0c04 | 0x0c06)
}

/// The kind of a device by its class. Some adapters have none; for those the operating system knows the kind.
fn kind_of(object: &Object<'_>, pci: Pci) -> DeviceKind {
    match pci.class >> 8 {
        0 => object
            .devices
            .iter()
            .find_map(system_kind)
            .unwrap_or_default(),
        _ => DeviceKind::of_pci(pci.class, pci.vendor),
    }
}

/// The system's names of a PCI function. Names of functions behind it belong to those functions.
fn names_below(device: &Object<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut below: Vec<_> = device.devices.iter().rev().collect();
    while let Some(object) = below.pop() {
        if names.len() == MAX_INFOS {
            break;
        }
        if object.kind == "OSDev" {
            names.extend(object.attribute("name").map(clean));
            below.extend(object.devices.iter().rev());
        }
    }
    names
}

/// The operating system's kind of a device by hwloc's number (`hwloc_obj_osdev_type_e`); none for a channel of a DMA engine.
fn system_kind(object: &Object<'_>) -> Option<DeviceKind> {
    let number = object
        .attribute("osdev_type")
        .filter(|_| object.kind == "OSDev")?;
    Some(match number {
        "0" => DeviceKind::Storage,
        "1" | "5" => DeviceKind::Gpu,
        "2" | "3" => DeviceKind::Network,
        "4" => return None,
        _ => DeviceKind::Other,
    })
}

/// A device with its place: that of the nearest object that has CPUs.
fn placed(place: &Object<'_>, nodes: &[NumaNode]) -> Device {
    let has = |number| place.nodes.contains(CpuId(number));
    let is_near = |node: &&NumaNode| !node.cpus.is_empty() && has(node.id.0);
    let near: Vec<_> = nodes.iter().filter(is_near).collect();
    Device {
        cpus: place.cpus.clone(),
        numa_node: NumaNode::only_domain(&near),
        ..Device::default()
    }
}

/// A name or a value of a file that anybody wrote.
pub(super) fn clean(text: &str) -> String {
    harmless(text, INFO_BYTES)
}
