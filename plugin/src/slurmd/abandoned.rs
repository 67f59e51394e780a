//! slurmd looks after steps whose slurmstepd was killed while it had frozen their tasks.

use berth_host::cgroup::{self, Mounts, scopes};
use berth_placement::sets::count::counted;

/// Thaws them: nobody else would.
pub(crate) fn thaw(node_name: &str) {
    let Ok(mounts) = Mounts::read() else {
        return;
    };
    for scope in scopes::usual_scopes(&mounts, node_name) {
        match cgroup::thaw_abandoned(&scope) {
            Ok(0) => {}
            Ok(count) => log::info!(
                "{scope}: {} of killed slurmstepds thawed",
                counted(count, "task")
            ),
            Err(why) => log::debug!("{why}"),
        }
    }
}
