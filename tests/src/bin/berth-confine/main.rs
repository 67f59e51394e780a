//! `berth-confine [WORD…]`: the proof that a confined task cannot leave its CPUs, for the virtual
//! machines of `ci/vm`: each way in which a site can have cgroups, of both versions; words choose by
//! name. It is also the tasks' program.

use std::path::Path;
use std::process::ExitCode;

use berth_tests::confine::{self, SITES, task, v1};
use berth_tests::verdicts::Verdicts;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = task::role(&words) {
        return code;
    }
    // The machine changes its cgroups over, and slurmstepds are killed: no host for that.
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!(
            "berth-confine: only inside a machine of ci/vm: ci/vm run -- target/debug/berth-confine"
        );
        return ExitCode::from(2);
    }
    let me = std::env::current_exe().expect("this program's path");
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let mut counts = Verdicts::default();
    let mut play = |name: &str, what: &dyn Fn(&Path)| {
        if is_chosen(name) {
            counts.judge(name, || {
                what(&me);
                None
            });
        }
    };
    let (v1_sites, v2_sites): (Vec<_>, Vec<_>) = SITES.iter().partition(|site| site.is_v1);
    for site in v2_sites {
        play(site.name, &|me| confine::play(site, me));
    }
    play("settings", &confine::settings);
    match v1::enter() {
        Ok(()) => {
            for site in v1_sites {
                play(site.name, &|me| confine::play(site, me));
            }
            v1::leave().expect("version 2 again");
        }
        Err(why) => {
            counts.judge("cgroup v1", || Some(why.to_string()));
        }
    }
    counts.end("sites")
}
