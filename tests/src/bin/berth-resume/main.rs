//! `berth-resume [WORD…]`: jobs in cpusets that are suspended and resumed while others take their CPUs, on a machine of
//! two NUMA nodes with eight CPUs each, for the virtual machines of `ci/vm`. The kernel says where the tasks run and
//! where their memory lies; words choose scenes.

mod adopted;
mod ended;
mod filler;
mod gang;
mod offline;
mod running;
mod scenes;
mod site;
mod tasks;
mod traced;

use std::process::ExitCode;

use berth_tests::verdicts::Verdicts;

use scenes::{SCENES, Scene, UNCONFINED};
use site::{Kind, Role, Site};

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
    let mut counts = Verdicts::default();
    for (kind, scenes) in all() {
        let mut scenes = scenes
            .into_iter()
            .filter(|(name, _)| is_chosen(name))
            .peekable();
        let site = scenes.peek().map(|_| Site::up(kind));
        for (scene, site) in scenes.zip(site.iter().cycle()) {
            judge(&mut counts, scene, site);
        }
    }
    counts.end("scenes")
}

/// The scenes of each kind of cluster.
fn all() -> [(Kind, Vec<Scene>); 4] {
    let confined = [
        &SCENES[..],
        &offline::SCENES,
        &ended::SCENES,
        &running::SCENES,
        &traced::SCENES,
    ];
    let fenced = [&adopted::SCENES[..], &offline::FENCED];
    [
        (Kind::Confined, confined.concat()),
        (Kind::Unconfined, UNCONFINED.to_vec()),
        (Kind::Adopting, fenced.concat()),
        (Kind::Gang, gang::SCENES.to_vec()),
    ]
}

fn judge(counts: &mut Verdicts, (name, play): Scene, site: &Site) {
    let passed = counts.judge(name, || {
        play(site);
        site.was_skipped()
    });
    let log = site.log();
    // A scene that failed may have left its reason.
    let _ = site.was_skipped();
    site.clear();
    if !passed {
        println!("{log}");
    }
}
