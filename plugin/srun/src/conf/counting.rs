//! How slurmd counts a node's cores and sockets: `SlurmdParameters`, and from 25.11 on a node's `Parameters` as well.
//! In: words of a configuration. Out: what of them every node has. Source: `parse_slurmd_params`,
//! `xcpuinfo_hwloc_topo_get`.

use std::ops::Range;

use berth_placement::SocketKind;

use super::Config;

/// The words of some nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counting {
    allow_ecores: bool,
    l3_as_socket: bool,
    numa_as_socket: bool,
}

impl Counting {
    /// Slurm looks for each word anywhere in the text.
    pub(super) fn of(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        Self {
            allow_ecores: text.contains("allow_ecores"),
            l3_as_socket: text.contains("l3cache_as_socket"),
            numa_as_socket: text.contains("numa_node_as_socket"),
        }
    }

    fn both(self, other: Self) -> Self {
        Self {
            allow_ecores: self.allow_ecores && other.allow_ecores,
            l3_as_socket: self.l3_as_socket && other.l3_as_socket,
            numa_as_socket: self.numa_as_socket && other.numa_as_socket,
        }
    }
}

/// `Parameters` of nodes, by ranges of positions.
pub(super) type OfNodes = Vec<(Range<usize>, Counting)>;

impl Config {
    /// Whether slurmd counts efficiency cores: `allow_ecores`.
    #[must_use]
    pub fn allows_ecores(&self) -> bool {
        self.counts(|words| words.allow_ecores)
    }

    /// What slurmd calls a socket: with both words it is the L3 cache.
    #[must_use]
    pub fn socket_kind(&self) -> SocketKind {
        if self.counts(|words| words.l3_as_socket) {
            SocketKind::L3
        } else if self.counts(|words| words.numa_as_socket) {
            SocketKind::Numa
        } else {
            SocketKind::Package
        }
    }

    /// A word of the cluster, or of each of its nodes: one machine stands for all of them.
    fn counts(&self, has: impl Fn(Counting) -> bool) -> bool {
        let of_cluster = Counting::of(self.slurmd_parameters.as_deref().unwrap_or_default());
        let of_nodes: usize = self.parameters.iter().map(|(nodes, _)| nodes.len()).sum();
        let is_everywhere = of_nodes > 0 && of_nodes == self.nodes.len();
        let every = self.parameters.iter().map(|(_, words)| *words);
        let every = every.reduce(Counting::both).filter(|_| is_everywhere);
        has(of_cluster) || every.is_some_and(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (bool, SocketKind) {
        let text = format!("{text}\nPartitionName=main Nodes=ALL Default=YES\n");
        let none = &mut |_: &str| Ok(String::new());
        let config = Config::read("slurm.conf", &text, none).unwrap();
        (config.allows_ecores(), config.socket_kind())
    }

    #[test]
    fn words_of_the_cluster() {
        let socket = |words: &str| of(&format!("SlurmdParameters={words}\nNodeName=a")).1;
        assert_eq!(socket("config_overrides"), SocketKind::Package);
        assert_eq!(socket("L3Cache_as_socket"), SocketKind::L3);
        assert_eq!(socket("numa_node_as_socket"), SocketKind::Numa);
        assert_eq!(
            socket("numa_node_as_socket,l3cache_as_socket"),
            SocketKind::L3
        );
    }

    #[test]
    fn words_of_nodes_add_to_them_where_all_have_them() {
        let both = "NodeName=a Parameters=l3cache_as_socket,allow_ecores\n";
        assert_eq!(of(both), (true, SocketKind::L3));
        assert_eq!(
            of(&format!("{both}NodeName=b")),
            (false, SocketKind::Package)
        );
        let other = "NodeName=b Parameters=allow_ecores";
        assert_eq!(of(&format!("{both}{other}")), (true, SocketKind::Package));
        let default = "NodeName=DEFAULT Parameters=numa_node_as_socket\nNodeName=a\nNodeName=b";
        assert_eq!(of(default), (false, SocketKind::Numa));
        let cluster = format!("SlurmdParameters=allow_ecores\n{default}");
        assert_eq!(of(&cluster), (true, SocketKind::Numa));
    }
}
