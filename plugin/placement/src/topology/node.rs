//! The node that a step is planned on: slurmd's shape, the machine tree if it is known,
//! the site's rules, and everything that follows from them alone. It is built once for many plans.
//! Pure.

use std::sync::{Arc, OnceLock};

use crate::request::Rules;
use crate::request::fixes::Fix;
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::topology::machine::{Machine, SocketKind};
use crate::topology::nest::Nest;
use crate::topology::numa::{Distances, Ldoms};
use crate::topology::objects::Places;
use crate::topology::pu_table::PuTable;
use crate::topology::shape::Shape;
use crate::topology::surroundings::Surroundings;

/// The fixes by which the tree counts, and not slurmd's arithmetic.
const BY_TREE: [Fix; 3] = [Fix::CoreThreads, Fix::HoleNumbers, Fix::RealSockets];

/// The planner's knowledge of a node.
///
/// ```
/// use berth_placement::{Machine, Node, Numbering, Rules, SocketKind};
///
/// let machine = Machine::regular(2, 4, 2, Numbering::Block).unwrap();
/// let node = Node::of(machine, SocketKind::Package, Rules::default());
/// assert_eq!(node.shape().to_string(), "S:C:T 2:4:2");
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    shape: Shape,
    /// The tree as it was found.
    found: Option<Arc<Machine>>,
    /// The part of it that slurmd counts.
    machine: Option<Arc<Machine>>,
    socket: SocketKind,
    rules: Rules,
    table: PuTable,
    ldoms: Option<Ldoms>,
    is_slurmds: bool,
    /// Made when it is first used: most nodes never see a request for it.
    places: OnceLock<Option<Arc<Places>>>,
    surroundings: OnceLock<Option<Arc<Surroundings>>>,
    distances: OnceLock<Arc<Distances>>,
    /// Made when it is asked for: most requests need none.
    nest: OnceLock<Nest>,
    /// This node with the tree's threads, sockets and numbers, if the rules leave some of them out.
    by_tree: OnceLock<Box<Node>>,
}

impl Node {
    /// A node as slurmd counts it. If slurmd leaves out the efficiency cores, so does the node. Without the tree, arithmetic gives the sockets, and memory
    /// domains are unknown.
    #[must_use]
    pub fn new(
        shape: Shape,
        found: Option<Arc<Machine>>,
        socket: SocketKind,
        rules: Rules,
    ) -> Self {
        let follows = rules.fixes.has(Fix::CoreThreads);
        let part = found.as_deref().filter(|_| follows);
        let part = part.and_then(|found| found.counted_part(&shape, socket));
        let machine = part.map(Arc::new).or_else(|| found.clone());
        let table = PuTable::new(&shape, machine.as_deref(), socket, rules);
        let ldoms = machine.as_deref().map(|machine| Ldoms::of(machine, &table));
        Self {
            is_slurmds: table.is_slurmds(&shape),
            shape,
            found,
            machine,
            socket,
            rules,
            table,
            ldoms,
            places: OnceLock::new(),
            surroundings: OnceLock::new(),
            distances: OnceLock::new(),
            nest: OnceLock::new(),
            by_tree: OnceLock::new(),
        }
    }

    /// A machine as slurmd would count it.
    #[must_use]
    pub fn of(machine: Machine, socket: SocketKind, rules: Rules) -> Self {
        let shape = Shape::of(&machine, socket);
        Self::new(shape, Some(Arc::new(machine)), socket, rules)
    }

    /// This node under other rules.
    #[must_use]
    pub fn with_rules(&self, rules: Rules) -> Self {
        Self::new(self.shape.clone(), self.found.clone(), self.socket, rules)
    }

    /// Whether it is as the tree has it.
    pub(crate) fn is_by_tree(&self) -> bool {
        BY_TREE.into_iter().all(|fix| self.rules.fixes.has(fix))
    }

    /// This node as the tree has it, whatever `compat` says.
    #[must_use]
    pub fn by_tree(&self) -> &Self {
        if self.is_by_tree() {
            return self;
        }
        self.by_tree.get_or_init(|| {
            let fixes = self.rules.fixes;
            let fixes = BY_TREE
                .into_iter()
                .fold(fixes, |all, fix| all.with(fix, true));
            Box::new(self.with_rules(Rules {
                fixes,
                ..self.rules
            }))
        })
    }

