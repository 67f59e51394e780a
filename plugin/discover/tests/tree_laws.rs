//! The laws of random machines, on machines as hwloc describes them.

mod files;
#[path = "../../placement/tests/engine/harness/mod.rs"]
mod harness;
#[path = "../../placement/tests/engine/laws/mod.rs"]
mod laws;

use std::path::PathBuf;
use std::sync::LazyLock;

use berth_placement::Machine;
use harness::trial::{Findings, Law, on_machine};

/// Requests for each law, machine and kind of socket.
const REQUESTS: u32 = 100;

static MACHINES: LazyLock<Vec<(PathBuf, Machine)>> = LazyLock::new(files::machines);

/// How this program tries a law.
fn try_law(law: &Law) {
    let mut findings = Findings::default();
    for (path, machine) in MACHINES.iter() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        on_machine(law, machine, &name, REQUESTS, &mut findings);
    }
    findings.judge(law);
}
