//! `berth doctor`: checks the node and lists what is wrong, for health checks and for the first
//! question in any ticket. It compares slurmd's announcement with the present state.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use berth_discover::{Source, discover};
use berth_host::announcement::{self, Announcement};
use berth_host::counters::{self, Counters};
use berth_host::key::Key;
use berth_host::trusted_file::ReadError;
use berth_host::{OnlineCpus, StateDir, ledger, machine_file};
use berth_placement::Machine;
use nix::unistd::Uid;
use serde::Serialize;

use crate::Failure;
use crate::args::{DoctorArgs, StatusFormat};
use crate::columns::write_rows;
use crate::json;
use crate::say;
use crate::slurmd::{self, Found};
use crate::state_nodes::nodes_of;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Note,
    Wrong,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
struct Check {
    node: String,
    what: &'static str,
    verdict: Verdict,
    text: String,
}

/// The checks of one node.
struct Checks {
    node: String,
    all: Vec<Check>,
}

impl Checks {
    fn add(&mut self, verdict: Verdict, what: &'static str, text: impl Into<String>) {
        self.all.push(Check {
            node: self.node.clone(),
            what,
            verdict,
            text: text.into(),
        });
    }

    fn ok(&mut self, what: &'static str, text: impl Into<String>) {
        self.add(Verdict::Ok, what, text);
    }

    fn note(&mut self, what: &'static str, text: impl Into<String>) {
        self.add(Verdict::Note, what, text);
    }

    fn wrong(&mut self, what: &'static str, text: impl Into<String>) {
        self.add(Verdict::Wrong, what, text);
    }
}

