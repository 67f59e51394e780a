//! Devices and the CPUs next to them. In: a topology with I/O objects. Out: one device for each
//! PCI function, in PCI order, then those that are on no PCI bus; at most [`MAX_DEVICES`].

use berth_placement::sets::limits::{MAX_DEVICES, MAX_INFOS};
use berth_placement::topology::devices::Pci;
use berth_placement::{Device, DeviceKind, NumaNode, PciAddress};
use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::{OSDeviceType, ObjectType};

use crate::convert::{clean, cpus_of, numa_nodes};
use crate::error::DiscoverError;

/// Every device of the topology.
pub(crate) fn devices(topology: &Topology) -> Result<Vec<Device>, DiscoverError> {
    let nodes = numa_nodes(topology)?;
    let mut devices = Vec::new();
    for object in topology.pci_devices().take(MAX_DEVICES) {
        if let Some(ObjectAttributes::PCIDevice(found)) = object.attributes() {
            let address = PciAddress {
                domain: found.domain().into(),
                bus: found.bus_id(),
                slot: found.bus_device(),
                function: found.function(),
            };
            let pci = Pci {
                address,
                class: found.class_id(),
                vendor: found.vendor_id(),
                product: found.device_id(),
            };
            devices.push(Device {
                kind: kind_of(object, pci),
                names: names_below(object),
                pci: Some(pci),
                ..placed(object, &nodes)?
            });
        }
    }
    devices.sort_by_key(|device| device.pci.map(|pci| pci.address));
    for object in topology.os_devices() {
        let is_alone = object
            .ancestors()
            .all(|above| above.object_type() != ObjectType::PCIDevice);
        if let Some(kind) = system_kind(object).filter(|_| is_alone)
            && devices.len() < MAX_DEVICES
        {
            devices.push(Device {
                kind,
                names: object.name().map(clean).into_iter().collect(),
                ..placed(object, &nodes)?
            });
        }
    }
    Ok(devices)
}

/// The kind of a device by its class. Some adapters have none (BXI); for those the operating system
/// knows the kind.
fn kind_of(object: &TopologyObject, pci: Pci) -> DeviceKind {
    match pci.class >> 8 {
        0 => object
            .io_children()
            .find_map(system_kind)
            .unwrap_or_default(),
        _ => DeviceKind::of_pci(pci.class, pci.vendor),
    }
}

/// The system's names of a PCI function. Names of functions behind it belong to those functions.
fn names_below(device: &TopologyObject) -> Vec<String> {
    let mut names = Vec::new();
    let mut below: Vec<_> = device.io_children().collect();
    below.reverse();
    while let Some(object) = below.pop() {
        if names.len() == MAX_INFOS {
            break;
        }
        if object.object_type() == ObjectType::OSDevice {
            names.extend(object.name().map(clean));
            let mut deeper: Vec<_> = object.io_children().collect();
            deeper.reverse();
            below.extend(deeper);
        }
    }
    names
}

/// The operating system's kind of a device; none for a channel of a DMA engine.
fn system_kind(object: &TopologyObject) -> Option<DeviceKind> {
    let Some(ObjectAttributes::OSDevice(found)) = object.attributes() else {
        return None;
    };
    Some(match found.device_type() {
        OSDeviceType::GPU | OSDeviceType::CoProcessor => DeviceKind::Gpu,
        OSDeviceType::Network | OSDeviceType::OpenFabrics => DeviceKind::Network,
        OSDeviceType::Storage => DeviceKind::Storage,
        OSDeviceType::DMA => return None,
        _ => DeviceKind::Other,
    })
}

/// A device with its place: that of the nearest object that has CPUs.
fn placed(object: &TopologyObject, nodes: &[NumaNode]) -> Result<Device, DiscoverError> {
    let Some(place) = object.first_non_io_ancestor() else {
        return Ok(Device::default());
    };
    let is_near = |node: &&NumaNode| {
        let near = place.nodeset().zip(usize::try_from(node.id.0).ok());
        !node.cpus.is_empty() && near.is_some_and(|(set, id)| set.is_set(id))
    };
    let near: Vec<_> = nodes.iter().filter(is_near).collect();
    Ok(Device {
        cpus: cpus_of(place)?,
        numa_node: NumaNode::only_domain(&near),
        ..Device::default()
    })
}
