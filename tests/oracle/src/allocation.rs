//! The credential of a job on several nodes: its nodes, their shapes as a run-length code, and
//! the step's cores.

use crate::machine::Machine;
use crate::random::Random;

/// Nodes of one shape that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// `sockets_per_node`
    pub sockets: u16,
    /// `cores_per_socket`
    pub cores: u16,
    /// `sock_core_rep_count`
    pub nodes: u32,
}

impl Group {
    fn core_count(self) -> u32 {
        u32::from(self.sockets) * u32::from(self.cores)
    }
}

/// The credential, as far as both hooks read it.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The arrays.
    pub groups: Vec<Group>,
    /// `job_hostlist`
    pub hosts: String,
    /// `job_nhosts`
    pub host_count: u32,
    /// This node's place among them; its name is `n` and this number.
    pub index: u32,
    /// `step_core_bitmap`
    pub step_cores: Vec<bool>,
    /// Where this node's bits begin.
    pub first: usize,
    /// How many they are.
    pub count: usize,
}

impl Credential {
    /// This node's cores that the step owns.
    #[must_use]
    pub fn cores(&self) -> Vec<u32> {
        let own = &self.step_cores[self.first..self.first + self.count];
        (0..self.count as u32)
            .filter(|core| own[*core as usize])
            .collect()
    }

    /// A step that owns this node, alone in its job.
    #[must_use]
    pub fn whole(machine: &Machine) -> Self {
        let count = machine.core_count() as usize;
        Self {
            groups: vec![Group {
                sockets: machine.sockets,
                cores: machine.cores,
                nodes: 1,
            }],
            hosts: "n0".into(),
            host_count: 1,
            index: 0,
            step_cores: vec![true; count],
            first: 0,
            count,
        }
    }

    /// A credential in which a machine is one node of several.
    pub fn any(machine: &Machine, random: &mut Random) -> Self {
        let here = believed(machine, random);
        let (groups, index) = neighbours(here, random);
        let host_count = groups.iter().map(|group| group.nodes).sum();
        let mut cred = Self {
            hosts: node_lists(host_count, random),
            host_count,
            index,
            step_cores: Vec::new(),
            first: 0,
            count: here.core_count() as usize,
            groups,
        };
        let mut node = 0;
        for group in cred.groups.clone() {
            for _ in 0..group.nodes {
                if node == index {
                    cred.first = cred.step_cores.len();
                    cred.step_cores.extend(own_cores(here, random));
                } else {
                    let bits = (0..group.core_count()).map(|_| random.once_in(2));
                    cred.step_cores.extend(bits);
                }
                node += 1;
            }
        }
        cred
    }
}

/// This node as slurmctld has it; at times not as slurmd does.
fn believed(machine: &Machine, random: &mut Random) -> Group {
    let mut here = Group {
        sockets: machine.sockets,
        cores: machine.cores,
        nodes: 1,
    };
    if random.once_in(25) {
        here.sockets = random.small(1, 4);
        here.cores = random.small(1, 10);
    }
    here
}

fn neighbours(here: Group, random: &mut Random) -> (Vec<Group>, u32) {
    if random.once_in(2) {
        return (vec![here], 0);
    }
    let mut groups: Vec<Group> = (0..random.within(0, 3))
        .map(|_| Group {
            sockets: random.small(1, 4),
            cores: random.small(1, 8),
            nodes: random.within(1, 3),
        })
        .collect();
    // This node stands anywhere within its own group.
    let own = random.within(1, 3);
    let at = random.within(0, groups.len() as u32) as usize;
    let before: u32 = groups[..at].iter().map(|group| group.nodes).sum();
    groups.insert(at, Group { nodes: own, ..here });
    (groups, before + random.within(0, own - 1))
}

fn node_lists(count: u32, random: &mut Random) -> String {
    if count > 1 && random.once_in(2) {
        return format!("n[0-{}]", count - 1);
    }
    let names: Vec<_> = (0..count).map(|node| format!("n{node}")).collect();
    names.join(",")
}

fn own_cores(here: Group, random: &mut Random) -> Vec<bool> {
    let count = here.core_count();
    let mut own: Vec<bool> = match random.within(0, 5) {
        0..=1 => vec![true; count as usize],
        2..=3 => {
            let often = random.pick(&[2, 2, 2, 3, 4, 5]);
            (0..count).map(|_| random.once_in(often)).collect()
        }
        4 => {
            // Whole sockets.
            let sockets: Vec<bool> = (0..here.sockets).map(|_| random.once_in(2)).collect();
            sockets
                .iter()
                .flat_map(|own| vec![*own; usize::from(here.cores)])
                .collect()
        }
        _ => {
            let first = random.within(0, count - 1);
            let last = random.within(first, count - 1);
            (0..count)
                .map(|core| (first..=last).contains(&core))
                .collect()
        }
    };
    if !own.contains(&true) {
        own[random.within(0, count - 1) as usize] = true;
    }
    own
}
