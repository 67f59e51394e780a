//! `berth-resume [WORD…]`: jobs in cpusets that are suspended and resumed while others take their CPUs, on a machine of
//! two NUMA nodes with eight CPUs each, for the virtual machines of `ci/vm`. The kernel says where the tasks run and
//! where their memory lies; words choose scenes.

mod adopted;
mod filler;
mod gang;
mod running;
mod scenes;
mod site;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use scenes::{SCENES, Scene, UNCONFINED};
use site::{Kind, Site};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, mark, size] = words.as_slice()
        && role == "fill"
    {
        filler::fill(mark, size.parse().expect("a size in MiB"));
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-resume: only inside a machine of ci/vm with sockets=2,cores=4,threads=2 and two NUMA nodes"
        );
        return ExitCode::from(2);
    }
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let (mut passed, mut failed) = (0, 0);
    let confined: Vec<Scene> = SCENES.into_iter().chain(running::SCENES).collect();
    let all = [
        (Kind::Confined, &confined[..]),
        (Kind::Unconfined, &UNCONFINED),
        (Kind::Adopting, &adopted::SCENES),
        (Kind::Gang, &gang::SCENES),
    ];
    for (kind, scenes) in all {
        let mut scenes = scenes.iter().filter(|(name, _)| is_chosen(name)).peekable();
        let site = scenes.peek().map(|_| Site::up(kind));
        for ((name, play), site) in scenes.zip(site.iter().cycle()) {
            let done = catch_unwind(AssertUnwindSafe(|| play(site)));
            site.clear();
            if done.is_ok() {
                passed += 1;
                println!("pass {name}");
            } else {
                failed += 1;
                println!("FAIL {name}\n{}", site.log());
            }
        }
    }
    println!("{passed} scenes as expected, {failed} not");
    match (passed, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
