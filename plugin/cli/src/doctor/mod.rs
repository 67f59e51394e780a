//! `berth doctor`: checks the node and lists what is wrong, for health checks and for the first
//! question in any ticket. It compares slurmd's announcement with the present state, and names with
//! each line the file, process or key that it looked at.

mod files;
mod node;
mod partitions;
mod pools;

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use berth_answer::json;
use berth_answer::text::write_rows;
use berth_discover::{Source, discover};
use berth_placement::Machine;
use serde::Serialize;

use crate::args::{DoctorArgs, StatusFormat};
use crate::world::state::nodes_of;
use crate::{Failure, exit_code, say};

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
    /// The file, process or key that was looked at.
    looked_at: String,
}

impl Check {
    /// Whether no task of the node is placed where this is wrong. The rest concerns single jobs, a site's file of which
    /// the earlier content stays in force, or a machine file in the place of which slurmd's own map serves.
    fn keeps_from_placement(&self) -> bool {
        const ALL: [&str; 4] = ["slurmd", "task plugin", "key", "state"];
        ALL.contains(&self.what)
    }
}

/// The checks of one node.
struct Checks {
    node: String,
    all: Vec<Check>,
}

impl Checks {
    fn new(node: &str) -> Self {
        Self {
            node: node.into(),
            all: Vec::new(),
        }
    }

    /// Adds a check. `looked_at` is a file, a process or a key.
    fn add(
        &mut self,
        verdict: Verdict,
        what: &'static str,
        text: impl Into<String>,
        looked_at: impl Display,
    ) {
        self.all.push(Check {
            node: self.node.clone(),
            what,
            verdict,
            text: text.into(),
            looked_at: looked_at.to_string(),
        });
    }
}

/// Runs the subcommand.
///
/// # Errors
/// An output that cannot be written.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let mut host = Checks::new("");
    let machine = machine(&mut host);
    let base = crate::world::state::base(args.state_dir.as_deref());
    let nodes = nodes_of(&base, args.node.as_deref());
    if nodes.is_empty() {
        let name = args.node.as_ref().map(|node| format!(" as {node}"));
        let text = format!(
            "no slurmd with berth has started here{}: check that TaskPlugin in slurm.conf lists task/berth, that plugstack.conf \
             has a line for task_berth.so, and that its state_dir= is this directory (--state-dir)",
            name.unwrap_or_default()
        );
        host.add(Verdict::Wrong, "slurmd", text, base.display());
    }
    let mut all = host.all;
    for node in nodes {
        all.extend(node::checks_of(&base, &node, machine.as_ref()));
    }
    let fails = |check: &Check| match check.verdict {
        Verdict::Ok => false,
        Verdict::Note => args.strict,
        Verdict::Wrong => !args.placement || check.keeps_from_placement(),
    };
    let wrong = all.iter().any(fails);
    if args.quiet {
        all.retain(|check| check.verdict != Verdict::Ok);
    }
    match args.format {
        StatusFormat::Json => json::write(&mut say::output(), "berth-doctor", "checks", &all)?,
        StatusFormat::Table => {
            let mut out = say::text_output();
            write_rows(&mut out, say::width(None), &rows(&all))?;
            out.flush()?;
        }
    }
    Ok(exit_code(wrong))
}

fn rows(all: &[Check]) -> Vec<Vec<String>> {
    let word = |verdict| match verdict {
        Verdict::Ok => "ok",
        Verdict::Note => "note",
        Verdict::Wrong => "WRONG",
    };
    let row = |check: &Check| {
        let text = format!("{} ({})", check.text, check.looked_at);
        let cells = [word(check.verdict), &check.node, check.what, &text];
        cells.map(String::from).to_vec()
    };
    all.iter().map(row).collect()
}

/// This machine as hwloc finds it now.
fn machine(checks: &mut Checks) -> Option<Machine> {
    match Source::parse("live").and_then(|live| discover(&live)) {
        Ok(found) => {
            let topology = found
                .machine
                .topology_string(berth_placement::SocketKind::Package);
            checks.add(Verdict::Ok, "machine", topology, &found.source);
            found.this_system.then_some(found.machine)
        }
        Err(why) => {
            checks.add(Verdict::Wrong, "machine", why.to_string(), "hwloc");
            None
        }
    }
}
