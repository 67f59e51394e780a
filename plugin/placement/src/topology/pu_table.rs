//! Every hardware thread of the node in Slurm's abstract order, with its core and its socket.
//! In: slurmd's shape, the machine tree where it is known, the fixes. Out: [`PuTable`]. Pure.
//!
//! slurmd counts sockets × cores × threads; the tree knows cores of different width. If slurmd
//! counted this very tree, core *p* of a credential is the *p*-th core of the tree, and has the
//! hardware threads of that core. Otherwise slurmd's CPU map decides which cores are meant.

use crate::request::Rules;
use crate::request::fixes::{Fix, Fixes};
use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, PuIdx};
use crate::topology::domains::Domains;
use crate::topology::machine::{Machine, SocketKind};
use crate::topology::objects::ObjectOfCpu;
use crate::topology::shape::Shape;

/// Every hardware thread in Slurm's abstract order.
#[derive(Clone, Debug)]
pub struct PuTable {
    /// Kernel number; `None` if slurmd's map points outside itself, or to no CPU of the machine.
    cpus: Vec<Option<CpuId>>,
    /// Cores, by their number in a credential.
    pub cores: Domains,
    /// Sockets, each with its hardware threads in the order of the walk.
    pub sockets: Domains,
    /// Where each socket's cores end, as positions among its hardware threads.
    core_ends: Vec<Vec<u32>>,
    /// The objects that a mask bound to sockets grows to, if they are not `sockets`: task/affinity
    /// divides its whole map (`_blot_mask_sockets`).
    wide_sockets: Option<Domains>,
    /// Entries of slurmd's map for each core, if all cores have the same number.
    even: Option<u32>,
    /// Hardware threads of a core that a step may use.
    usable: u32,
    /// The CPUs of all of them, where each hardware thread is in one socket and one core.
    all: Option<CpuSet>,
}

impl PuTable {
    /// The table by slurmd's arithmetic, corrected by the fixes that are on.
    #[must_use]
    pub fn new(shape: &Shape, machine: Option<&Machine>, kind: SocketKind, rules: Rules) -> Self {
        let mut table = Self::without_sum(shape, machine, kind, rules.fixes);
        if rules.keep_to_cgroups() && !table.is_slurmds(shape) {
            table.stay_in_cgroups(shape);
        }
        let once = |domains: &Domains| domains.iter().map(<[_]>::len).sum::<usize>() == table.len();
        let all_once = once(&table.cores) && once(&table.sockets);
        table.all = all_once.then(|| table.cpus(table.pus()));
        table
    }

    fn without_sum(
        shape: &Shape,
        machine: Option<&Machine>,
        kind: SocketKind,
        fixes: Fixes,
    ) -> Self {
        let Some(machine) = machine else {
            return Self::by_arithmetic(shape, fixes);
        };
        let seen = Shape::of(machine, kind);
        let is_this_tree = seen.is_hardware_of(shape);
        let uneven = !machine.has_cores_of(shape.stride, shape.core_count());
        if is_this_tree && uneven && fixes.has(Fix::CoreThreads) {
            return Self::by_tree(shape, machine, kind, fixes);
        }
        let mut table = Self::by_arithmetic(shape, fixes);
        if fixes.has(Fix::HoleNumbers) {
            table.mend_numbers(shape, machine, kind, is_this_tree);
            table.drop_absent(machine, fixes.has(Fix::CoreThreads));
        }
        // CPUs with wrong numbers would be found on the wrong sockets.
        let numbered = fixes.has(Fix::HoleNumbers) || !shape.has_duplicates();
        if fixes.has(Fix::RealSockets) && numbered {
            table.use_real_sockets(machine, kind);
        }
        table
    }

