//! Machines and requests as one line of text each, so that a case which a test reports can be
//! tried again by pasting it into another test.
//!
//! ```text
//! 0,1 2,3 | 4,5 6; allowed 0-5; memory 0=0-3 1=4-6
//! -n4 -c1 -m block:block --cpu-bind=cores --cores=0,2/4
//! ```

use std::fmt;
use std::str::FromStr;

use berth_placement::{Core, CpuId, CpuSet, Machine, NumaId, NumaNode, Package, Parts};

use super::asking::DISTRIBUTIONS;
use super::door::{Ask, LEVELS, Own};
use super::facts::Tree;

/// Sockets parted by `|`, cores by blanks, hardware threads by commas.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, core) in self.cores.iter().enumerate() {
            let before = match (at, core.number) {
                (0, _) => "",
                (_, 0) => " | ",
                _ => " ",
            };
            let pus: Vec<String> = core.pus.iter().map(ToString::to_string).collect();
            write!(f, "{before}{}", pus.join(","))?;
        }
        if self.machine.allowed() != self.machine.cpus() {
            write!(f, "; allowed {}", self.machine.allowed())?;
        }
        let domains = self.machine.memory_domains();
        let domains = domains.iter().map(|(id, cpus)| format!("{id}={cpus}"));
        write!(f, "; memory {}", domains.collect::<Vec<_>>().join(" "))
    }
}

/// A machine from its line. What counts as a socket is a package there, with an L3 cache and,
/// where the line has no memory, a NUMA node of its own.
pub fn machine(line: &str) -> Machine {
    let mut words = line.split(';');
    let sockets = words.next().expect("sockets").split('|');
    let number = |text: &str| CpuId(text.parse().expect("a CPU"));
    let core = |text: &str| Core {
        pus: text.split(',').map(number).collect(),
    };
    let package = |text: &str| Package {
        cores: text.split_whitespace().map(core).collect(),
    };
    let packages: Vec<Package> = sockets.map(package).collect();
    let cpus = |package: &Package| -> CpuSet {
        package
            .cores
            .iter()
            .flat_map(|core| core.pus.clone())
            .collect()
    };
    let l3_caches: Vec<CpuSet> = packages.iter().map(cpus).collect();
    let node = |(id, cpus): (u32, &CpuSet)| NumaNode {
        id: NumaId(id),
        cpus: cpus.clone(),
    };
    let mut parts = Parts {
        numa_nodes: (0..).zip(&l3_caches).map(node).collect(),
        allowed: l3_caches.iter().flat_map(CpuSet::iter).collect(),
        packages,
        l3_caches,
        ..Parts::default()
    };
    let list = |text: &str| CpuSet::from_list(text).expect("a list of CPUs");
    for word in words {
        match word.trim().split_once(' ').expect("a word and a value") {
            ("allowed", cpus) => parts.allowed = list(cpus),
            ("memory", nodes) => {
                let nodes = nodes
                    .split_whitespace()
                    .map(|node| node.split_once('=').expect("a node"));
                let node = |(id, cpus): (&str, &str)| NumaNode {
                    id: NumaId(id.parse().expect("a node's number")),
                    cpus: list(cpus),
                };
                parts.numa_nodes = nodes.map(node).collect();
            }
            (other, _) => panic!("no word of a machine: {other}"),
        }
    }
    Machine::new(parts).expect("a machine")
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "-n{} -c{} -m {}",
            self.tasks, self.cpus_per_task, self.distribution
        )?;
        if let Some(level) = self.level {
            write!(f, " --cpu-bind={}", level.word())?;
        }
        for (name, value) in [
            ("threads-per-core", self.threads_per_core),
            ("ntasks-per-core", self.ntasks_per_core),
            ("ntasks-per-socket", self.ntasks_per_socket),
        ] {
            value.map_or(Ok(()), |value| write!(f, " --{name}={value}"))?;
        }
        f.write_str(if self.one_thread { " --one-thread" } else { "" })?;
        f.write_str(if self.overcommit { " -O" } else { "" })?;
        f.write_str(if self.constrain_cores {
            " --constrain-cores"
        } else {
            ""
        })?;
        for cpus in &self.gpus {
            write!(f, " gpu={cpus}")?;
        }
        if let Some(binding) = &self.binding {
            write!(f, " --binding={binding}")?;
        }
        match &self.own {
            Own::Whole => Ok(()),
            Own::Cores(cores, configured) => {
                let cores: CpuSet = cores.iter().copied().map(CpuId).collect();
                write!(f, " --cores={cores}/{configured}")
            }
            Own::Cpus(cpus) => write!(f, " --cpus={cpus}"),
        }
    }
}

impl FromStr for Ask {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut ask = Self::default();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some(parts) => parts,
                None if word == "-m" => (word, words.next().unwrap_or_default()),
                None if word.starts_with("--") || word.len() < 3 => (word, ""),
                None => word.split_at(2),
            };
            ask.take(name, value)
                .ok_or_else(|| format!("{word}: not understood"))?;
        }
        Ok(ask)
    }
}

impl Ask {
    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        let number = || value.parse::<u32>().ok();
        match name {
            "-n" => self.tasks = number()?,
            "-c" => self.cpus_per_task = number()?,
            "-m" => self.distribution = DISTRIBUTIONS.into_iter().find(|known| *known == value)?,
            "-O" => self.overcommit = true,
            "--one-thread" => self.one_thread = true,
            "--constrain-cores" => self.constrain_cores = true,
            "--cpu-bind" => {
                let named = LEVELS.into_iter().find(|level| level.word() == value);
                self.level = Some(named?);
            }
            "--threads-per-core" => self.threads_per_core = Some(number()?),
            "--ntasks-per-core" => self.ntasks_per_core = Some(number()?),
            "--ntasks-per-socket" => self.ntasks_per_socket = Some(number()?),
            "gpu" => self.gpus.push(CpuSet::from_list(value).ok()?),
            "--binding" => self.binding = Some(value.into()),
            "--cpus" => self.own = Own::Cpus(CpuSet::from_list(value).ok()?),
            "--cores" => {
                let (cores, configured) = value.split_once('/')?;
                let cores = CpuSet::from_list(cores).ok()?;
                let cores = cores.iter().map(|core| core.0).collect();
                self.own = Own::Cores(cores, configured.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}
