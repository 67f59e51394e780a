//! `berth status --cpusets`: how much room a node has for cpusets, in the columns of LSF's brlainfo, and
//! with `-l` in its details.

use std::io::{self, Write};
use std::path::Path;

use berth_answer::json;
use berth_host::{StateDir, announcement, machine_file};
use berth_placement::strategy::cpuset::most_of_radius;
use berth_placement::{CpuSet, Machine, Node};
use berth_site::announcement::{Announcement, StaticCpuset};
use nix::sys::utsname::uname;
use serde::Serialize;

use super::free;
use crate::args::{StatusArgs, StatusFormat};
use crate::{Failure, say};

/// One node. JSON has all of it.
#[derive(Serialize)]
struct Room {
    node: String,
    cpuset_os: String,
    ncpus: usize,
    nfreecpus: usize,
    nnodes: usize,
    ncpu_per_node: usize,
    nstatic_cpusets: usize,
    free_cpus: String,
    free_per_node: Vec<FreeOfNode>,
    static_cpusets: Vec<StaticCpuset>,
    cpu_radius: Vec<u32>,
}

#[derive(Serialize)]
struct FreeOfNode {
    numa_node: u32,
    free: usize,
}

/// Writes the answer for these nodes.
///
/// # Errors
/// A node whose machine or whose jobs cannot be read.
pub(super) fn once(
    args: &StatusArgs,
    base: &Path,
    nodes: &[String],
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut rooms = Vec::new();
    for name in nodes {
        let dir = StateDir::new(base, name)?;
        let machine = machine_file::read(dir.machine_path())?.machine;
        let words = announcement::read(&dir)?;
        let free = free::of(&dir, name, &machine, &words)?;
        rooms.push(Room::of(name, &machine, &free, words));
    }
    match args.format {
        StatusFormat::Json => json::write(out, "berth-cpusets", "nodes", &rooms)?,
        StatusFormat::Table if args.long => {
            for (at, room) in rooms.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                room.details(out)?;
            }
        }
        StatusFormat::Table => table(&rooms, out)?,
    }
    Ok(())
}

/// brlainfo shows so many radii, from 0 on.
const RADII: u32 = 8;

/// The heads of the columns behind the node's name.
const HEADS: [&str; 6] = [
    "CPUSET_OS",
    "NCPUS",
    "NFREECPUS",
    "NNODES",
    "NCPU/NODE",
    "NSTATIC_CPUSETS",
];

fn table(rooms: &[Room], out: &mut impl Write) -> io::Result<()> {
    let heads = std::iter::once("HOSTNAME").chain(HEADS);
    let rows = rooms.iter().map(|room| {
        let name = std::iter::once(room.node.clone());
        name.chain(room.cells()).collect()
    });
    say::table(out, heads, rows)
}

impl Room {
    fn of(name: &str, machine: &Machine, free: &CpuSet, words: Announcement) -> Self {
        let nodes = machine.memory_domains();
        Self {
            node: name.into(),
            cpuset_os: os(),
            ncpus: machine.cpus().count(),
            nfreecpus: free.count(),
            nnodes: nodes.len(),
            ncpu_per_node: nodes
                .iter()
                .map(|(_, cpus)| cpus.count())
                .max()
                .unwrap_or(0),
            nstatic_cpusets: words.static_cpusets.len(),
            free_cpus: free.to_string(),
            free_per_node: nodes
                .iter()
                .map(|(node, cpus)| FreeOfNode {
                    numa_node: node.0,
                    free: cpus.intersection(free).count(),
                })
                .collect(),
            cpu_radius: radii(machine, free, &words),
            static_cpusets: words.static_cpusets,
        }
    }

    fn cells(&self) -> [String; 6] {
        [
            self.cpuset_os.clone(),
            self.ncpus.to_string(),
            self.nfreecpus.to_string(),
            self.nnodes.to_string(),
            self.ncpu_per_node.to_string(),
            self.nstatic_cpusets.to_string(),
        ]
    }

    fn details(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "HOST: {}", self.node)?;
        say::table(out, HEADS, [self.cells().to_vec()])?;
        let free = match self.free_cpus.as_str() {
            "" => "NO FREE CPUS",
            list => list,
        };
        writeln!(out, "FREE CPU LIST: {free}")?;
        let each = self.free_per_node.iter();
        let each = each.map(|node| format!("{}/{}", node.free, node.numa_node));
        writeln!(
            out,
            "NFREECPUS ON EACH NODE: {}",
            each.collect::<Vec<_>>().join(",")
        )?;
        let sets = self.static_cpusets.iter();
        let sets: Vec<_> = sets
            .map(|set| format!("{}({})", set.name, set.cpus))
            .collect();
        let sets = match sets.as_slice() {
            [] => "NO STATIC CPUSETS".into(),
            some => some.join(" "),
        };
        writeln!(out, "STATIC CPUSETS: {sets}")?;
        let radii: Vec<_> = self.cpu_radius.iter().map(ToString::to_string).collect();
        writeln!(out, "CPU_RADIUS: {}", radii.join(","))
    }
}