    fn by_arithmetic(shape: &Shape, fixes: Fixes) -> Self {
        let stride = shape.stride.max(1);
        let per_socket = (shape.cores * stride).max(1);
        let size = shape.map.len() as u32;
        // `_lllp_map_abstract_mask` drops a number past its last bit.
        let known = |cpu: &CpuId| cpu.0 < size;
        let cpus = shape.map.iter().map(|cpu| Some(*cpu).filter(known));
        let sockets = if size == 0 { 0 } else { shape.sockets };
        let core_count = shape.core_count().max(size.div_ceil(stride));
        let core = |at: u32| ((at * stride).min(size)..((at + 1) * stride).min(size)).map(PuIdx);
        let socket = |at: u32| {
            // slurm.conf may claim more than there is: `_get_avail_map` counts on from 0.
            (0..per_socket).map(move |pu| PuIdx((at * per_socket + pu) % size))
        };
        let socket_of = |pu: u32| (pu / per_socket).min(sockets.saturating_sub(1));
        let ends: Vec<_> = (1..=shape.cores).map(|core| core * stride).collect();
        Self {
            cpus: cpus.collect(),
            cores: Domains::new(
                (0..size).map(|pu| pu / stride).collect(),
                (0..core_count).map(core),
            ),
            sockets: Domains::new((0..size).map(socket_of).collect(), (0..sockets).map(socket)),
            core_ends: vec![ends; sockets as usize],
            wide_sockets: (!fixes.has(Fix::RealSockets)).then(|| equal_parts(shape)),
            even: Some(stride),
            usable: shape.threads,
            all: None,
        }
    }

