//! `berth-cpusets [NAME…]`: LSF's page on cpusets as jobs, on a machine of two NUMA nodes with eight CPUs each, for the
//! virtual machines of `ci/vm`: the facts of `tests/scenes/cpusets`. Names choose files. It is also the tasks' program.

mod task;

use std::path::Path;
use std::process::ExitCode;

use berth_tests::confine::v1;
use berth_tests::facts::hold;
use berth_tests::verdicts::Verdicts;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/cpusets");

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = task::role(&names) {
        return code;
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-cpusets: only inside a machine of ci/vm with sockets=2,cores=4,threads=2 and two NUMA nodes"
        );
        return ExitCode::from(2);
    }
    let mut counts = Verdicts::default();
    let mut play = |name: &str, version: &str| {
        if names.is_empty() || names.iter().any(|chosen| chosen == name) {
            let file = Path::new(FOLDER).join(format!("{name}.txt"));
            counts.judge(&format!("{name}, cgroups {version}"), || hold(&file));
        }
    };
    for name in ["best", "first", "nodes"] {
        play(name, "v2");
    }
    match v1::enter() {
        Ok(()) => {
            play("best", "v1");
            play("first", "v1");
            v1::leave().expect("version 2 again");
        }
        Err(why) => println!("skip cgroups v1: {why}"),
    }
    counts.end("files")
}
