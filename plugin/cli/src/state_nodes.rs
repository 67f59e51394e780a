//! The slurmds of this host that keep state: one a node name.

use std::path::Path;

use berth_host::{announcement, machine_file};

use crate::Failure;

/// The node asked for, or all that have written something.
pub(crate) fn nodes_of(state_dir: &Path, asked: Option<&str>) -> Vec<String> {
    if let Some(node) = asked {
        return vec![node.into()];
    }
    let Ok(entries) = std::fs::read_dir(state_dir) else {
        return Vec::new();
    };
    let is_node = |path: &Path| {
        [machine_file::NAME, announcement::NAME]
            .iter()
            .any(|name| path.join(name).exists())
    };
    let mut nodes: Vec<_> = entries
        .flatten()
        .filter(|entry| is_node(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    nodes.sort();
    nodes
}

/// There are none.
pub(crate) fn no_nodes(state_dir: &Path) -> Failure {
    format!(
        "no node keeps its state in {}; check that slurmd runs with berth, and give \
         --state-dir if state_dir= is another directory",
        state_dir.display()
    )
    .into()
}
