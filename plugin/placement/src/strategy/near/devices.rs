//! Which devices each task gets: the step's, in PCI order, as Slurm binds them or evenly divided.
//! In: the request, the machine's devices, what Slurm gave the step. Out: [`Devices`], or a refusal.
//! Pure.

use std::collections::BTreeMap;

use crate::answer::near_refusal::NearRefusal;
use crate::request::near::{Gres, Near, What};
use crate::sets::bounded::repeated;
use crate::topology::devices::{Device, DeviceKind};
use crate::topology::machine::Machine;

/// The step's devices, and each task's.
pub(super) struct Devices {
    /// Positions among the machine's devices.
    pub(super) visible: Vec<u32>,
    /// Devices that tasks get together, as positions in `visible`.
    pub(super) parts: Vec<Vec<u32>>,
    /// The part of each task.
    pub(super) part_of: Vec<u32>,
    /// Devices that Slurm counts on the node, and those that were found, if they differ.
    pub(super) disagree: Option<(u32, u32)>,
}

/// The devices of a request for so many tasks.
pub(super) fn of(
    near: &Near,
    gres: Option<&Gres>,
    tasks: u32,
    machine: &Machine,
) -> Result<Devices, NearRefusal> {
    let all = (0..).zip(machine.devices());
    let matching: Vec<u32> = all
        .filter(|(_, device)| is(&near.what, device))
        .map(|(at, _)| at)
        .collect();
    if matching.is_empty() {
        return Err(none(near, machine));
    }
    let found = matching.len() as u32;
    let disagree = gres.map(|gres| (gres.on_node, found));
    let mut devices = match gres {
        None => Devices::divided(near, tasks, matching)?,
        Some(gres) => Devices::granted(near, gres, tasks, &matching)?,
    };
    devices.disagree = disagree.filter(|(slurms, found)| slurms != found);
    Ok(devices)
}

/// Whether a device is one of those requested.
pub(super) fn is(what: &What, device: &Device) -> bool {
    match what {
        What::Gpu => device.kind == DeviceKind::Gpu,
        What::Network => device.kind == DeviceKind::Network,
        What::Class(class) => device.pci.is_some_and(|pci| pci.class == *class),
        What::Name(name) => device.names.contains(name),
        What::Nothing => false,
    }
}

impl Devices {
    /// Slurm leaves the choice open: the devices in their order.
    fn divided(near: &Near, tasks: u32, visible: Vec<u32>) -> Result<Self, NearRefusal> {
        let count = visible.len() as u32;
        let parts = match near.each {
            Some(each) if each > count => {
                let near = near.clone();
                return Err(NearRefusal::TooFew { near, found: count });
            }
            Some(each) => runs(count / each, count / each * each),
            None => runs(tasks.min(count), count),
        };
        let groups = parts.len() as u64;
        // With fewer tasks than parts the last parts stay idle.
        let part = |task: u64| match u64::from(tasks) > groups {
            true => task * groups / u64::from(tasks),
            false => task,
        };
        Ok(Self {
            part_of: (0..u64::from(tasks))
                .map(|task| part(task) as u32)
                .collect(),
            visible,
            parts,
            disagree: None,
        })
    }

    /// Slurm gave the step some devices, and perhaps each task. An index that no device was found
    /// for counts as not given.
    fn granted(
        near: &Near,
        gres: &Gres,
        tasks: u32,
        matching: &[u32],
    ) -> Result<Self, NearRefusal> {
        let mut step: Vec<u32> = gres.step.clone();
        step.retain(|index| (*index as usize) < matching.len());
        step.sort_unstable();
        step.dedup();
        if step.is_empty() {
            return Err(NearRefusal::NotGranted {
                near: near.clone(),
                on_node: gres.on_node,
            });
        }
        let visible = step.iter().map(|index| matching[*index as usize]).collect();
        if gres.tasks.len() != tasks as usize {
            return Self::divided(near, tasks, visible);
        }
        let most = near.each.unwrap_or(u32::MAX) as usize;
        let everything: Vec<u32> = (0..step.len() as u32).collect();
        let mut known = BTreeMap::new();
        let (mut parts, mut part_of) = (Vec::new(), Vec::with_capacity(tasks as usize));
        for indices in &gres.tasks {
            let place = |index: &u32| step.binary_search(index).ok().map(|at| at as u32);
            let mut own: Vec<u32> = indices.iter().filter_map(place).take(most).collect();
            if own.is_empty() {
                own = everything.iter().copied().take(most).collect();
            }
            let part = *known.entry(own.clone()).or_insert_with(|| {
                parts.push(own);
                parts.len() as u32 - 1
            });
            part_of.push(part);
        }
        Ok(Self {
            visible,
            parts,
            part_of,
            disagree: None,
        })
    }
}

/// So many runs of neighbours of nearly equal length, the longer ones first.
fn runs(count: u32, length: u32) -> Vec<Vec<u32>> {
    let count = count.max(1);
    let (each, more) = (length / count, length % count);
    let start = |run: u32| run * each + run.min(more);
    (0..count)
        .map(|run| (start(run)..start(run + 1)).collect())
        .collect()
}

/// The refusal where there is no such device.
fn none(near: &Near, machine: &Machine) -> NearRefusal {
    let devices = machine.devices();
    if devices.is_empty() {
        return NearRefusal::Unknown(near.clone());
    }
    let kinds = [
        (DeviceKind::Gpu, "GPU", "GPUs"),
        (DeviceKind::Network, "network adapter", "network adapters"),
        (DeviceKind::Storage, "disk controller", "disk controllers"),
        (DeviceKind::Other, "other device", "other devices"),
    ];
    let of_kind = |(kind, one, several): (DeviceKind, &str, &str)| {
        let all = || devices.iter().filter(move |device| device.kind == kind);
        let noun = match all().count() {
            0 => return None,
            1 => one,
            _ => several,
        };
        let names: Vec<_> = all().flat_map(|device| &device.names).take(8).collect();
        let names: Vec<_> = names.into_iter().map(String::as_str).collect();
        let names = match names.is_empty() {
            true => String::new(),
            false => format!(" ({})", repeated(names.join(", "))),
        };
        Some(format!("{} {noun}{names}", all().count()))
    };
    let found: Vec<_> = kinds.into_iter().filter_map(of_kind).collect();
    NearRefusal::NoDevice {
        near: near.clone(),
        found: found.join(", "),
    }
}
