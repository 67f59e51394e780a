//! What the generator says slurmd reports of an irregular machine is what slurmd reports of it.

use std::process::Command;

use berth_oracle::machine::{Class, Machine};
use berth_oracle::parent::show;
use berth_oracle::paths;
use berth_oracle::random::Random;

/// Machines of each class.
const MACHINES: u64 = 30;

#[test]
fn slurmd_counts_irregular_machines_as_the_generator_does() {
    let Some(slurmd) = paths::slurmd() else {
        return berth_tests::skip("no slurmd is installed here");
    };
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..MACHINES {
        for class in [Class::Irregular(seed), Class::Holes(seed)] {
            let machine = Machine::any(class, &mut Random::new(0));
            let (name, value) = show(&machine, folder.path()).expect("a file");
            let output = Command::new(&slurmd).arg("-C").env(name, value).output();
            let output = output.expect("slurmd runs");
            let told = String::from_utf8_lossy(&output.stdout);
            let expected = format!(
                "CPUs={} Boards=1 SocketsPerBoard={} CoresPerSocket={} ThreadsPerCore={} ",
                machine.map.len(),
                machine.sockets,
                machine.cores,
                machine.threads
            );
            assert!(
                told.contains(&expected),
                "{class}: {told} and not {expected}"
            );
        }
    }
}