    /// Whether it was made from these parts and its shape; the machine counts as the same only if it
    /// is shared.
    #[must_use]
    pub fn is_made_of(
        &self,
        machine: Option<&Arc<Machine>>,
        socket: SocketKind,
        rules: Rules,
    ) -> bool {
        let same = match (&self.found, machine) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        };
        same && (self.socket, self.rules) == (socket, rules)
    }

    /// slurmd's count of it.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether slurm.conf counts a core as one CPU, so that tasks use one hardware thread of each.
    /// Where slurmd counts one thread because it divided, and cores have more, this says nothing:
    /// Slurm resets a `CPUs=` that is no product of its counts to the number of cores.
    #[must_use]
    pub fn counts_cores(&self) -> bool {
        let is_divided = self.shape.threads == 1 && self.table.even().is_none();
        self.shape.cpus_are_cores && !is_divided
    }

    /// Whether slurmd's map alone says which CPUs each core has.
    #[must_use]
    pub fn is_slurmds(&self) -> bool {
        self.is_slurmds
    }

    /// CPUs of the node's cores that no step gets, because Slurm's cgroups leave them out; `None` if
    /// there is none.
    #[must_use]
    pub fn outside_cgroups(&self) -> Option<CpuSet> {
        if !self.rules.keep_to_cgroups() || self.is_slurmds {
            return None;
        }
        let inside = self.table.cpus(self.table.pus());
        let lost = self.machine()?.cpus().difference(&inside);
        (!lost.is_empty()).then_some(lost)
    }

    /// The efficiency cores' CPUs, which slurmd leaves out; `None` if it counts all cores.
    #[must_use]
    pub fn efficiency_cpus(&self) -> Option<CpuSet> {
        let left = self
            .found
            .as_ref()?
            .cpus()
            .difference(self.machine()?.cpus());
        (!left.is_empty()).then_some(left)
    }

    /// Every CPU that exists, also where slurmd leaves it out.
    pub(crate) fn present(&self) -> Option<&CpuSet> {
        self.found.as_deref().map(Machine::cpus)
    }

    /// The machine as it was found, with what slurmd leaves out.
    #[must_use]
    pub fn whole_machine(&self) -> Option<&Machine> {
        self.found.as_deref()
    }

    /// The tree as slurmd counts it, if it is known.
    #[must_use]
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_deref()
    }

    /// The kind of object that slurmd calls a socket.
    #[must_use]
    pub fn socket(&self) -> SocketKind {
        self.socket
    }

    /// The rules of the site and of the running Slurm.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Its hardware threads in Slurm's order.
    #[must_use]
    pub fn table(&self) -> &PuTable {
        &self.table
    }

    /// Its cores as a tree.
    #[must_use]
    pub fn nest(&self) -> &Nest {
        self.nest
            .get_or_init(|| Nest::of(self.machine(), &self.table))
    }

    /// Its memory domains; `None` if the tree is unknown.
    #[must_use]
    pub fn ldoms(&self) -> Option<&Ldoms> {
        self.ldoms.as_ref()
    }

    /// Which object of each kind every hardware thread lies in; `None` if the tree is unknown.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        let made = || Some(Arc::new(Places::of(self.machine()?)));
        self.places.get_or_init(made).as_deref()
    }

    /// The objects that can be around a device; `None` if the tree is unknown.
    #[must_use]
    pub fn surroundings(&self) -> Option<&Surroundings> {
        let made = || Some(Arc::new(Surroundings::of(self.machine()?)));
        self.surroundings.get_or_init(made).as_deref()
    }

    /// How far its CPUs are from each other.
    #[must_use]
    pub fn distances(&self) -> &Distances {
        let made = || Arc::new(Distances::of(self.machine(), &self.table));
        self.distances.get_or_init(made)
    }

    /// The NUMA nodes of some CPUs.
    #[must_use]
    pub fn numa_nodes_of(&self, cpus: &CpuSet) -> NodeSet {
        if cpus.is_empty() {
            return NodeSet::default();
        }
        let distances = self.distances();
        let nodes = (0..distances.len()).filter_map(|at| distances.node(at));
        let used = nodes.filter(|(_, own)| own.intersects(cpus));
        used.filter_map(|(id, _)| id).collect()
    }

    /// CPUs that the kernel keeps free of ordinary work, if there are some.
    pub(crate) fn isolated(&self) -> Option<&CpuSet> {
        let isolated = self.machine().map(Machine::isolated);
        isolated.filter(|isolated| !isolated.is_empty())
    }

    /// CPUs that kernel and cgroup permit, if known.
    #[must_use]
    pub fn allowed(&self) -> Option<&CpuSet> {
        self.machine().map(Machine::allowed)
    }
}
