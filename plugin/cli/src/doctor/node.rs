//! The checks of one node: the slurmd that announced itself, and what it announced.

use std::path::Path;

use berth_host::{StateDir, announcement};
use berth_placement::Machine;
use berth_site::Announcement;
use nix::unistd::Uid;

use super::Verdict::{Note, Ok as Well, Wrong};
use super::{Check, Checks, access, files, partitions, pools, reserved, switch};
use crate::slurmd::{self, SlurmdStatus};
use crate::world::cluster::of_this_node;

/// All checks of one node.
pub(super) fn checks_of(base: &Path, node: &str, machine: Option<&Machine>) -> Vec<Check> {
    let mut checks = Checks::new(node);
    let dir = match StateDir::new(base, node) {
        Ok(dir) => dir,
        Err(why) => {
            checks.add(Wrong, "state", why.to_string(), base.display());
            return checks.all;
        }
    };
    files::state(&mut checks, &dir);
    switch::check(&mut checks, base);
    let path = dir.path().join(announcement::NAME);
    let path = path.display().to_string();
    let words = announcement::read(&dir);
    match &words {
        Ok(words) => {
            running(&mut checks, words, &path);
            roles(&mut checks, words, &path);
            unused(&mut checks, words, &path);
            settings(&mut checks, words, &path);
            files::cpusets(&mut checks, words);
            let (site, config) = (pools::check(&mut checks, &dir, words), of_this_node());
            partitions::check(&mut checks, words, config.as_deref());
            access::check(&mut checks, site.as_ref(), config.as_deref());
            reserved::check(&mut checks, words, machine);
            if words.is_task_plugin {
                files::key(&mut checks, &dir);
            }
        }
        Err(why) => checks.add(
            Wrong,
            "slurmd",
            format!(
                "slurmd's announcement could not be read: {why}; restart slurmd with this release \
                 of berth"
            ),
            &path,
        ),
    }
    files::machine(&mut checks, &dir, machine);
    files::ledger(&mut checks, &dir);
    files::metrics(&mut checks, &dir, words.ok().as_ref());
    checks.all
}

/// Whether the slurmd that announced itself still runs.
fn running(checks: &mut Checks, words: &Announcement, path: &str) {
    let release = format!("berth {}, Slurm {}", words.berth, words.slurm);
    let own = env!("CARGO_PKG_VERSION");
    let found = slurmd::find(words);
    let (verdict, text) = match found {
        SlurmdStatus::Running(pid) if words.berth == own => {
            (Well, format!("process {pid} with {release}"))
        }
        SlurmdStatus::Running(pid) => (
            Note,
            format!(
                "process {pid} with {release}; this command is {own}: restart slurmd to run the \
                 same release"
            ),
        ),
        SlurmdStatus::WithoutBerth(pid) => (
            Wrong,
            format!(
                "process {pid} runs without berth; the slurmd before it had {release}; check \
                 TaskPlugin in slurm.conf, and plugstack.conf"
            ),
        ),
        SlurmdStatus::Unannounced(pid) => (
            Wrong,
            format!(
                "process {pid} was started later than the slurmd that announced itself with \
                 {release}, and could not announce itself: the reason is in slurmd's log"
            ),
        ),
        // Others may not see root's processes (hidepid).
        SlurmdStatus::Nothing if Uid::effective().is_root() => (
            Wrong,
            format!(
                "not running; last seen as process {} with {release}",
                words.pid
            ),
        ),
        SlurmdStatus::Nothing => (
            Note,
            format!(
                "not visible to this user; last seen as process {} with {release}",
                words.pid
            ),
        ),
    };
    checks.add(
        verdict,
        "slurmd",
        text,
        format!("{path}, {}", sources(found)),
    );
}

/// What was looked at to find slurmd. Only root sees which objects a process has loaded.
fn sources(found: SlurmdStatus) -> String {
    let pid = match found {
        SlurmdStatus::Nothing => return "all processes of root".into(),
        SlurmdStatus::Running(pid)
        | SlurmdStatus::WithoutBerth(pid)
        | SlurmdStatus::Unannounced(pid) => pid,
    };
    match Uid::effective().is_root() {
        true => format!("/proc/{pid}/stat, cmdline, exe, maps"),
        false => format!("/proc/{pid}/stat, cmdline"),
    }
}

/// What berth is in this slurmd: task plugin, SPANK plugin.
fn roles(checks: &mut Checks, words: &Announcement, path: &str) {
    let (verdict, text) = if words.is_task_plugin {
        let text = format!(
            "layout {}, {} {}",
            words.layout, words.shape, words.topology
        );
        (Well, text)
    } else if words.serves_binding_only && words.is_spank_plugin {
        (Note, words.aside.clone())
    } else {
        (Wrong, words.aside.clone())
    };
    let key = format!("TaskPlugin in slurm.conf as slurmd has it: {path}");
    checks.add(verdict, "task plugin", text, key);
    let (verdict, text) = match (words.is_spank_plugin, words.is_task_plugin) {
        (true, _) => (Well, "plugstack.conf names it"),
        // The task plugin then has its default, which gives some requests other masks than task/affinity.
        (false, true) => (
            Wrong,
            "plugstack.conf does not name task_berth.so, so compat=berth is in force, and there are \
             no settings and no --binding; add the line `optional task_berth.so compat=affinity` \
             (or compat=berth, if that is meant) and restart slurmd",
        ),
        (false, false) => (
            Note,
            "plugstack.conf does not name task_berth.so: there are no settings and no --binding",
        ),
    };
    let key = format!("plugstack.conf as slurmd has read it: {path}");
    checks.add(verdict, "SPANK plugin", text, key);
}

/// CPUs that no step gets, and why.
fn unused(checks: &mut Checks, words: &Announcement, path: &str) {
    let left = &words.left_out;
    if !left.is_empty() {
        let text = format!(
            "slurmd leaves out the efficiency cores (CPUs {left}), so no step gets them; \
             SlurmdParameters=allow_ecores in slurm.conf lets slurmd count them"
        );
        checks.add(Note, "efficiency cores", text, path);
    }
    let outside = &words.outside_cgroups;
    if !outside.is_empty() {
        let text = format!(
            "ConstrainCores=yes confines steps to the CPUs that slurmd counts; CPUs {outside} are in \
             no step's cgroup, and berth plans nothing there; compare `slurmd -C` with `lstopo`"
        );
        checks.add(Note, "cgroups", text, path);
    }
}

/// The settings in force, and what slurmd found wrong.
fn settings(checks: &mut Checks, words: &Announcement, path: &str) {
    if words.is_task_plugin {
        checks.add(Well, "settings", &words.settings, path);
    }
    let told = words.complaints.iter().map(|why| (Wrong, "complaint", why));
    let doubts = words.warnings.iter().map(|why| (Note, "warning", why));
    for (verdict, what, why) in told.chain(doubts) {
        checks.add(verdict, what, why, path);
    }
}
