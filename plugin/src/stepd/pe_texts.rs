//! The files that a parallel environment reads: a pe_hostfile with Grid Engine's fourth column
//! (section 3.2.1 of its specification) and a rank file for Open MPI. Pure.
//! Everything that needs memory is made before the fork; the task then writes line by line and
//! allocates nothing. Other nodes' ledgers are unknown here, so the other nodes are assumed to be
//! empty and equal to this one.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use berth_placement::answer::cores::{ChosenCore, places};
use berth_placement::sets::limits::{PE_FILE, PE_RANKS};
use berth_placement::{Chosen, CpuSet};

use crate::stepd::task_env::Cores;

/// A core that the task does not see has no number.
const UNSEEN: u32 = u32::MAX;

/// The step's nodes, each with its number of tasks.
pub(crate) type Hosts = Vec<(String, u32)>;

/// Both files, ready to be written.
pub(crate) struct Texts {
    hosts: Hosts,
    queue: String,
    /// One for all tasks, or one per task.
    tasks: Vec<Task>,
    /// Each core's number in the rank file. The task renumbers its own copy of slurmstepd's memory.
    numbers: Vec<AtomicU32>,
}

/// The cores of one task.
struct Task {
    /// Its cores as Grid Engine names them: `0,0:0,1`.
    places: String,
    /// Its cores in hwloc's order, ascending.
    cores: Vec<u32>,
}

impl Texts {
    /// `cores` are the CPUs of each of the node's cores, in hwloc's order.
    pub(crate) fn new(hosts: Hosts, queue: String, chosen: &Chosen, cores: &[CpuSet]) -> Self {
        let core_of = Cores::of_sets(cores);
        let task = |list: &[ChosenCore]| {
            let cpus = list.iter().flat_map(|core| core.cpus.iter()).collect();
            Task {
                places: places(list),
                cores: core_of.under(&cpus).iter().map(|core| core.0).collect(),
            }
        };
        Self {
            hosts,
            queue,
            tasks: chosen.lists().map(task).collect(),
            numbers: (0..).take(cores.len()).map(AtomicU32::new).collect(),
        }
    }

    /// One line per host: name, slots, queue, and the cores of all its tasks.
    pub(crate) fn hostfile(&self, to: &mut impl Write) -> fmt::Result {
        let queue = &self.queue;
        for (host, tasks) in &self.hosts {
            write!(to, "{host} {tasks} {queue}@{host} ")?;
            let listed = match self.tasks.len() {
                1 => 1,
                _ => *tasks as usize,
            };
            for (at, task) in self.tasks.iter().take(listed).enumerate() {
                to.write_str(if at > 0 { ":" } else { "" })?;
                to.write_str(&task.places)?;
            }
            to.write_char('\n')?;
        }
        Ok(())
    }

    /// One line per rank, in the order of nodes, with its cores by Open MPI's number: `slot=0-1,5`.
    /// Only this form of a rank file means the same to its releases 4.1, 5.0 and 6.0.
    pub(crate) fn rankfile(&self, to: &mut impl Write) -> fmt::Result {
        if self.hosts.len() > 1 {
            to.write_str(
                "# Valid for whole, equal nodes: the cores are those of the node that wrote it.\n",
            )?;
        }
        let (mut first, mut looked_at) = (0, 0);
        for (host, tasks) in &self.hosts {
            let tasks = u64::from(*tasks);
            let lines = match self.tasks.len() {
                1 => tasks,
                listed => tasks.min(listed as u64),
            };
            looked_at += lines;
            if looked_at > PE_RANKS {
                return Err(fmt::Error);
            }
            for id in 0..lines {
                self.rank(to, (first + id, host), id as usize)?;
            }
            first += tasks;
        }
        Ok(())
    }

    fn rank(&self, to: &mut impl Write, rank: (u64, &str), id: usize) -> fmt::Result {
        let at = if self.tasks.len() == 1 { 0 } else { id };
        let cores = self.tasks.get(at).map_or(&[][..], |task| &task.cores);
        let number = |core: &u32| {
            self.numbers
                .get(*core as usize)?
                .load(Ordering::Relaxed)
                .into()
        };
        let seen = cores
            .iter()
            .filter_map(number)
            .filter(|number| *number != UNSEEN);
        let mut seen = seen.peekable();
        // On a node with more tasks than this one Open MPI chooses.
        if seen.peek().is_none() {
            return Ok(());
        }
        write!(to, "rank {}={} slot=", rank.0, rank.1)?;
        let mut comma = "";
        while let Some(start) = seen.next() {
            let mut end = start;
            while let Some(next) = seen.next_if(|next: &u32| *next == end + 1) {
                end = next;
            }
            match start == end {
                true => write!(to, "{comma}{start}")?,
                false => write!(to, "{comma}{start}-{end}")?,
            }
            comma = ",";
        }
        to.write_char('\n')
    }

    /// Open MPI counts only the cores that it sees, and the others get no number. `sees` answers
    /// that for a core's place in hwloc's order.
    pub(crate) fn renumber(&self, sees: impl Fn(usize) -> bool) {
        let mut next = 0;
        for (core, number) in self.numbers.iter().enumerate() {
            let seen = sees(core);
            number.store(if seen { next } else { UNSEEN }, Ordering::Relaxed);
            next += u32::from(seen);
        }
    }

