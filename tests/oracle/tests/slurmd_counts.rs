//! slurmd reports of an irregular machine as much as the generator says.

use std::process::Command;

use berth_oracle::machine::{Class, Machine};
use berth_oracle::paths;
use berth_oracle::random::Random;
use berth_oracle::run::show;

/// Of these every third has unlike sockets, and every third holes in its numbering.
const MACHINES: u64 = 60;

#[test]
fn slurmd_counts_irregular_machines_as_the_generator_does() {
    let Some(slurmd) = paths::slurmd() else {
        return berth_tests::skip("no slurmd is installed here");
    };
    let folder = tempfile::tempdir().expect("a folder");
    for class in (0..MACHINES).map(Class::Irregular) {
        let machine = Machine::any(class, &mut Random::new(0));
        let (name, value) = show(&machine, folder.path()).expect("a file");
        let output = Command::new(&slurmd).arg("-C").env(name, value).output();
        let output = output.expect("slurmd runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let expected = format!(
            "CPUs={} Boards=1 SocketsPerBoard={} CoresPerSocket={} ThreadsPerCore={} ",
            machine.map.len(),
            machine.sockets,
            machine.cores,
            machine.threads
        );
        assert!(
            said.contains(&expected),
            "{class:?}: {said} and not {expected}"
        );
    }
}
