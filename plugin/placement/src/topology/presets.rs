//! Nodes of public systems and common servers, so that nobody needs a file to plan for them.
//! In: a name. Out: the machine. Pure data: each fact is from the public page beside it.
//!
//! Hardware threads are numbered as Linux numbers them there: second threads after all cores. A GPU's place
//! is its NUMA node, or unknown where no page says it.

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::NumaId;
use crate::topology::devices::{Device, DeviceKind};
use crate::topology::machine::{Core, Machine, Parts};
use crate::topology::numbering::{Numbering, cpus_of, numa_nodes};

/// A node that is known by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// As it is typed.
    pub name: &'static str,
    /// The node in words.
    pub words: &'static str,
    /// The page that has the facts.
    pub source: &'static str,
    sockets: u32,
    /// NUMA nodes of a socket.
    numa_nodes: u32,
    /// L3 caches of a socket.
    caches: u32,
    /// Cores of an L3 cache.
    cores: u32,
    threads: u32,
    /// The NUMA node of each GPU, in the order of their numbers.
    gpus: &'static [Option<u32>],
}

const COMMON: &str = "any server with such processors, one NUMA node per socket";

const fn common(name: &'static str, words: &'static str, cores: u32, threads: u32) -> Preset {
    Preset {
        name,
        words,
        source: COMMON,
        sockets: 2,
        numa_nodes: 1,
        caches: 1,
        cores,
        threads,
        gpus: &[],
    }
}

/// Every known machine, by name.
pub const PRESETS: &[Preset] = &[
    common("2x16-smt2", "2 × 16 cores, 2 threads each", 16, 2),
    common("2x24-smt2", "2 × 24 cores, 2 threads each", 24, 2),
    common("2x32-smt2", "2 × 32 cores, 2 threads each", 32, 2),
    common("2x48-smt2", "2 × 48 cores, 2 threads each", 48, 2),
    common("2x64-smt1", "2 × 64 cores, one thread each", 64, 1),
    common("2x64-smt2", "2 × 64 cores, 2 threads each", 64, 2),
    common("2x96-smt2", "2 × 96 cores, 2 threads each", 96, 2),
    Preset {
        name: "archer2",
        words: "ARCHER2: 2 × AMD EPYC 7742",
        source: "docs.archer2.ac.uk/user-guide/hardware/",
        sockets: 2,
        numa_nodes: 4,
        caches: 16,
        cores: 4,
        threads: 2,
        gpus: &[],
    },
    Preset {
        name: "frontier",
        words: "Frontier: AMD EPYC 7A53, 4 × MI250X (8 GPUs)",
        source: "docs.olcf.ornl.gov/systems/frontier_user_guide.html",
        gpus: TRENTO_GPUS,
        ..TRENTO
    },
    Preset {
        name: "juwels-booster",
        words: "JUWELS Booster: 2 × AMD EPYC 7402, 4 × A100",
        source: "apps.fz-juelich.de/jsc/hps/juwels/booster-overview.html; \
                 co-design.pop-coe.eu/experiments/gpu-affinity/juwels-booster.html",
        sockets: 2,
        numa_nodes: 4,
        caches: 8,
        cores: 3,
        threads: 2,
        gpus: &[Some(3), Some(1), Some(7), Some(5)],
    },
    Preset {
        name: "leonardo-booster",
        words: "Leonardo Booster: Intel Xeon Platinum 8358, 4 × A100",
        source: "docs.hpc.cineca.it/hpc/leonardo.html; ana.run/blog/subnuma-leonardo",
        sockets: 1,
        numa_nodes: 2,
        caches: 1,
        cores: 32,
        threads: 1,
        gpus: &[None; 4],
    },
    Preset {
        name: "lumi-c",
        words: "LUMI-C: 2 × AMD EPYC 7763",
        source: "docs.lumi-supercomputer.eu/hardware/lumic/",
        ..MILAN
    },
    Preset {
        name: "lumi-g",
        words: "LUMI-G: AMD EPYC 7A53, 4 × MI250X (8 GPUs)",
        source: "docs.lumi-supercomputer.eu/hardware/lumig/",
        gpus: TRENTO_GPUS,
        ..TRENTO
    },
    Preset {
        name: "marenostrum5",
        words: "MareNostrum 5 GPP: 2 × Intel Xeon Platinum 8480+",
        source: "www.bsc.es/supportkc/docs/MareNostrum5/intro/",
        ..common("", "", 56, 1)
    },
    Preset {
        name: "marenostrum5-acc",
        words: "MareNostrum 5 ACC: 2 × Intel Xeon Platinum 8460Y+, 4 × H100",
        source: "www.bsc.es/supportkc/docs/MareNostrum5/intro/",
        gpus: &[None; 4],
        ..common("", "", 40, 1)
    },
    Preset {
        name: "perlmutter-cpu",
        words: "Perlmutter: 2 × AMD EPYC 7763",
        source: "docs.nersc.gov/systems/perlmutter/architecture/",
        ..MILAN
    },
    Preset {
        name: "perlmutter-gpu",
        words: "Perlmutter: AMD EPYC 7763, 4 × A100",
        source: "docs.nersc.gov/systems/perlmutter/architecture/",
        sockets: 1,
        gpus: &[Some(3), Some(2), Some(1), Some(0)],
        ..MILAN
    },
];

