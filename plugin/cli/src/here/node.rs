//! The node of this host that berth serves: slurmd's announcement and its machine, as every user may
//! read them. Files that somebody else than root could have written do not count.

use std::sync::Arc;

use berth_answer::world::BerthNode;
use berth_host::announcement;
use berth_host::{OnlineCpus, StateDir, machine_file};
use berth_placement::Machine;

use super::state::{self, nodes_of};

/// Looks for it.
pub(super) fn find() -> Option<BerthNode> {
    let base = state::base(None);
    let own = std::env::var("SLURMD_NODENAME").ok();
    let nodes = nodes_of(&base, None);
    let name = own.filter(|own| nodes.contains(own));
    let name = name.or_else(|| nodes.first().cloned())?;
    let dir = StateDir::new(&base, &name).ok()?;
    let words = announcement::read(&dir).ok()?;
    Some(BerthNode {
        others: nodes.into_iter().filter(|node| *node != name).collect(),
        rules: words.site_rules(),
        machine: machine(&dir),
        words,
        name,
    })
}

/// slurmd's machine: the whole node, also for a user whose cgroup shows a part of it. A variable of
/// hwloc's asks for another machine.
fn machine(dir: &StateDir) -> Option<Arc<Machine>> {
    let is_pretended = |name| std::env::var_os(name).is_some();
    if ["HWLOC_SYNTHETIC", "HWLOC_XMLFILE"]
        .into_iter()
        .any(is_pretended)
    {
        return None;
    }
    let file = machine_file::read(dir.machine_path()).ok()?;
    let online = OnlineCpus::open().ok();
    let same = |online: OnlineCpus| online.unchanged(&file.proof.online);
    let is_fresh = !file.this_system || online.is_none_or(same);
    is_fresh.then(|| Arc::new(file.machine))
}
