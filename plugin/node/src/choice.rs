//! Which CPUs a cpuset gets: after a resume, or when some of its own are offline. In: the cpuset, the node as it is now.
//! Out: [`Resumed`].

use berth_host::OnlineCpus;
use berth_host::ledger::{Entry, Session};
use berth_placement::request::cpuset::Dynamic;
use berth_placement::strategy::cpuset::{Resume, Resumed};
use berth_placement::{CpuSet, CpusetRequest, Node};

use crate::node_state::NodeState;

/// The request of a cpuset's entry.
pub(crate) fn request(entry: &Entry) -> Dynamic {
    match entry.request.parse() {
        Ok(CpusetRequest::Dynamic(requested)) => requested,
        _ => Dynamic::default(),
    }
}

/// The CPUs that are online now; all of a made-up machine's.
pub(crate) fn online() -> Option<CpuSet> {
    let text = OnlineCpus::open().and_then(|online| online.read()).ok()?;
    CpuSet::from_list(&text).ok()
}

/// Chooses the CPUs to which an entry's cpuset moves. The ledger is locked.
pub(crate) fn choose(
    session: &Session<'_>,
    here: NodeState<'_>,
    (entry, wanted): (&Entry, &CpuSet),
) -> Resumed {
    let mut taken = session.held_by_others(entry.step.job);
    taken.insert_all(&here.cgroups.of_other_jobs(entry));
    let online = here.online;
    of(
        here.node,
        entry,
        wanted,
        (online, &online.difference(&taken)),
    )
}

fn of(node: &Node, entry: &Entry, wanted: &CpuSet, (online, free): (&CpuSet, &CpuSet)) -> Resumed {
    let resume = Resume {
        requested: &request(entry),
        original: wanted,
        own: &entry.job_cpus,
        free,
    };
    let found = resume.choose(node);
    // Of its own only those are missing that are offline, and nothing takes their place.
    let rest = wanted.intersection(online);
    let is_whole = !rest.is_empty() && rest.is_subset(free);
    match found {
        Resumed::Shared | Resumed::NoRoom if is_whole => Resumed::Same,
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use berth_placement::{
        Core, CpuId, Machine, NumaId, NumaNode, Package, Parts, Rules, SocketKind,
    };

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// Two NUMA nodes of two cores: 0-1 and 2-3.
    fn node() -> Node {
        let core = |cpu| Core {
            pus: vec![CpuId(cpu)],
        };
        let package = |first| Package {
            cores: vec![core(first), core(first + 1)],
        };
        let numa = |(id, cpus)| NumaNode {
            id: NumaId(id),
            cpus: set(cpus),
        };
        let machine = Machine::new(Parts {
            packages: vec![package(0), package(2)],
            numa_nodes: [(0, "0-1"), (1, "2-3")].map(numa).to_vec(),
            allowed: (0..4).map(CpuId).collect(),
            numa_distances: vec![vec![10, 20], vec![20, 10]],
            ..Parts::default()
        });
        Node::of(machine.unwrap(), SocketKind::Package, Rules::default())
    }

    /// The CPUs of a cpuset that had CPUs 0-1 of a node with two NUMA nodes of two CPUs.
    fn chosen(request: &str, own: &str, (online, others): (&str, &str)) -> String {
        let entry = Entry {
            request: request.into(),
            job_cpus: set(own),
            ..Entry::default()
        };
        let online = set(online);
        let free = online.difference(&set(others));
        match of(&node(), &entry, &set("0-1"), (&online, &free)) {
            Resumed::Same => "same".into(),
            Resumed::Changed(cpus) => cpus.to_string(),
            Resumed::Shared => "shared".into(),
            Resumed::NoRoom => "waits".into(),
        }
    }

    #[test]
    fn cpus_that_are_offline_or_used_have_substitutes() {
        let orig = "CPUSET[RESUME_OPTION=ORIG_CPUS]";
        for (request, own, online, others, expected) in [
            ("CPUSET[]", "0-3", "0-3", "", "same"),
            ("CPUSET[]", "0-3", "0,2-3", "", "2-3"),
            // One of the two NUMA nodes is another job's.
            ("CPUSET[]", "0-3", "0,2-3", "3", "0,2"),
            ("CPUSET[]", "0-3", "0-3", "0", "2-3"),
            (orig, "0-3", "0-3", "0", "waits"),
            // Nothing takes the place of those that are offline: the rest is kept.
            ("CPUSET[]", "0-1", "0,2-3", "", "same"),
            (orig, "0-3", "0,2-3", "", "same"),
            ("CPUSET[]", "0-1", "2-3", "", "shared"),
            ("CPUSET[]", "0-1", "0-3", "1", "shared"),
        ] {
            let found = chosen(request, own, (online, others));
            assert_eq!(found, expected, "{request} {own} {online} {others}");
        }
    }
}