/// Runs the subcommand.
///
/// # Errors
/// An output that cannot be written.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let mut all = Vec::new();
    let mut host = Checks {
        node: String::new(),
        all: Vec::new(),
    };
    let machine = machine(&mut host);
    let base = crate::here::state::base(args.state_dir.as_deref());
    let nodes = nodes_of(&base, args.node.as_deref());
    if nodes.is_empty() {
        host.wrong(
            "slurmd",
            format!(
                "no slurmd with berth has started here: nothing is in {}; check that TaskPlugin \
                 in slurm.conf lists task/berth, that plugstack.conf has a line for \
                 task_berth.so, and that its state_dir= is this directory (--state-dir)",
                base.display()
            ),
        );
    }
    all.append(&mut host.all);
    for node in nodes {
        all.extend(checks_of(&base, node, machine.as_ref()));
    }
    let wrong = all.iter().any(|check| check.verdict == Verdict::Wrong);
    if args.quiet {
        all.retain(|check| check.verdict != Verdict::Ok);
    }
    let mut out = say::output();
    match args.format {
        StatusFormat::Json => {
            json::write(&mut out, "berth-doctor", "checks", &all)?;
        }
        StatusFormat::Table => write_rows(&mut out, &rows(&all))?,
    }
    out.flush()?;
    Ok(if wrong {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn rows(all: &[Check]) -> Vec<Vec<String>> {
    let word = |verdict| match verdict {
        Verdict::Ok => "ok",
        Verdict::Note => "note",
        Verdict::Wrong => "WRONG",
    };
    let row = |check: &Check| {
        let cells = [word(check.verdict), &check.node, check.what, &check.text];
        cells.map(String::from).to_vec()
    };
    all.iter().map(row).collect()
}

fn machine(checks: &mut Checks) -> Option<Machine> {
    match Source::parse("live").and_then(|live| discover(&live)) {
        Ok(found) => {
            let topology = found
                .machine
                .topology_string(berth_placement::SocketKind::Package);
            checks.ok("machine", format!("{}: {topology}", found.source));
            found.this_system.then_some(found.machine)
        }
        Err(why) => {
            checks.wrong("machine", why.to_string());
            None
        }
    }
}

fn checks_of(base: &Path, node: String, machine: Option<&Machine>) -> Vec<Check> {
    let mut checks = Checks {
        node: node.clone(),
        all: Vec::new(),
    };
    let dir = match StateDir::new(base, &node) {
        Ok(dir) => dir,
        Err(why) => {
            checks.wrong("state", why.to_string());
            return checks.all;
        }
    };
    state(&mut checks, &dir);
    let words = announcement::read(&dir);
    match &words {
        Ok(words) => {
            running(&mut checks, words);
            said(&mut checks, words);
            if words.is_task_plugin {
                key_known(&mut checks, &dir);
            }
        }
        Err(why) => checks.wrong(
            "slurmd",
            format!(
                "slurmd's announcement could not be read: {why}; restart slurmd with this release \
                 of berth"
            ),
        ),
    }
    machine_known(&mut checks, &dir, machine);
    bound_steps(&mut checks, &dir);
    counted(&mut checks, &dir, words.ok().as_ref());
    checks.all
}

fn state(checks: &mut Checks, dir: &StateDir) {
    if !Uid::effective().is_root() {
        checks.note(
            "state",
            "only root can check that its directory is writable",
        );
    } else {
        match dir.check() {
            Ok(()) => checks.ok("state", format!("{} belongs to root", dir.path().display())),
            Err(why) => checks.wrong("state", why.to_string()),
        }
    }
    if dir.is_off() {
        checks.note(
            "switch",
            format!(
                "the file {}/off switches berth off; remove it to switch berth on again",
                dir.path().parent().unwrap_or(dir.path()).display()
            ),
        );
    }
}

/// Whether the slurmd that announced itself still runs.
fn running(checks: &mut Checks, words: &Announcement) {
    let release = format!("berth {}, Slurm {}", words.berth, words.slurm);
    let own = env!("CARGO_PKG_VERSION");
    match slurmd::find(words) {
        Found::Running(pid) if words.berth == own => {
            checks.ok("slurmd", format!("process {pid} with {release}"));
        }
        Found::Running(pid) => checks.note(
            "slurmd",
            format!(
                "process {pid} with {release}; this command is {own}: restart slurmd to run the \
                 same release"
            ),
        ),
        Found::WithoutBerth(pid) => checks.wrong(
            "slurmd",
            format!(
                "process {pid} runs without berth; the slurmd before it had {release}; check \
                 TaskPlugin in slurm.conf, and plugstack.conf"
            ),
        ),
        Found::Unannounced(pid) => checks.wrong(
            "slurmd",
            format!(
                "process {pid} was started later than the slurmd that announced itself with \
                 {release}, and could not announce itself: the reason is in slurmd's log"
            ),
        ),
        // Others may not see root's processes (hidepid).
        Found::Nothing if Uid::effective().is_root() => checks.wrong(
            "slurmd",
            format!(
                "not running; last seen as process {} with {release}",
                words.pid
            ),
        ),
        Found::Nothing => checks.note(
            "slurmd",
            format!(
                "not visible to this user; last seen as process {} with {release}",
                words.pid
            ),
        ),
    }
}

/// Checks slurmd's announcement.
fn said(checks: &mut Checks, words: &Announcement) {
    if words.is_task_plugin {
        checks.ok(
            "task plugin",
            format!(
                "layout {}, {} {}, {}",
                words.layout, words.shape, words.topology, words.settings
            ),
        );
    } else if words.serves_binding_only && words.is_spank_plugin {
        checks.note("task plugin", words.aside.clone());
    } else {
        checks.wrong("task plugin", words.aside.clone());
    }
    match words.is_spank_plugin {
        true => checks.ok("SPANK plugin", "plugstack.conf names it"),
        false => checks.note(
            "SPANK plugin",
            "plugstack.conf does not name task_berth.so: there are no settings and no --binding",
        ),
    }
    words
        .complaints
        .iter()
        .for_each(|why| checks.wrong("complaint", why.clone()));
    words
        .warnings
        .iter()
        .for_each(|why| checks.note("warning", why.clone()));
}

/// Compares the machine file with the machine.
fn machine_known(checks: &mut Checks, dir: &StateDir, machine: Option<&Machine>) {
    let file = match machine_file::read(dir.machine_path()) {
        Ok(file) => file,
        Err(why) => return checks.wrong("machine file", why.to_string()),
    };
    let online = OnlineCpus::open().ok();
    let fresh =
        !file.this_system || online.is_none_or(|online| online.unchanged(&file.proof.online));
    match machine.filter(|_| file.this_system) {
        _ if !fresh => checks.note(
            "machine file",
            "CPUs went online or offline after it was written; slurmd writes it again after the \
             next launch",
        ),
        Some(now) if now.parts().packages != file.machine.parts().packages => checks.wrong(
            "machine file",
            "it shows other cores than hwloc finds now; restart slurmd",
        ),
        _ => checks.ok("machine file", file.source),
    }
    let notes = file.notes.into_iter();
    notes.for_each(|note| checks.note("machine file", note));
}

/// Checks slurmd's key. Without it slurmstepd does not trust slurmd's plans, and no step is placed.
fn key_known(checks: &mut Checks, dir: &StateDir) {
    if !Uid::effective().is_root() {
        return;
    }
    match Key::read(dir) {
        Ok(_) => checks.ok("key", "slurmd's key is there, for root alone"),
        Err(why) => checks.wrong(
            "key",
            format!(
                "slurmd's key cannot be read: {why}; tasks keep their step's CPUs, without \
                 placement"
            ),
        ),
    }
}

fn bound_steps(checks: &mut Checks, dir: &StateDir) {
    if !Uid::effective().is_root() {
        return;
    }
    match ledger::look(dir) {
        Ok(entries) => checks.ok(
            "ledger",
            format!("{} steps bound by --binding", entries.len()),
        ),
        Err(why) => checks.wrong("ledger", why.to_string()),
    }
}

fn counted(checks: &mut Checks, dir: &StateDir, words: Option<&Announcement>) {
    let path = dir.path().join(counters::NAME);
    let text = match counters::read(dir) {
        Ok(text) => text,
        Err(ReadError::Absent(_)) => {
            let off = words.is_some_and(|words| words.settings.contains("counters=off"));
            let why = if off {
                "counters=off"
            } else {
                "no step has ended yet"
            };
            return checks.ok("counters", format!("{why} ({})", path.display()));
        }
        Err(why) => return checks.wrong("counters", why.to_string()),
    };
    let counts = Counters::parse(&text);
    let told = format!(
        "{} launches, {} tasks bound, {} unbound ({} while switched off, {} by a failed \
         --binding), {} refused, {} read-back differences ({})",
        counts.launches,
        counts.bound,
        counts.unbound,
        counts.switched_off,
        counts.binding_failed,
        counts.refused,
        counts.differences,
        path.display()
    );
    match counts.differences {
        0 => checks.ok("counters", told),
        _ => checks.note("counters", told),
    }
}