    /// Each core with its hardware threads from the tree.
    fn by_tree(shape: &Shape, machine: &Machine, kind: SocketKind, fixes: Fixes) -> Self {
        // If fewer threads are configured than exist, the rest must not be used.
        let limit = match shape.threads < shape.stride {
            true => shape.threads as usize,
            false => usize::MAX,
        };
        let (mut cpus, mut core_of, mut socket_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut core = 0;
        for (socket, cores) in (0..).zip(machine.sockets(kind)) {
            for idx in cores {
                for cpu in machine.pus_of(idx).iter().take(limit) {
                    cpus.push(Some(*cpu));
                    core_of.push(core);
                    let by_count = core / shape.cores.max(1);
                    socket_of.push(match fixes.has(Fix::RealSockets) {
                        true => socket,
                        false => by_count.min(shape.sockets.saturating_sub(1)),
                    });
                }
                core += 1;
            }
        }
        let mut table = Self {
            cpus,
            cores: Domains::of_each(core_of),
            sockets: Domains::of_each(socket_of),
            core_ends: Vec::new(),
            wide_sockets: None,
            even: None,
            usable: u32::MAX,
            all: None,
        };
        table.find_core_ends();
        table
    }

    /// Takes the kernel's numbers from the tree if slurmd's map has wrong ones: on
    /// machines with holes in their numbering slurmd replaces a number beyond its count of CPUs by
    /// the position. Otherwise only numbers past the map's end are restored.
    fn mend_numbers(&mut self, shape: &Shape, machine: &Machine, kind: SocketKind, is_tree: bool) {
        if shape.has_duplicates()
            || (is_tree && !shape.map.iter().all(|cpu| machine.cpus().contains(*cpu)))
        {
            let cores = machine.sockets(kind).into_iter().flatten();
            for (pus, core) in self.cores.iter().zip(cores) {
                let numbers = machine.pus_of(core);
                for (thread, pu) in pus.iter().enumerate() {
                    self.cpus[pu.index()] = numbers.get(thread).copied();
                }
            }
        } else {
            self.cpus = shape.map.iter().map(|cpu| Some(*cpu)).collect();
        }
    }

    /// Removes CPUs that do not exist, such as offline ones, so none is ever planned. With `once`
    /// it also removes second names of one CPU.
    fn drop_absent(&mut self, machine: &Machine, once: bool) {
        let exists = |cpu: &CpuId| machine.cpus().contains(*cpu);
        if !self.cpus.iter().flatten().any(exists) {
            // The tree describes another machine, so slurmd's map is the better guess.
            return;
        }
        let mut seen = CpuSet::new();
        self.keep(|_, cpu| {
            let keep = exists(&cpu) && !(once && seen.contains(cpu));
            if keep {
                seen.insert(cpu);
            }
            keep
        });
    }

    /// Removes the hardware threads that Slurm's cgroups do not allow: with `ConstrainCores=yes` a
    /// step's cgroup has the entries of slurmd's map for its cores (`xcpuinfo_abs_to_mac`), and no
    /// other thread of them.
    fn stay_in_cgroups(&mut self, shape: &Shape) {
        let cores = self.cores.clone();
        let is_inside = |pu, cpu| shape.counted_for(cores.of(pu)).any(|entry| entry == cpu);
        let mut pus = (0..).map(PuIdx).zip(&self.cpus);
        if pus.any(|(pu, cpu)| cpu.is_some_and(|cpu| !is_inside(pu, cpu))) {
            self.keep(is_inside);
        }
    }

    /// Removes hardware threads from cores and sockets.
    fn keep(&mut self, mut is_kept: impl FnMut(PuIdx, CpuId) -> bool) {
        for (at, entry) in (0..).zip(&mut self.cpus) {
            *entry = entry.filter(|cpu| is_kept(PuIdx(at), *cpu));
        }
        if self.cpus.iter().all(Option::is_some) {
            return;
        }
        let cpus = std::mem::take(&mut self.cpus);
        let is_there = |pu: PuIdx| cpus[pu.index()].is_some();
        self.cores.retain(is_there);
        self.sockets.retain(is_there);
        if let Some(parts) = &mut self.wide_sockets {
            parts.retain(is_there);
        }
        self.cpus = cpus;
        self.even = None;
        self.find_core_ends();
    }

    /// Sockets from the tree, matched by kernel number.
    fn use_real_sockets(&mut self, machine: &Machine, kind: SocketKind) {
        let parents = ObjectOfCpu::new(&machine.cpus_of_sockets(kind));
        let mut last = 0;
        let socket_of = |cpu: &Option<CpuId>| match cpu {
            // This thread does not exist: it is in no list, and nobody asks for its number.
            None if self.even.is_none() => Some(last),
            None => None,
            Some(cpu) => {
                last = parents.get(*cpu)?;
                Some(last)
            }
        };
        let Some(of_pu) = self.cpus.iter().map(socket_of).collect::<Option<Vec<_>>>() else {
            // The tree describes another machine, so arithmetic is the better guess.
            return;
        };
        self.sockets = Domains::of_each(of_pu);
        if self.even.is_none() {
            let cpus = &self.cpus;
            self.sockets.retain(|pu| cpus[pu.index()].is_some());
        }
        self.find_core_ends();
    }

    /// Where the core changes in each socket's list.
    fn find_core_ends(&mut self) {
        let ends = |pus: &[PuIdx]| {
            let mut end = 0;
            let cores = pus.chunk_by(|one, next| self.cores.of(*one) == self.cores.of(*next));
            cores
                .map(|core| {
                    end += core.len() as u32;
                    end
                })
                .collect()
        };
        self.core_ends = self.sockets.iter().map(ends).collect();
    }

    /// Number of hardware threads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether the node has no CPU, so nothing can be planned there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Every hardware thread.
    pub(crate) fn pus(&self) -> impl Iterator<Item = PuIdx> + use<> {
        (0..self.len() as u32).map(PuIdx)
    }

    /// Whether a hardware thread has one of some CPUs.
    pub(crate) fn is_in(&self, pu: PuIdx, cpus: &CpuSet) -> bool {
        self.cpu(pu).is_some_and(|cpu| cpus.contains(cpu))
    }

    /// The kernel's number of a hardware thread, if it has one.
    #[must_use]
    pub fn cpu(&self, pu: PuIdx) -> Option<CpuId> {
        self.cpus.get(pu.index()).copied().flatten()
    }

    /// The hardware threads of a core of the credential that steps may use; numbers beyond the
    /// node continue at its first core, as in `_get_avail_map`.
    pub(crate) fn pus_of_core(&self, core: u32) -> impl Iterator<Item = PuIdx> + '_ {
        let size = self.len() as u32;
        let (wrapped, own) = match self.even {
            Some(stride) => {
                let first = core % size.max(1) * stride;
                let all = first..first + self.usable;
                (Some(all.map(move |pu| PuIdx(pu % size.max(1)))), &[][..])
            }
            None => (None, self.cores.members(core)),
        };
        let own = own.iter().copied().take(self.usable as usize);
        wrapped.into_iter().flatten().chain(own)
    }

