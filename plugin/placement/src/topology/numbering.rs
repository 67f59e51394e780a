//! How the kernel numbers the CPUs of a regular machine.
//! In: a machine of equal sockets, cores and threads. Out: the same with other
//! kernel numbers, for trying out what a request gives on such a node. Pure.

use strum::EnumString;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::{CpuId, NumaId};
use crate::sets::text::TextError;
use crate::topology::machine::{Core, Machine, NumaNode, Package, Parts, SocketKind};

/// Kernel number of thread *t* of core *c* of socket *s*, with S sockets,
/// C cores per socket and T threads per core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "kebab-case", parse_err_ty = TextError, parse_err_fn = no_numbering)]
pub enum Numbering {
    /// `(s·C + c)·T + t`: neighbours have neighbouring numbers.
    Block,
    /// `t·S·C + c·S + s`: the numbers go round the sockets first.
    Cyclic,
    /// `t·S·C + s·C + c`: second threads come after all cores.
    ThreadsLast,
}

impl Numbering {
    pub(super) fn cpu(
        self,
        (s, c, t): (u32, u32, u32),
        (sockets, cores, threads): (u32, u32, u32),
    ) -> CpuId {
        CpuId(match self {
            Self::Block => (s * cores + c) * threads + t,
            Self::Cyclic => t * sockets * cores + c * sockets + s,
            Self::ThreadsLast => t * sockets * cores + s * cores + c,
        })
    }
}

fn no_numbering(text: &str) -> TextError {
    TextError::new(text, "block, cyclic or threads-last")
}

impl Parts {
    /// Equal packages without anything beside them, by the number of sockets, of cores of each and of threads of a core.
    pub(super) fn regular(
        (sockets, cores, threads): (u32, u32, u32),
        numbering: Numbering,
    ) -> Self {
        let size = (sockets, cores, threads);
        let core = |s, c| Core {
            pus: (0..threads)
                .map(|t| numbering.cpu((s, c, t), size))
                .collect(),
        };
        let package = |s| Package {
            cores: (0..cores).map(|c| core(s, c)).collect(),
        };
        Self {
            packages: (0..sockets).map(package).collect(),
            allowed: CpuSet::first(sockets * cores * threads),
            ..Self::default()
        }
    }
}

/// NUMA nodes with these CPUs, numbered in this order.
pub(super) fn numa_nodes(of_each: &[CpuSet]) -> Vec<NumaNode> {
    let node = |(id, cpus): (u32, &CpuSet)| NumaNode {
        id: NumaId(id),
        cpus: cpus.clone(),
    };
    (0..).zip(of_each).map(node).collect()
}

/// The CPUs of some cores.
pub(super) fn cpus_of<'a>(cores: impl IntoIterator<Item = &'a Core>) -> CpuSet {
    let cpus = cores.into_iter().flat_map(|core| &core.pus);
    cpus.copied().collect()
}

impl Machine {
    /// A machine of equal packages, each with one NUMA node and one L3 cache.
    #[must_use]
    pub fn regular(sockets: u32, cores: u32, threads: u32, numbering: Numbering) -> Option<Self> {
        let parts = Parts::regular((sockets, cores, threads), numbering);
        let packages = parts.packages.iter();
        let l3_caches: Vec<_> = packages.map(|package| cpus_of(&package.cores)).collect();
        Self::new(Parts {
            numa_nodes: numa_nodes(&l3_caches),
            l3_caches,
            ..parts
        })
        .ok()
    }

    /// This machine with other kernel numbers; `None` where its packages or cores are not all equal, since the formulas
    /// have no meaning there.
    #[must_use]
    pub fn renumbered(&self, numbering: Numbering) -> Option<Self> {
        let packages = self.sockets(SocketKind::Package);
        let cores = packages.first()?.len();
        let threads = self.pus_of(*packages.first()?.first()?).len();
        let regular = packages.iter().all(|package| {
            package.len() == cores
                && package
                    .iter()
                    .all(|core| self.pus_of(*core).len() == threads)
        });
        if !regular {
            return None;
        }
        let size = (packages.len() as u32, cores as u32, threads as u32);
        let mut new = vec![None; self.cpus().highest()?.index() + 1];
        for (s, package) in (0..).zip(&packages) {
            for (c, core) in (0..).zip(package) {
                for (t, cpu) in (0..).zip(self.pus_of(*core)) {
                    new[cpu.index()] = Some(numbering.cpu((s, c, t), size));
                }
            }
        }
        let cpu = |old: CpuId| new.get(old.index()).copied().flatten();
        let parts = self.parts().renumbered(cpu);
        Self::new(parts).ok()
    }
}
