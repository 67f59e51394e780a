//! `berth-confine [WORD…]`: the proof that a confined task cannot leave its CPUs, for the virtual
//! machines of `ci/vm`: each way in which a site can have cgroups, of both versions; words choose by
//! name. It is also the tasks' program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use berth_tests::confine::{self, SITES, Site, task, v1};

/// What is played, and how it ended.
struct Report {
    me: PathBuf,
    words: Vec<String>,
    passed: u32,
    failed: u32,
    skipped: u32,
}

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
    let mut report = Report {
        me: std::env::current_exe().expect("this program's path"),
        words,
        passed: 0,
        failed: 0,
        skipped: 0,
    };
    report.sites(false);
    report.play("settings", confine::settings);
    match v1::enter() {
        Ok(()) => {
            report.sites(true);
            v1::leave().expect("version 2 again");
        }
        Err(why) => {
            report.skipped += 1;
            println!("skip cgroup v1: {why}");
        }
    }
    let Report {
        passed,
        failed,
        skipped,
        ..
    } = report;
    println!("{passed} sites passed, {failed} failed, {skipped} skipped");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

impl Report {
    fn sites(&mut self, is_v1: bool) {
        for site in SITES.iter().filter(|site: &&Site| site.is_v1 == is_v1) {
            self.play(site.name, |me| confine::play(site, me));
        }
    }

    fn play(&mut self, name: &str, what: impl Fn(&std::path::Path)) {
        if !self.words.is_empty() && !self.words.iter().any(|word| name.contains(word.as_str())) {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| what(&self.me)));
        let (count, verdict) = match outcome {
            Ok(()) => (&mut self.passed, "pass"),
            Err(_) => (&mut self.failed, "FAIL"),
        };
        *count += 1;
        println!("{verdict} {name}");
    }
}
