//! `berth-resume [WORD…]`: jobs in cpusets that are suspended and resumed while others take their CPUs, on a machine of
//! two NUMA nodes with eight CPUs each, for the virtual machines of `ci/vm`. The kernel says where the tasks run and
//! where their memory lies; words choose scenes.

mod adopted;
mod ended;
mod filler;
mod gang;
mod running;
mod scenes;
mod site;
mod tasks;
mod traced;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use scenes::{SCENES, Scene, UNCONFINED};
use site::{Kind, Role, Site};

/// How the scenes ended.
#[derive(Default)]
struct Counts {
    passed: u32,
    failed: u32,
    skipped: u32,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, mark, size] = words.as_slice() {
        let size = size.parse();
        match (role.as_str(), size) {
            (role, Ok(size)) if role == Role::Fill.word() => filler::fill(mark, size),
            (role, Ok(size)) if role == Role::Hear.word() => filler::fill_and_hear(mark, size),
            _ => {}
        }
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-resume: only inside a machine of ci/vm with sockets=2,cores=4,threads=2 and two NUMA nodes"
        );
        return ExitCode::from(2);
    }
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let mut counts = Counts::default();
    for (kind, scenes) in all() {
        let mut scenes = scenes
            .into_iter()
            .filter(|(name, _)| is_chosen(name))
            .peekable();
        let site = scenes.peek().map(|_| Site::up(kind));
        for (scene, site) in scenes.zip(site.iter().cycle()) {
            counts.play(scene, site);
        }
    }
    let Counts {
        passed,
        failed,
        skipped,
    } = counts;
    println!("{passed} scenes as expected, {failed} not, {skipped} skipped");
    match (passed, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The scenes of each kind of cluster.
fn all() -> [(Kind, Vec<Scene>); 4] {
    let confined = [
        &SCENES[..],
        &ended::SCENES,
        &running::SCENES,
        &traced::SCENES,
    ];
    let gang = [&gang::SCENES[..], &traced::GANG];
    [
        (Kind::Confined, confined.concat()),
        (Kind::Unconfined, UNCONFINED.to_vec()),
        (Kind::Adopting, adopted::SCENES.to_vec()),
        (Kind::Gang, gang.concat()),
    ]
}

impl Counts {
    fn play(&mut self, (name, play): Scene, site: &Site) {
        let done = catch_unwind(AssertUnwindSafe(|| play(site)));
        let skipped = site.was_skipped();
        let log = site.log();
        site.clear();
        match (done, skipped) {
            (Ok(()), None) => {
                self.passed += 1;
                println!("pass {name}");
            }
            (Ok(()), Some(why)) => {
                self.skipped += 1;
                println!("skip {name}: {why}");
            }
            (Err(_), _) => {
                self.failed += 1;
                println!("FAIL {name}\n{log}");
            }
        }
    }
}
