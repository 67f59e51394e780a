//! Which devices each task gets: the step's, in PCI order, as Slurm binds them or evenly divided.
//! In: the request, the machine's devices, what Slurm gave the step. Out: [`Devices`], or a refusal.
//! Pure.

use std::collections::BTreeMap;

use crate::answer::near::NearRefusal;
use crate::request::near::{Gres, Near, What};
use crate::sets::text::repeated;
use crate::strategy::situation::even_runs;
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
    /// The first task to which Slurm binds fewer devices than requested, and how many.
    pub(super) fewer: Option<(u32, u32)>,
    /// The devices that each task requests, and those of the step, if tasks have to share them.
    pub(super) shared: Option<(u32, u32)>,
}

/// The devices of a request for so many tasks.
pub(super) fn of(
    near: &Near,
    gres: Option<&Gres>,
    tasks: u32,
    machine: &Machine,
) -> Result<Devices, NearRefusal> {
    let matching = positions(machine, |device| is(&near.what, device));
    if matching.is_empty() {
        return Err(none(near, machine));
    }
    match gres.and_then(|gres| Granted::of(gres, &matching, machine)) {
        None => Devices::divided(near, tasks, matching),
        Some(granted) => granted.devices(near, tasks, &matching),
    }
}

/// The places of such devices among the machine's, in PCI order.
fn positions(machine: &Machine, is: impl Fn(&Device) -> bool) -> Vec<u32> {
    let all = (0..).zip(machine.devices());
    all.filter(|(_, device)| is(device))
        .map(|(at, _)| at)
        .collect()
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
            Some(each) => runs_of(each, count, tasks),
            None => runs(tasks.min(count), count),
        };
        let lacks = |each: &u32| u64::from(tasks) * u64::from(*each) > u64::from(count);
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
            fewer: None,
            shared: near.each.filter(lacks).map(|each| (each, count)),
        })
    }
}

/// The GPUs that Slurm gave the step, where the request is for GPUs. Slurm's devices are the machine's GPUs in PCI
/// order, and they restrict nothing else: a step that was given GPUs may be near any network adapter.
/// An index that no GPU was found for counts as not given.
struct Granted<'a> {
    gres: &'a Gres,
    /// All GPUs, as positions among the machine's devices.
    gpus: Vec<u32>,
}

impl<'a> Granted<'a> {
    /// `None` where no requested device is a GPU.
    fn of(gres: &'a Gres, matching: &[u32], machine: &Machine) -> Option<Self> {
        let gpus = positions(machine, |device| device.kind == DeviceKind::Gpu);
        let found = Self { gres, gpus };
        let concerns = matching.iter().any(|at| found.is_gpu(*at));
        concerns.then_some(found)
    }

    fn is_gpu(&self, at: u32) -> bool {
        self.gpus.binary_search(&at).is_ok()
    }

    /// The GPU of one of Slurm's indices.
    fn gpu(&self, index: u32) -> Option<u32> {
        self.gpus.get(index as usize).copied()
    }

    /// The requested devices that are the step's.
    fn visible(&self, matching: &[u32]) -> Vec<u32> {
        let mut step: Vec<u32> = self.gres.step.iter().filter_map(|i| self.gpu(*i)).collect();
        step.sort_unstable();
        let may = |at: &u32| !self.is_gpu(*at) || step.binary_search(at).is_ok();
        matching.iter().copied().filter(may).collect()
    }

    fn devices(&self, near: &Near, tasks: u32, matching: &[u32]) -> Result<Devices, NearRefusal> {
        let (on_node, found) = (self.gres.on_node, self.gpus.len() as u32);
        let visible = self.visible(matching);
        if visible.is_empty() {
            let near = near.clone();
            let beyond = self.gres.step.iter().any(|index| *index >= found);
            return Err(match (beyond, near.what == What::Gpu) {
                (true, true) => NearRefusal::NotFound {
                    near,
                    on_node,
                    found,
                },
                _ => NearRefusal::NotGranted { near, on_node },
            });
        }
        let mut devices = match self.gres.tasks.len() == tasks as usize {
            true => self.bound(near, visible),
            false => Devices::divided(near, tasks, visible)?,
        };
        devices.disagree = (on_node != found).then_some((on_node, found));
        Ok(devices)
    }

    /// Each task's devices as Slurm binds them.
    fn bound(&self, near: &Near, visible: Vec<u32>) -> Devices {
        let most = near.each.unwrap_or(u32::MAX) as usize;
        let everything: Vec<u32> = (0..visible.len() as u32).collect();
        let mut known = BTreeMap::new();
        let (mut parts, mut part_of) = (Vec::new(), Vec::with_capacity(self.gres.tasks.len()));
        let mut fewer = None;
        for (task, indices) in (0..).zip(&self.gres.tasks) {
            let gpus = indices.iter().filter_map(|index| self.gpu(*index));
            let places = gpus.filter_map(|gpu| visible.binary_search(&gpu).ok());
            let mut own: Vec<u32> = places.map(|at| at as u32).take(most).collect();
            if own.is_empty() {
                own = everything.iter().copied().take(most).collect();
            }
            if near.each.is_some_and(|each| own.len() < each as usize) {
                fewer = fewer.or(Some((task, own.len() as u32)));
            }
            let part = *known.entry(own.clone()).or_insert_with(|| {
                parts.push(own);
                parts.len() as u32 - 1
            });
            part_of.push(part);
        }
        Devices {
            visible,
            parts,
            part_of,
            disagree: None,
            fewer,
            shared: None,
        }
    }
}

/// The numbers below `length` in `count` runs.
fn runs(count: u32, length: u32) -> Vec<Vec<u32>> {
    let runs = even_runs(0..length as usize, count.max(1) as usize);
    runs.map(|run| run.map(|at| at as u32).collect()).collect()
}

/// Runs of `each` neighbours. Where the tasks are more than such runs, what is left makes one more, together with
/// the last devices of the run before.
fn runs_of(each: u32, count: u32, tasks: u32) -> Vec<Vec<u32>> {
    let whole = count / each;
    let mut runs = runs(whole, whole * each);
    if tasks > whole && whole * each < count {
        runs.push((count - each..count).collect());
    }
    runs
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
