//! Devices beside their cores: which line stands in which area of a picture. Disks are counted,
//! because there may be dozens; what nobody asks for is left out.

use berth_placement::sets::count::counted;
use berth_placement::{CpuSet, Device, DeviceKind, Machine};

use super::areas::Area;

/// Writes devices into the areas next to them, and gives those that have no place of their own.
pub(super) fn place<'d>(
    sockets: &mut [Area<'_>],
    machine: &Machine,
    devices: impl Iterator<Item = &'d Device>,
) -> Vec<String> {
    let mut nowhere = Vec::new();
    let mut disks: Vec<(CpuSet, u32)> = Vec::new();
    for device in devices {
        let cpus = device.cpus.intersection(machine.cpus());
        match device.kind {
            DeviceKind::Gpu | DeviceKind::Network => {
                let line = format!("{} {}", device.kind.name(), device.label());
                put(sockets, &cpus, line, &mut nowhere);
            }
            DeviceKind::Storage => match disks.iter_mut().find(|(known, _)| *known == cpus) {
                Some((_, count)) => *count += 1,
                None => disks.push((cpus, 1)),
            },
            DeviceKind::Other => {}
        }
    }
    for (cpus, count) in disks {
        put(
            sockets,
            &cpus,
            counted(count, "disk controller"),
            &mut nowhere,
        );
    }
    nowhere
}

fn put(sockets: &mut [Area<'_>], cpus: &CpuSet, line: String, nowhere: &mut Vec<String>) {
    let mut around = sockets.iter_mut().filter_map(|socket| socket.around(cpus));
    match around.next().filter(|_| !cpus.is_empty()) {
        Some(area) => area.devices.push(line),
        None => nowhere.push(line),
    }
}