    /// The reason why the files must not be written.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (mut hostfile, mut rankfile) = (Room::default(), Room::default());
        let fits = self
            .hostfile(&mut hostfile)
            .and_then(|()| self.rankfile(&mut rankfile));
        fits.map_err(|_| {
            format!(
                "the step has {} nodes, and a file for all their ranks would be longer than {} MiB \
                 or {PE_RANKS} ranks; use `srun` without pe:, or fewer tasks",
                self.hosts.len(),
                PE_FILE >> 20,
            )
        })
    }
}

/// Counts what would be written, up to the bound.
#[derive(Default)]
struct Room(usize);

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        if self.0 > PE_FILE {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use berth_placement::CpuId;
    use berth_placement::answer::cores::ChosenCore;
    use berth_placement::request::grid_engine::Place;

    use super::*;

    /// Each task's cores: `;` separates tasks, `:` separates cores, and each core is `SOCKET,CORE=CPUS`.
    pub(crate) fn chosen(text: &str) -> Chosen {
        let core = |text: &str| {
            let (place, cpus) = text.split_once('=').unwrap();
            let (socket, core) = place.split_once(',').unwrap();
            let [socket, core] = [socket, core].map(|number| number.parse().unwrap());
            ChosenCore {
                place: Place { socket, core },
                cpus: CpuSet::from_list(cpus).unwrap(),
            }
        };
        Chosen::new(text.split(';').map(|task| task.split(':').map(core)))
    }

    fn texts(hosts: &[(&str, u32)], chosen: &str) -> Texts {
        let hosts = hosts.iter().map(|(name, tasks)| (name.to_string(), *tasks));
        let cores: Vec<_> = (0..5).map(|cpu| CpuSet::from_iter([CpuId(cpu)])).collect();
        Texts::new(hosts.collect(), "all".into(), &self::chosen(chosen), &cores)
    }

    fn both(texts: &Texts) -> [String; 2] {
        let mut both = [const { String::new() }; 2];
        texts.hostfile(&mut both[0]).unwrap();
        texts.rankfile(&mut both[1]).unwrap();
        both
    }

    #[test]
    fn two_hosts() {
        let note =
            "# Valid for whole, equal nodes: the cores are those of the node that wrote it.\n";
        let hosts = [("n1", 2), ("n2", 1)];
        let each = "0,0=0:0,1=1;1,0=2:1,1=3";
        assert_eq!(
            both(&texts(&hosts, each)),
            [
                "n1 2 all@n1 0,0:0,1:1,0:1,1\nn2 1 all@n2 0,0:0,1\n",
                &format!("{note}rank 0=n1 slot=0-1\nrank 1=n1 slot=2-3\nrank 2=n2 slot=0-1\n"),
            ]
        );
        // A task that sees all but the first core.
        let one = texts(&hosts[..1], each);
        one.renumber(|core| core > 0);
        assert_eq!(both(&one)[1], "rank 0=n1 slot=0\nrank 1=n1 slot=1-2\n");
        one.renumber(|core| core == 4);
        assert_eq!(both(&one)[1], "", "Open MPI chooses");
        let shared = "0,0=0:0,2=2:0,3=3";
        assert_eq!(
            both(&texts(&hosts, shared)),
            [
                "n1 2 all@n1 0,0:0,2:0,3\nn2 1 all@n2 0,0:0,2:0,3\n",
                &format!(
                    "{note}rank 0=n1 slot=0,2-3\nrank 1=n1 slot=0,2-3\nrank 2=n2 slot=0,2-3\n"
                ),
            ]
        );
    }

    #[test]
    fn a_node_with_more_tasks_leaves_them_to_open_mpi() {
        let all = both(&texts(&[("n1", 2), ("n2", 4), ("n3", 1)], "0,0=0;0,1=1"));
        assert!(
            all[1].ends_with("rank 3=n2 slot=1\nrank 6=n3 slot=0\n"),
            "{all:?}"
        );
        assert_eq!(
            all[0],
            "n1 2 all@n1 0,0:0,1\nn2 4 all@n2 0,0:0,1\nn3 1 all@n3 0,0\n"
        );
    }

    #[test]
    fn what_is_too_long_is_not_begun() {
        assert_eq!(texts(&[("n1", 100_000)], "0,0=0").check(), Ok(()));
        let many: Vec<_> = (0..200_000).map(|_| ("n1", u32::MAX)).collect();
        for (hosts, chosen) in [
            (&[("n1", u32::MAX)][..], "0,0=0"),
            (&[("n1", 200_000)], "0,0=0"),
            // Ranks without a core on this node take time, though they get no line.
            (&[("n1", u32::MAX)], "0,9=9"),
            (&many, "0,0=0;0,9=9"),
            (&many, "0,0=0"),
        ] {
            let why = texts(hosts, chosen).check().unwrap_err();
            assert!(why.contains("4 MiB"), "{why}");
        }
    }
}
