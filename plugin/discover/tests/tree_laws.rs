//! The laws of random machines, on machines as hwloc describes them.

mod files;
#[path = "../../placement/tests/tree/mod.rs"]
mod tree;

use tree::harness::{Findings, on_machine};
use tree::laws;

/// Requests for each law, machine and kind of socket.
const REQUESTS: u32 = 100;

#[test]
fn every_law_on_every_file() {
    let machines = files::machines();
    let mut broken = Vec::new();
    for law in &laws::ALL {
        let mut findings = Findings::default();
        for (path, machine) in &machines {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            on_machine(law, machine, &name, REQUESTS, &mut findings);
        }
        broken.extend(findings.told(law));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}
