//! The machine a request runs on, as slurmd counts it: shape, map, and which CPUs are near
//! which memory.

use std::path::PathBuf;

use crate::irregular::Tree;
use crate::random::Random;

/// task/affinity's masks are `cpu_set_t`, which ends there.
const MOST_CPUS: u32 = 1024;

/// task/affinity decides some things once a process: requests of other classes have other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `CPUs=` counts hardware threads.
    Threads,
    /// `CPUs=` counts cores: one thread of each, decided at the first launch.
    Cores,
    /// The memory domains of one machine, whose seed this is: read at the first launch.
    Ldoms(u64),
    /// One machine that is not sockets × cores × threads, or has holes in its numbering; our object has found it once.
    Irregular(u64),
}

impl Class {
    /// The command by which our object finds the machine; none where it is to find none.
    #[must_use]
    pub fn finder(self) -> PathBuf {
        match self {
            Self::Threads | Self::Cores => "/nonexistent".into(),
            Self::Ldoms(_) | Self::Irregular(_) => berth_tests::command(),
        }
    }
}

/// A node as slurmd has it in `conf`.
#[derive(Clone, Debug)]
pub struct Machine {
    /// `conf->cpus`
    pub cpus: u16,
    /// `conf->sockets`
    pub sockets: u16,
    /// `conf->cores`
    pub cores: u16,
    /// `conf->threads`
    pub threads: u16,
    /// `conf->block_map`: from abstract to kernel's CPU number.
    pub map: Vec<u16>,
    /// Memory domains of each socket.
    pub domains: u16,
    /// hwloc's tree of the machine. It is empty for a regular machine, which [`Machine::synthetic`] describes as a whole.
    pub tree: Tree,
}

impl Machine {
    /// A machine of a class.
    pub fn any(class: Class, random: &mut Random) -> Self {
        match class {
            Class::Ldoms(seed) => Self::with_domains(&mut Random::new(seed)),
            Class::Irregular(seed) => match seed % 3 {
                0 => Self::uneven(&mut Random::new(seed)),
                1 => Self::holes(&mut Random::new(seed)),
                _ => Self::irregular(class, &mut Random::new(seed)),
            },
            Class::Threads => Self::of(random, &[2, 2, 2, 4, 8], false),
            Class::Cores => Self::of(random, &[1, 1, 2, 4, 8], true),
        }
    }

    /// A regular machine with the identity as its map.
    #[must_use]
    pub fn regular(sockets: u16, cores: u16, threads: u16) -> Self {
        Self {
            cpus: sockets * cores * threads,
            sockets,
            cores,
            threads,
            map: (0..sockets * cores * threads).collect(),
            domains: 1,
            tree: Tree::new(),
        }
    }

    fn of(random: &mut Random, threads: &[u16], cpus_are_cores: bool) -> Self {
        let mut machine = loop {
            let found = any_shape(random, threads);
            let [sockets, cores, threads] = found.map(u32::from);
            if sockets * cores * threads <= MOST_CPUS {
                break Self::regular(found[0], found[1], found[2]);
            }
        };
        if cpus_are_cores {
            machine.cpus = machine.sockets * machine.cores;
        }
        machine.renumber(random);
        machine
    }

    fn with_domains(random: &mut Random) -> Self {
        let domains = random.pick(&[1, 1, 2]);
        let cores = domains * random.small(1, 4);
        let mut machine = Self::regular(random.small(1, 4), cores, random.pick(&[2, 2, 4]));
        machine.domains = domains;
        machine.renumber(random);
        machine
    }

    /// slurmd counts as many cores on each socket as there are on average.
    fn uneven(random: &mut Random) -> Self {
        let (sockets, threads) = (random.small(2, 3), random.small(1, 2));
        let mean = random.small(2, 16 / sockets / threads);
        let mut machine = Self::regular(sockets, mean, threads);
        machine.renumber(random);
        let mut sizes = vec![mean; usize::from(sockets)];
        let more = random.small(1, mean - 1);
        sizes[0] -= more;
        sizes[usize::from(sockets) - 1] += more;
        random.shuffle(&mut sizes);
        let mut cores = machine.map.chunks(threads.into()).map(<[u16]>::to_vec);
        let socket = |size: u16| cores.by_ref().take(size.into()).collect();
        machine.tree = sizes.into_iter().map(socket).collect();
        machine
    }