/// AMD EPYC 7763 with four NUMA nodes per socket: two L3 caches of eight cores in each.
const MILAN: Preset = Preset {
    name: "",
    words: "",
    source: "",
    sockets: 2,
    numa_nodes: 4,
    caches: 8,
    cores: 8,
    threads: 2,
    gpus: &[],
};

/// AMD EPYC 7A53, which has the same inside.
const TRENTO: Preset = Preset {
    sockets: 1,
    ..MILAN
};

const TRENTO_GPUS: &[Option<u32>] = &[
    Some(3),
    Some(3),
    Some(1),
    Some(1),
    Some(0),
    Some(0),
    Some(2),
    Some(2),
];

impl Preset {
    /// The known machine of that name.
    ///
    /// ```
    /// use berth_placement::topology::presets::Preset;
    ///
    /// let node = Preset::named("lumi-g").unwrap().machine().unwrap();
    /// assert_eq!((node.core_count(), node.cpus().count(), node.devices().len()), (64, 128, 8));
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Sockets, cores of each, threads of a core.
    #[must_use]
    pub fn size(&self) -> [u32; 3] {
        [self.sockets, self.caches * self.cores, self.threads]
    }

    /// NUMA nodes of the machine.
    #[must_use]
    pub fn numa_count(&self) -> u32 {
        self.sockets * self.numa_nodes
    }

    /// L3 caches of the machine.
    #[must_use]
    pub fn cache_count(&self) -> u32 {
        self.sockets * self.caches
    }

    /// Its GPUs.
    #[must_use]
    pub fn gpu_count(&self) -> u32 {
        self.gpus.len() as u32
    }

    /// The machine; every preset has one.
    #[must_use]
    pub fn machine(&self) -> Option<Machine> {
        let parts = Parts::regular(self.size().into(), Numbering::ThreadsLast);
        let packages = parts.packages.iter();
        let cores: Vec<&Core> = packages.flat_map(|package| &package.cores).collect();
        let groups = |count: usize| -> Vec<CpuSet> {
            let cores = cores.chunks((cores.len() / count).max(1));
            cores.map(|cores| cpus_of(cores.iter().copied())).collect()
        };
        let numa = groups(self.numa_count() as usize);
        let each_core = groups(cores.len());
        Machine::new(Parts {
            numa_nodes: numa_nodes(&numa),
            l3_caches: groups(self.cache_count() as usize),
            l2_caches: each_core.clone(),
            l1_caches: each_core,
            devices: self.devices(&numa),
            ..parts.clone()
        })
        .ok()
    }

    fn devices(&self, numa: &[CpuSet]) -> Vec<Device> {
        let all = || numa.iter().flat_map(|cpus| cpus.iter()).collect();
        let device = |(number, near): (u32, &Option<u32>)| Device {
            kind: DeviceKind::Gpu,
            names: vec![format!("gpu{number}")],
            pci: None,
            cpus: match near.and_then(|node| numa.get(node as usize)) {
                Some(cpus) => cpus.clone(),
                None => all(),
            },
            numa_node: near.map(NumaId),
        };
        (0..).zip(self.gpus).map(device).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::ids::CpuId;
    use crate::topology::machine::SocketKind;

    #[test]
    fn each_is_a_machine_with_the_counts_that_it_says() {
        for preset in PRESETS {
            let machine = preset.machine().expect(preset.name);
            let [sockets, cores, threads] = preset.size();
            let count = |kind| machine.sockets(kind).len() as u32;
            assert_eq!(count(SocketKind::Package), sockets, "{}", preset.name);
            assert_eq!(count(SocketKind::Numa), preset.numa_count());
            assert_eq!(count(SocketKind::L3), preset.cache_count());
            assert!(machine.has_cores_of(threads, sockets * cores));
            assert_eq!(machine.devices().len() as u32, preset.gpu_count());
            assert!(!preset.source.is_empty() && !preset.words.is_empty());
            assert_eq!(Preset::named(preset.name), Some(preset));
        }
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        assert!(names.is_sorted());
    }

    #[test]
    fn siblings_are_last_and_gpus_at_their_nodes() {
        let lumi = Preset::named("lumi-g").and_then(Preset::machine).unwrap();
        let first = lumi.pus_of(crate::sets::ids::CoreIdx(0));
        assert_eq!(first, [CpuId(0), CpuId(64)]);
        let gpu = |at: usize| lumi.devices()[at].cpus.to_string();
        assert_eq!([gpu(0), gpu(4)], ["48-63,112-127", "0-15,64-79"]);
        assert_eq!(Preset::named("lumi"), None);
    }
}
