//! The areas of a socket: NUMA nodes and L3 caches, the smaller inside the larger. An area that
//! would be the whole of its parent only gives the parent its name.

use berth_placement::{CoreIdx, CpuId, CpuSet, Machine, ObjectKind};

use crate::parents::Parents;

/// The frame of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Frame {
    Socket,
    Numa,
    L3,
}

/// Successive cores of one socket, NUMA node or L3 cache.
pub struct Area<'a> {
    pub frame: Frame,
    /// `NUMA node 0`, `L3 3`: what it is, and what it is the whole of.
    pub names: Vec<String>,
    pub cores: Vec<(CoreIdx, &'a [CpuId])>,
    /// The devices next to exactly these cores, in words.
    pub devices: Vec<String>,
    /// Areas within it, which together have its cores; or none.
    pub inner: Vec<Area<'a>>,
}

/// A way to divide cores: the number of each core's domain.
struct Division {
    frame: Frame,
    of_core: Vec<Option<u32>>,
}

/// Each socket of a machine with the areas in it.
pub fn sockets<'a>(machine: &'a Machine, parents: &Parents<'a>) -> Vec<Area<'a>> {
    let all = [numa(parents, machine), l3(parents, machine)];
    // A single NUMA node or cache of the whole machine says nothing.
    let all = || all.iter().filter(|division| division.is_several());
    let sockets = parents.sockets.iter().enumerate();
    sockets
        .map(|(number, cores)| {
            let cores = cores.iter().map(|core| (*core, parents.cpus_of(*core)));
            let cores: Vec<_> = cores.collect();
            let mut divisions: Vec<_> = all().collect();
            divisions.sort_by_key(|division| successive(&cores, division).len());
            let names = vec![format!("socket {number}")];
            let mut socket = Area::new(Frame::Socket, names, cores);
            divide(&mut socket, &divisions);
            socket
        })
        .collect()
}

fn numa(parents: &Parents<'_>, machine: &Machine) -> Division {
    let of_core = |core| parents.numa_of(core).map(|node| node.0);
    Division::new(Frame::Numa, machine, of_core)
}

fn l3(parents: &Parents<'_>, machine: &Machine) -> Division {
    let caches = machine.objects(ObjectKind::L3);
    Division::new(Frame::L3, machine, |core| {
        let first = *parents.cpus_of(core).first()?;
        let mut caches = (0..).zip(&caches);
        let found = caches.find(|(_, cache)| cache.contains(first));
        found.map(|(at, _)| at)
    })
}

impl Division {
    fn new(frame: Frame, machine: &Machine, of_core: impl Fn(CoreIdx) -> Option<u32>) -> Self {
        let cores = (0..machine.core_count() as u32).map(CoreIdx);
        Self {
            frame,
            of_core: cores.map(of_core).collect(),
        }
    }

    fn of(&self, core: CoreIdx) -> Option<u32> {
        self.of_core.get(core.index()).copied().flatten()
    }

    fn is_several(&self) -> bool {
        let mut all = self.of_core.iter();
        let first = all.next();
        all.any(|other| Some(other) != first)
    }

    fn name(&self, number: u32) -> String {
        match self.frame {
            Frame::L3 => format!("L3 {number}"),
            _ => format!("NUMA node {number}"),
        }
    }
}

/// An area without areas inside: its names, devices, and itself.
pub type Leaf<'l, 'a> = (Vec<&'l str>, Vec<String>, &'l Area<'a>);

type Cores<'a> = Vec<(CoreIdx, &'a [CpuId])>;

/// Runs of cores of one domain.
fn successive<'a>(
    cores: &[(CoreIdx, &'a [CpuId])],
    division: &Division,
) -> Vec<(Option<u32>, Cores<'a>)> {
    let mut runs: Vec<(Option<u32>, Cores<'a>)> = Vec::new();
    for core in cores {
        let domain = division.of(core.0);
        match runs.last_mut().filter(|(last, _)| *last == domain) {
            Some((_, run)) => run.push(*core),
            None => runs.push((domain, vec![*core])),
        }
    }
    runs
}

/// Divides an area by the first way, and its parts by the others.
fn divide<'a>(area: &mut Area<'a>, divisions: &[&Division]) {
    let Some((division, others)) = divisions.split_first() else {
        return;
    };
    let runs = successive(&area.cores, division);
    let name = |number: Option<u32>| number.map(|number| division.name(number));
    if let [(number, _)] = runs.as_slice() {
        area.names.extend(name(*number));
        return divide(area, others);
    }
    area.inner = runs
        .into_iter()
        .map(|(number, cores)| {
            let names = name(number).into_iter().collect();
            let mut inner = Area::new(division.frame, names, cores);
            divide(&mut inner, others);
            inner
        })
        .collect();
}

impl<'a> Area<'a> {
    fn new(frame: Frame, names: Vec<String>, cores: Cores<'a>) -> Self {
        Self {
            frame,
            names,
            cores,
            devices: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// The smallest area here that has all of these CPUs.
    pub(super) fn around(&mut self, cpus: &CpuSet) -> Option<&mut Self> {
        let own: CpuSet = self
            .cores
            .iter()
            .flat_map(|(_, cpus)| *cpus)
            .copied()
            .collect();
        if !cpus.is_subset(&own) {
            return None;
        }
        let inner = &mut self.inner;
        let at = (0..inner.len()).find(|at| inner[*at].around(cpus).is_some());
        match at {
            Some(at) => self.inner[at].around(cpus),
            None => Some(self),
        }
    }

    /// The areas without areas inside, in order, each with the names from here down, and with the
    /// devices that have not stood beside an earlier one.
    pub fn leaves(&self) -> Vec<Leaf<'_, 'a>> {
        let names = || self.names.iter().map(String::as_str);
        match self.inner.as_slice() {
            [] => vec![(names().collect(), self.devices.clone(), self)],
            inner => {
                // They are next to all of the areas inside, and not to the first of them.
                let name = self.names.last().map_or("", String::as_str);
                let own = self.devices.iter().map(|line| format!("{name}: {line}"));
                let mut own: Vec<_> = own.collect();
                inner
                    .iter()
                    .flat_map(Area::leaves)
                    .map(|(below, devices, leaf)| {
                        let devices = own.drain(..).chain(devices).collect();
                        (names().chain(below).collect(), devices, leaf)
                    })
                    .collect()
            }
        }
    }

    /// Whether it or an area within it has this frame.
    pub fn has(&self, frame: Frame) -> bool {
        self.frame == frame || self.inner.iter().any(|inner| inner.has(frame))
    }
}
