//! The files that a parallel environment reads: a pe_hostfile with Grid Engine's fourth column
//! (section 3.2.1 of its specification) and a rank file for Open MPI. Pure.
//! Other nodes' ledgers are unknown here: they are taken to be empty and like this one.

use std::fmt::Write;

use berth_placement::chosen::places;
use berth_placement::{Chosen, CpuId, CpuSet};

/// The step's nodes, each with its number of tasks.
pub(crate) type Hosts = Vec<(String, u32)>;

/// One line a host: name, slots, queue, and the cores of all its tasks.
pub(crate) fn hostfile(hosts: &[(String, u32)], chosen: &Chosen, queue: &str) -> String {
    let mut text = String::new();
    for (host, tasks) in hosts {
        let cores: Vec<_> = match chosen.0.as_slice() {
            [shared] => vec![places(shared)],
            each => each
                .iter()
                .take(*tasks as usize)
                .map(|task| places(task))
                .collect(),
        };
        let _ = writeln!(text, "{host} {tasks} {queue}@{host} {}", cores.join(":"));
    }
    text
}

/// One line a rank, in the order of nodes, with its cores by Open MPI's number: `slot=0-1,5`. Of
/// the forms of a rank file only this one means the same to its releases 4.1, 5.0 and 6.0. `cores` are
/// the CPUs of each core that there is for it, in hwloc's order.
pub(crate) fn rankfile(hosts: &[(String, u32)], chosen: &Chosen, cores: &[CpuSet]) -> String {
    let mut text = String::new();
    if hosts.len() > 1 {
        text.push_str(
            "# Holds for whole, equal nodes: the cores are those of the node that wrote it.\n",
        );
    }
    let mut rank = 0;
    for (host, tasks) in hosts {
        for task in 0..*tasks {
            let cpus = chosen.cpus_of_task(task as usize);
            let own = (0..).zip(cores).filter(|(_, core)| core.intersects(&cpus));
            let own: CpuSet = own.map(|(at, _)| CpuId(at)).collect();
            // A node with more tasks than this one has: Open MPI chooses there.
            if !own.is_empty() {
                let _ = writeln!(text, "rank {rank}={host} slot={own}");
            }
            rank += 1;
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so")]
mod tests {
    use super::*;

    #[test]
    fn two_hosts() {
        let hosts = [("n1".to_string(), 2), ("n2".to_string(), 1)];
        let each: Chosen = "0,0=0:0,1=1;1,0=2:1,1=3".parse().unwrap();
        assert_eq!(
            hostfile(&hosts, &each, "all"),
            "n1 2 all@n1 0,0:0,1:1,0:1,1\nn2 1 all@n2 0,0:0,1\n"
        );
        let cores: Vec<_> = (0..5).map(|cpu| CpuSet::from_iter([CpuId(cpu)])).collect();
        assert_eq!(
            rankfile(&hosts, &each, &cores),
            "# Holds for whole, equal nodes: the cores are those of the node that wrote it.\n\
             rank 0=n1 slot=0-1\nrank 1=n1 slot=2-3\nrank 2=n2 slot=0-1\n"
        );
        assert_eq!(
            rankfile(&hosts[..1], &each, cores.get(1..).unwrap()),
            "rank 0=n1 slot=0\nrank 1=n1 slot=1-2\n"
        );
        let shared: Chosen = "0,0=0:0,1=1".parse().unwrap();
        assert_eq!(
            hostfile(&hosts, &shared, "all"),
            "n1 2 all@n1 0,0:0,1\nn2 1 all@n2 0,0:0,1\n"
        );
    }
}