    /// Equal cores whose numbers have gaps; at least one lies past the end of slurmd's map.
    fn holes(random: &mut Random) -> Self {
        let (sockets, threads) = (random.within(1, 2), random.within(1, 2));
        let cores = random.within(2, 16 / sockets / threads);
        let count = sockets * cores * threads;
        let mut numbers: Vec<u16> = (0..2 * count as u16 - 1).collect();
        random.shuffle(&mut numbers);
        numbers.truncate(count as usize - 1);
        numbers.push(2 * count as u16 - 1);
        numbers.sort_unstable();
        let cores: Vec<Vec<u16>> = numbers
            .chunks(threads as usize)
            .map(<[u16]>::to_vec)
            .collect();
        let sockets = cores
            .chunks(cores.len() / sockets as usize)
            .map(<[Vec<u16>]>::to_vec);
        Self::counted(sockets.collect())
    }

    /// Numbers the hardware threads in blocks, over the sockets in turn, by their place in the core, or anyhow.
    fn renumber(&mut self, random: &mut Random) {
        let (sockets, cores, threads) = (self.sockets, self.cores, self.threads);
        let order = random.within(0, 3);
        for (at, number) in (0..).zip(&mut self.map) {
            let (core, thread) = (at / threads, at % threads);
            *number = match order {
                0 => (thread * cores + core % cores) * sockets + core / cores,
                1 => thread * sockets * cores + core,
                _ => at,
            };
        }
        if order == 2 {
            random.shuffle(&mut self.map);
        }
    }

    /// Two abstract CPUs on one number, as slurmd makes them on machines with holes.
    pub fn make_hole(&mut self, random: &mut Random) {
        let last = self.map.len() as u32 - 1;
        let (from, to) = (random.within(0, last), random.within(0, last));
        self.map[to as usize] = self.map[from as usize];
    }

    /// A slurm.conf that says more or less than the machine has: the map is the machine's.
    /// Only sizes that the configured sockets divide evenly: task/affinity's
    /// `_blot_mask_sockets` reads past the map otherwise.
    pub fn misconfigure(&mut self, random: &mut Random) {
        let (sockets, cores) = (random.small(1, 6), random.small(1, 12));
        let size = sockets * cores * self.threads;
        let blot = (size / self.sockets).max(1);
        if size.is_multiple_of(blot) {
            self.map = (0..size).collect();
            random.shuffle(&mut self.map);
        }
    }

    /// Cores that slurm.conf says this node has.
    #[must_use]
    pub fn core_count(&self) -> u32 {
        u32::from(self.sockets) * u32::from(self.cores)
    }

    /// Hardware threads that slurm.conf says this node has.
    #[must_use]
    pub fn pu_count(&self) -> u32 {
        self.core_count() * u32::from(self.threads)
    }

    /// Whether the map gives each configured CPU once.
    #[must_use]
    pub fn is_permutation(&self) -> bool {
        if self.map.len() as u32 != self.pu_count() {
            return false;
        }
        let mut sorted = self.map.clone();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..self.map.len() as u16)
    }

    /// Whether hwloc counts the sockets in the map's order: by their lowest number. slurmd's own
    /// maps are so; those made at random need not be.
    #[must_use]
    pub fn sockets_in_order(&self) -> bool {
        let size = usize::from((self.cores * self.threads).max(1));
        let lowest = self.map.chunks(size).map(|socket| socket.iter().min());
        lowest.is_sorted()
    }

    /// CPUs of each memory domain, by kernel number.
    #[must_use]
    pub fn memory(&self) -> Vec<Vec<u16>> {
        let per_domain = self.pu_count() / u32::from(self.sockets * self.domains);
        self.map
            .chunks(per_domain.max(1) as usize)
            .map(<[u16]>::to_vec)
            .collect()
    }

    /// The machine in hwloc's words.
    #[must_use]
    pub fn synthetic(&self) -> String {
        let numa = match self.domains {
            1 => "[numa]".into(),
            count => format!("group:{count} [numa]"),
        };
        let cores = self.cores / self.domains;
        let indexes: Vec<_> = self.map.iter().map(ToString::to_string).collect();
        format!(
            "pack:{} {numa} core:{cores} pu:{}(indexes={})",
            self.sockets,
            self.threads,
            indexes.join(",")
        )
    }
}

fn any_shape(random: &mut Random, threads: &[u16]) -> [u16; 3] {
    let threads = random.pick(threads);
    if random.once_in(40) {
        // More CPUs than a byte counts, and than 64 words of a mask's text hold.
        return [random.small(1, 8), random.small(16, 64), threads];
    }
    let most = if random.once_in(4) { 16 } else { 6 };
    [
        random.pick(&[1, 1, 2, 2, 2, 2, 3, 4, 4, 8]),
        random.small(1, most),
        threads,
    ]
}
