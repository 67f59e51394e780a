//! The CPUs that a step may use: the only place where a credential's cores become CPUs.
//! In: the allocation and core specialisation. Out: [`Owned`].
//! Pure. Source: `_get_avail_map` and `_alloc_mask`.

mod counts;

use std::borrow::Cow;

use crate::request::fixes::Fix;
use crate::request::keyword_options::CoreKindWish;
use crate::request::{Allocation, CoreSpec, Request};
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::PuSet;
use crate::sets::ids::{CoreIdx, PuIdx};
use crate::topology::machine::Machine;
use crate::topology::node::Node;
use crate::topology::pu_table::PuTable;

pub use counts::Counts;

/// The step's hardware threads.
#[derive(Clone, Debug)]
pub struct Owned {
    usable: PuSet,
    /// Number of usable hardware threads.
    pub count: u32,
    /// The objects that the step owns whole and in part, before specialised threads are
    /// taken a second time.
    pub counts: Counts,
    /// The step's CPUs for a task that is bound to all of them.
    pub cpus: CpuSet,
    /// Every CPU of the step's cores, also the specialised ones. No task is bound to others.
    pub all: CpuSet,
    /// Whether the step's cgroup has fewer CPUs than slurmd counts for its cores: slurmd's map names
    /// CPUs that do not exist, or that belong to other cores. Slurm knows nothing of it, so a step
    /// is not refused for it.
    pub is_cut: bool,
    /// Whether some or all of what Slurm granted is what the site keeps free.
    pub reserved: Reserved,
}

/// How much of what Slurm granted the site keeps free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reserved {
    /// Nothing.
    #[default]
    Nothing,
    /// Some CPUs; they are not the step's.
    Some,
    /// Everything; the step has them, because it has no others.
    All,
}

impl Owned {
    /// The CPUs of the node that `request` may use.
    #[must_use]
    pub fn of(request: &Request, node: &Node) -> Self {
        Self::of_allocation(&request.allocation, request, node)
    }

    /// The CPUs of the node that `request` could use if the site reserved none.
    pub(crate) fn without_reserve(request: &Request, node: &Node) -> Self {
        Self::beside(&CpuSet::new(), (&request.allocation, request), node)
    }

    /// The CPUs of another allocation that `request` may use, as the job's where the request has the step's.
    pub(crate) fn of_allocation(allocation: &Allocation, request: &Request, node: &Node) -> Self {
        Self::beside(&reserved_cpus(request, node), (allocation, request), node)
    }

    /// The CPUs of an allocation that `request` may use while the site reserves the CPUs `kept`.
    fn beside(kept: &CpuSet, (allocation, request): (&Allocation, &Request), node: &Node) -> Self {
        let table = node.table();
        let mut usable = owned_pus(allocation, node);
        let reserved = keep_free(&mut usable, kept, table);
        narrow(&mut usable, request, node);
        let special = match request.core_spec {
            CoreSpec::Threads(count) => Some(count),
            CoreSpec::None | CoreSpec::Cores(_) => None,
        };
        let of = |pus: &PuSet| cpus_of(pus, table);
        let everything = special.map(|_| of(&usable));
        if let Some(count) = special {
            take_special(&mut usable, node, count, 0);
        }
        let counts = Counts::of(&usable, table, known_cores(allocation, node));
        let mut cpus = of(&usable);
        if let Some(count) = special {
            // `_alloc_mask` takes them again, stopping above core 0 and thread 0.
            let mut shared = usable.clone();
            take_special(&mut shared, node, count, 1);
            let left = of(&shared);
            if !left.is_empty() || !node.rules().fixes.has(Fix::NoCpuLeft) {
                cpus = left;
            }
        }
        let narrowed = request.core_kind != CoreKindWish::Any;
        if let (true, false, Allocation::Cpus(own)) = (cpus.is_empty(), narrowed, allocation) {
            // On a machine with holes slurmd's map may have none of the CPUs, but the step
            // owns them.
            cpus = own.clone();
        }
        let is_cut = is_cut(allocation, node);
        if let (true, true, Allocation::Cores { cores, configured }) =
            (is_cut, usable.is_empty(), allocation)
        {
            let known = named_cores(*configured, node);
            cpus = cpus_of_cgroup(cores.iter().map(|core| core.0 % known), node);
        }
        Self {
            is_cut,
            reserved,
            count: usable.count() as u32,
            all: everything.unwrap_or_else(|| cpus.clone()),
            usable,
            counts,
            cpus,
        }
    }

    /// Whether a hardware thread may be used.
    #[must_use]
    pub fn has(&self, pu: PuIdx) -> bool {
        self.usable.contains(pu)
    }