    /// The cores of a socket, each with its hardware threads.
    pub(crate) fn cores_of_socket(&self, socket: u32) -> impl Iterator<Item = &[PuIdx]> {
        let pus = self.sockets.members(socket);
        let ends = self
            .core_ends
            .get(socket as usize)
            .map_or(&[][..], Vec::as_slice);
        let mut first = 0;
        ends.iter().map(move |end| {
            let core = &pus[first..*end as usize];
            first = *end as usize;
            core
        })
    }

    /// The CPUs of all hardware threads, where each is in one socket and one core.
    pub(crate) fn all(&self) -> Option<&CpuSet> {
        self.all.as_ref()
    }

    /// The most hardware threads of a core that steps may use.
    pub(crate) fn usable_threads(&self) -> u32 {
        self.usable
    }

    /// Hardware threads of each core, if all cores have the same number.
    pub(crate) fn even(&self) -> Option<u32> {
        self.even
    }

    /// The first place in a socket's list, from `next` on, at which a core begins.
    pub(crate) fn core_end_in_socket(&self, socket: usize, next: u32) -> u32 {
        let ends = &self.core_ends[socket];
        let at = ends.partition_point(|end| *end < next);
        ends.get(at).copied().unwrap_or(next)
    }

    /// The first place in the list of all hardware threads, from `next` on, at which a core begins.
    pub(crate) fn core_end(&self, next: u32) -> u32 {
        let Some(before) = next.checked_sub(1) else {
            return next;
        };
        match self.even {
            Some(stride) => next.next_multiple_of(stride),
            None => {
                let last = self.cores.members(self.cores.of(PuIdx(before))).last();
                last.map_or(next, |last| next.max(last.0 + 1))
            }
        }
    }

    /// The objects that a mask bound to sockets grows to.
    pub(crate) fn wide_sockets(&self) -> &Domains {
        self.wide_sockets.as_ref().unwrap_or(&self.sockets)
    }

    /// The CPU of a hardware thread; none if it has none.
    pub(crate) fn one(&self, pu: PuIdx) -> CpuSet {
        self.cpu(pu).map_or_else(CpuSet::new, CpuSet::one)
    }

    /// The CPUs of a task's hardware threads; most tasks have one.
    pub(crate) fn cpus_of(&self, pus: &[PuIdx]) -> CpuSet {
        match pus {
            [one] => self.one(*one),
            several => self.cpus(several.iter().copied()),
        }
    }

    /// Every CPU with its core's number in a credential.
    pub fn numbered(&self) -> impl Iterator<Item = (CpuId, u32)> + '_ {
        let pus = (0..).zip(&self.cpus);
        pus.filter_map(|(at, cpu)| Some(((*cpu)?, self.cores.of(PuIdx(at)))))
    }

    /// Whether each core has the CPUs that slurmd's arithmetic gives it.
    pub(crate) fn is_slurmds(&self, shape: &Shape) -> bool {
        let same = |(mine, theirs): (&Option<CpuId>, &CpuId)| *mine == Some(*theirs);
        self.even == Some(shape.stride.max(1))
            && self.len() == shape.map.len()
            && self.cpus.iter().zip(&shape.map).all(same)
    }

    /// Kernel numbers of some hardware threads.
    #[must_use]
    pub fn cpus(&self, pus: impl IntoIterator<Item = PuIdx>) -> CpuSet {
        pus.into_iter().filter_map(|pu| self.cpu(pu)).collect()
    }
}

/// task/affinity's sockets when it widens: equal parts of its whole map.
fn equal_parts(shape: &Shape) -> Domains {
    let single = shape.cores * shape.stride < 2;
    let parts = if single { u32::MAX } else { shape.sockets };
    let size = shape.map.len() as u32;
    let each = (size / parts.max(1)).max(1);
    Domains::of_each((0..size).map(|pu| pu / each).collect())
}