/// The most free CPUs that one cpuset of each radius could have. They are counted as `NCPUS` counts them:
/// hardware threads, or cores where slurmd counts cores.
fn radii(machine: &Machine, free: &CpuSet, words: &Announcement) -> Vec<u32> {
    let rules = words.site_rules().unwrap_or_default();
    let counted = rules.node(Some(machine.clone().into()));
    let as_found = || Node::of(machine.clone(), rules.socket(), rules.rules());
    let node = counted.unwrap_or_else(as_found);
    (0..RADII)
        .map(|radius| most_of_radius(&node, free, radius))
        .collect()
}

/// `Linux x64`, as brlainfo names it.
fn os() -> String {
    let Ok(found) = uname() else {
        return "unknown".into();
    };
    let machine = match found.machine().to_string_lossy() {
        name if name == "x86_64" => "x64".into(),
        name => name,
    };
    format!("{} {machine}", found.sysname().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use berth_placement::{
        Core, CpuId, NumaId, NumaNode, Numbering, Package, Parts, Rules, SocketKind,
    };
    use berth_site::SiteRules;

    use super::*;

    /// A package with two NUMA nodes of two CPUs each, as LSF's document has its hostC.
    fn machine() -> Machine {
        let core = |cpu| Core {
            pus: vec![CpuId(cpu)],
        };
        let numa = |id, cpus| NumaNode {
            id: NumaId(id),
            cpus: CpuSet::from_list(cpus).unwrap(),
        };
        let parts = Parts {
            packages: vec![Package {
                cores: (0..4).map(core).collect(),
            }],
            numa_nodes: vec![numa(0, "0-1"), numa(1, "2-3")],
            ..Parts::default()
        };
        Machine::new(parts).unwrap()
    }

    fn host_c(free: &str, sets: &[(&str, &str)]) -> Room {
        let machine = machine();
        let free = match free {
            "" => CpuSet::new(),
            list => CpuSet::from_list(list).unwrap(),
        };
        let set = |(name, cpus): &(&str, &str)| StaticCpuset {
            name: (*name).into(),
            cpus: (*cpus).into(),
            ..StaticCpuset::default()
        };
        let words = Announcement {
            static_cpusets: sets.iter().map(set).collect(),
            ..Announcement::default()
        };
        let mut room = Room::of("hostC", &machine, &free, words);
        room.cpuset_os = "Linux x64".into();
        room
    }

    fn details(room: &Room) -> String {
        let mut out = Vec::new();
        room.details(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_s_host() {
        let want = "\
HOST: hostC
CPUSET_OS  NCPUS  NFREECPUS  NNODES  NCPU/NODE  NSTATIC_CPUSETS
Linux x64  4      3          2       2          0
FREE CPU LIST: 0-2
NFREECPUS ON EACH NODE: 2/0,1/1
STATIC CPUSETS: NO STATIC CPUSETS
CPU_RADIUS: 2,3,3,3,3,3,3,3
";
        assert_eq!(details(&host_c("0-2", &[])), want);
        let mut out = Vec::new();
        table(&[host_c("0-2", &[])], &mut out).unwrap();
        let want = "\
HOSTNAME  CPUSET_OS  NCPUS  NFREECPUS  NNODES  NCPU/NODE  NSTATIC_CPUSETS
hostC     Linux x64  4      3          2       2          0
";
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }

    #[test]
    fn radii_without_distances_are_package_and_machine() {
        let machine = Machine::regular(2, 2, 1, Numbering::Block).unwrap();
        let free = CpuSet::from_list("0-2").unwrap();
        let found = radii(&machine, &free, &Announcement::default());
        assert_eq!(found, [2, 2, 3, 3, 3, 3, 3, 3]);
    }

    /// slurm.conf has CPUs=4 for four cores of two threads each.
    #[test]
    fn radii_count_cores_where_slurmd_does() {
        let machine = Machine::regular(2, 2, 2, Numbering::Block).unwrap();
        let mut node = Node::of(machine.clone(), SocketKind::Package, Rules::default());
        let free = CpuSet::from_list("0-5").unwrap();
        let mut found = |is_by_cores| {
            let mut shape = node.shape().clone();
            shape.cpus_are_cores = is_by_cores;
            node = Node::new(
                shape,
                Some(machine.clone().into()),
                SocketKind::Package,
                Rules::default(),
            );
            let mut words = Announcement {
                is_task_plugin: true,
                ..Announcement::default()
            };
            words.set_rules(&SiteRules::of(&node));
            radii(&machine, &free, &words)
        };
        assert_eq!(found(false)[..3], [4, 4, 6]);
        assert_eq!(found(true)[..3], [2, 2, 3]);
    }

    #[test]
    fn nothing_free_and_static_cpusets() {
        let text = details(&host_c("", &[("MYSET", "0-1"), ("BIG", "0,2-3")]));
        for line in [
            "FREE CPU LIST: NO FREE CPUS",
            "NFREECPUS ON EACH NODE: 0/0,0/1",
            "STATIC CPUSETS: MYSET(0-1) BIG(0,2-3)",
            "CPU_RADIUS: 0,0,0,0,0,0,0,0",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
        }
    }
}