    /// The usable hardware threads.
    pub(crate) fn pus(&self) -> impl Iterator<Item = PuIdx> + '_ {
        self.usable.iter()
    }

    /// The CPUs of the usable hardware threads.
    pub(crate) fn usable_cpus(&self, table: &PuTable) -> CpuSet {
        cpus_of(&self.usable, table)
    }

    /// The usable hardware threads among some.
    pub fn among<'a>(&'a self, pus: &'a [PuIdx]) -> impl Iterator<Item = PuIdx> + 'a {
        pus.iter().copied().filter(|pu| self.has(*pu))
    }

    /// The CPUs that the step may use if only some may be used. It still has all CPUs of its cores.
    pub(crate) fn within(&self, cpus: &CpuSet, node: &Node) -> Self {
        let table = node.table();
        let usable = self.usable_within(cpus, table);
        Self {
            count: usable.count() as u32,
            counts: Counts::of(&usable, table, u32::MAX),
            usable,
            cpus: self.cpus.intersection(cpus),
            all: self.all.clone(),
            is_cut: self.is_cut,
            reserved: self.reserved,
        }
    }

    /// The usable hardware threads whose CPUs are among some.
    fn usable_within(&self, cpus: &CpuSet, table: &PuTable) -> PuSet {
        // If there are as many CPUs as hardware threads, each thread has a CPU of its own.
        if self.cpus.count() == self.usable.count() && self.cpus.is_subset(cpus) {
            return self.usable.clone();
        }
        let inside = self.usable.iter().filter(|pu| table.is_in(*pu, cpus));
        inside.collect()
    }

    /// The CPUs that the step may use if it has no others than some.
    pub(crate) fn inside(&self, cpus: &CpuSet, node: &Node) -> Self {
        Self {
            all: self.all.intersection(cpus),
            ..self.within(cpus, node)
        }
    }

    /// The number of usable hardware threads if at most `limit` of each core count.
    pub(crate) fn count_within(&self, table: &PuTable, limit: u32) -> u32 {
        let of_core = |pus: &[PuIdx]| (self.among(pus).count() as u32).min(limit);
        table.cores.iter().map(of_core).sum()
    }

    /// The number of usable hardware threads whose CPUs are among some, if at most `limit` of each core count.
    pub(crate) fn count_among(&self, cpus: &CpuSet, table: &PuTable, limit: u32) -> u32 {
        let is_inside = |pu: &PuIdx| table.is_in(*pu, cpus);
        let of_core = |pus: &[PuIdx]| (self.among(pus).filter(is_inside).count() as u32).min(limit);
        table.cores.iter().map(of_core).sum()
    }
}

/// CPUs that no task gets while the step has others: those that the site keeps free, and, but with
/// `compat=affinity`, those that other software of the node holds for itself.
pub(crate) fn reserved_cpus<'a>(request: &'a Request, node: &Node) -> Cow<'a, CpuSet> {
    let follows = node.rules().fixes.has(Fix::IsolatedCpus);
    match node.machine().filter(|_| follows).map(Machine::held) {
        Some(held) if !held.is_empty() => {
            Cow::Owned(request.reserved.iter().chain(held.iter()).collect())
        }
        _ => Cow::Borrowed(&request.reserved),
    }
}

fn cpus_of(pus: &PuSet, table: &PuTable) -> CpuSet {
    match table.all() {
        Some(all) if pus.count() == table.len() => all.clone(),
        _ => table.cpus(pus.iter()),
    }
}

/// Takes away what the site keeps free, unless nothing else is there.
fn keep_free(usable: &mut PuSet, reserved: &CpuSet, table: &PuTable) -> Reserved {
    if reserved.is_empty() {
        return Reserved::Nothing;
    }
    let is_kept = |pu: &PuIdx| table.is_in(*pu, reserved);
    let kept: Vec<_> = usable.iter().filter(is_kept).collect();
    if kept.is_empty() {
        return Reserved::Nothing;
    }
    if kept.len() == usable.count() {
        return Reserved::All;
    }
    kept.into_iter().for_each(|pu| usable.remove(pu));
    Reserved::Some
}

fn owned_pus(allocation: &Allocation, node: &Node) -> PuSet {
    let table = node.table();
    let every = || PuSet::first(table.len() as u32);
    let with = |cpus: &CpuSet| table.pus().filter(|pu| table.is_in(*pu, cpus)).collect();
    match allocation {
        Allocation::Whole => node.allowed().map_or_else(every, with),
        Allocation::Cpus(cpus) => with(cpus),
        Allocation::Cores { .. } if table.is_empty() => PuSet::new(),
        Allocation::Cores { cores, configured } => {
            let known = named_cores(*configured, node);
            if is_every_core(cores, known, table) {
                return every();
            }
            let pus = |core: &CoreIdx| table.pus_of_core(core.0 % known);
            cores.iter().flat_map(pus).collect()
        }
    }
}

/// Leaves the cores of the requested kind, on a machine that has it.
fn narrow(usable: &mut PuSet, request: &Request, node: &Node) {
    if request.core_kind == CoreKindWish::Any {
        return;
    }
    let Some(kept) = node.cpus_of_kind(request.core_kind) else {
        return;
    };
    let table = node.table();
    let is_other = |pu: &PuIdx| !table.is_in(*pu, &kept);
    let others: Vec<_> = usable.iter().filter(is_other).collect();
    others.into_iter().for_each(|pu| usable.remove(pu));
}

/// Whether slurmd counts more threads for the step's cores than its cgroup will have.
fn is_cut(allocation: &Allocation, node: &Node) -> bool {
    let table = node.table();
    if !node.rules().keep_to_cgroups() || node.is_slurmds() {
        return false;
    }
    let is_narrow = |core: u32| table.cores.members(core).len() < node.shape().threads as usize;
    match allocation {
        Allocation::Cores { cores, configured } => {
            let known = named_cores(*configured, node);
            cores.iter().any(|core| is_narrow(core.0 % known))
        }
        Allocation::Whole => (0..node.shape().core_count()).any(is_narrow),
        Allocation::Cpus(_) => false,
    }
}

/// The CPUs of a step none of whose cores has a thread in the step's cgroup: those CPUs of the
/// cgroup that exist. If there is none, the kernel takes the cgroup above, and the tree says which
/// CPUs the cores have.
fn cpus_of_cgroup(cores: impl Iterator<Item = u32> + Clone, node: &Node) -> CpuSet {
    let (Some(machine), Some(present)) = (node.machine(), node.present()) else {
        return CpuSet::new();
    };
    let counted = cores
        .clone()
        .flat_map(|core| node.shape().counted_for(core));
    let counted: CpuSet = counted.collect();
    let exist = counted.intersection(present);
    if !exist.is_empty() {
        return exist;
    }
    let sockets = machine.sockets(node.socket());
    let all: Vec<_> = sockets.into_iter().flatten().collect();
    let own = cores.filter_map(|core| all.get(core as usize));
    own.flat_map(|core| machine.pus_of(*core).iter().copied())
        .collect()
}

/// Whether a credential has all cores, and all of their hardware threads may be used.
fn is_every_core(cores: &[CoreIdx], known: u32, table: &PuTable) -> bool {
    let all = table.cores.len() as u32;
    let in_order = || (0..).zip(cores).all(|(at, core)| core.0 == at);
    let plain = table.all().is_some()
        && table
            .even()
            .is_none_or(|even| even <= table.usable_threads());
    plain && known == all && cores.len() as u32 == all && in_order()
}

/// The number of cores that a credential for a node of so many configured ones can name: those that slurmd counted, or
/// those of the tree. Numbers beyond begin again.
fn named_cores(configured: u32, node: &Node) -> u32 {
    let counted = node.shape().core_count();
    let known = match node.table().even() {
        Some(_) => counted,
        None => counted.max(node.table().cores.len() as u32),
    };
    known.min(configured).max(1)
}

/// Removes `count` hardware threads from the top. It also counts threads of cores that were not
/// allocated, as task/affinity does; `lowest` is the last core and thread number that it reaches.
fn take_special(usable: &mut PuSet, node: &Node, count: u32, lowest: u32) {
    for pu in from_the_top(node, lowest).into_iter().take(count as usize) {
        usable.remove(pu);
    }
}

/// Thread, then core, then socket descending.
fn from_the_top(node: &Node, lowest: u32) -> Vec<PuIdx> {
    let (shape, table) = (node.shape(), node.table());
    let size = table.len() as u32;
    let mut order = Vec::with_capacity(table.len());
    if table.even().is_some() && size > 0 {
        for thread in (lowest..shape.threads).rev() {
            for core in (lowest..shape.cores).rev() {
                let first = |socket: u32| (socket * shape.cores + core) * shape.threads;
                let sockets = (0..shape.sockets).rev();
                order.extend(sockets.map(|socket| PuIdx((first(socket) + thread) % size)));
            }
        }
        return order;
    }
    let sockets: Vec<Vec<_>> = (0..table.sockets.len() as u32)
        .map(|socket| table.cores_of_socket(socket).collect())
        .collect();
    let cores = sockets.iter().map(Vec::len).max().unwrap_or(0);
    let threads = table.cores.iter().map(<[PuIdx]>::len).max().unwrap_or(0);
    for thread in (lowest as usize..threads).rev() {
        for core in (lowest as usize..cores).rev() {
            let pu = |socket: &Vec<&[PuIdx]>| socket.get(core)?.get(thread).copied();
            order.extend(sockets.iter().rev().filter_map(pu));
        }
    }
    order
}

/// Cores that slurmctld or slurmd knows of: on an uneven machine the last ones may be missing
/// there, and a step that has all the others has the whole node.
fn known_cores(allocation: &Allocation, node: &Node) -> u32 {
    match allocation {
        Allocation::Cores { configured, .. } => (*configured).max(node.shape().core_count()),
        Allocation::Whole | Allocation::Cpus(_) => u32::MAX,
    }
}
