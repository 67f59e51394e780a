//! The checks of one node: the slurmd that announced itself, and what it announced.

use std::path::Path;

use berth_host::{StateDir, announcement, trust};
use berth_placement::controller::select::Specialised;
use berth_placement::{CpuSet, Machine, SocketKind};
use berth_site::Announcement;
use nix::unistd::Uid;

use super::Verdict::{Note, Ok as Well, Wrong};
use super::{Check, Checks, files, partitions, pools};
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
    files::switch(&mut checks, base, &dir);
    let path = dir.path().join(announcement::NAME);
    let path = path.display().to_string();
    let words = announcement::read(&dir);
    match &words {
        Ok(words) => {
            let found = slurmd::find(words);
            running(&mut checks, words, found, &path);
            object(&mut checks, words, found);
            roles(&mut checks, words, &path);
            unused(&mut checks, words, &path);
            settings(&mut checks, words, &path);
            let config = of_this_node();
            files::cpusets(&mut checks, words, config.as_deref());
            let site = pools::check(&mut checks, &dir, words);
            partitions::check(&mut checks, words, config.as_deref());
            pools::access(&mut checks, site.as_ref(), config.as_deref());
            reserved(&mut checks, words, machine);
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
fn running(checks: &mut Checks, words: &Announcement, found: SlurmdStatus, path: &str) {
    let release = format!("berth {}, Slurm {}", words.berth, words.slurm);
    let own = env!("CARGO_PKG_VERSION");
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

/// Whether the object that slurmd has loaded is still there, and others than root could exchange it: Slurm does not look at
/// a plugin's owner. An older announcement does not name it.
fn object(checks: &mut Checks, words: &Announcement, found: SlurmdStatus) {
    let path = Path::new(&words.object);
    if !matches!(found, SlurmdStatus::Running(_)) || words.object.is_empty() {
        return;
    }
    if let Ok(false) = path.try_exists() {
        let effect = match words.is_task_plugin {
            true => "starts",
            false => "has berth's options",
        };
        let text = format!(
            "the object that it has loaded is no longer there, so no step {effect}; put the file back, or take berth out of \
             slurm.conf and plugstack.conf and restart slurmd"
        );
        return checks.add(Wrong, "slurmd", text, path.display());
    }
    let Ok(metadata) = path.metadata() else {
        return;
    };
    let trusted = trust::check_file(path, &metadata).and_then(|()| trust::check_ancestors(path));
    let (verdict, text) = match trusted {
        Ok(()) => (Well, "it is root's".into()),
        Err(why) => (Note, format!("slurmd loads it as root, and {why}")),
    };
    checks.add(verdict, "object", text, path.display());
}

/// The places where slurmd was sought. Only root sees which objects a process has loaded.
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

/// The roles of berth in this slurmd: task plugin, SPANK plugin.
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
    let complaints = words.complaints.iter().map(|why| (Wrong, "complaint", why));
    let doubts = words.warnings.iter().map(|why| (Note, "warning", why));
    for (verdict, what, why) in complaints.chain(doubts) {
        checks.add(verdict, what, why, path);
    }
}

/// Compares what the site and other software keep free here with what slurm.conf says of this node: slurmctld gives away
/// what `CpuSpecList=` does not name. Without a
/// slurm.conf that this user may read, or without the machine, there is nothing to compare.
fn reserved(checks: &mut Checks, words: &Announcement, machine: Option<&Machine>) {
    let Some(machine) = machine else {
        return;
    };
    let rules = words.site_rules().unwrap_or_default();
    let mut free = rules.reserved();
    free.insert_all(machine.held());
    let free = free.intersection(machine.cpus());
    let Some(conf) = of_this_node().filter(|_| !free.is_empty()) else {
        return;
    };
    let Some(node) = conf.node(&checks.node) else {
        return;
    };
    let special = &node.specialised;
    match advice(&free, special, machine, rules.socket()) {
        None => {
            let text = format!("CPUs {free}, which CpuSpecList= of slurm.conf names too");
            checks.add(Well, "reserved", text, "slurm.conf");
        }
        Some(why) => checks.add(Note, "reserved", why, "slurm.conf"),
    }
}

/// The reserved CPUs that slurmctld may give away, and what to do.
fn advice(
    free: &CpuSet,
    special: &Specialised,
    machine: &Machine,
    kind: SocketKind,
) -> Option<String> {
    let named = match special {
        Specialised::None => CpuSet::new(),
        Specialised::Count(cores) => {
            return Some(format!(
                "CPUs {free} are kept free here, and CoreSpecCount={cores} of slurm.conf lets Slurm choose \
                 others; write CpuSpecList= with these CPUs, by Slurm's numbers"
            ));
        }
        Specialised::Cores(cores) => {
            let all = machine.sockets(kind).into_iter().flatten();
            let named = (0..).zip(all).filter(|(at, _)| cores.contains(*at));
            let pus = named.flat_map(|(_, core)| machine.pus_of(core).iter().copied());
            pus.collect()
        }
    };
    let given = free.difference(&named);
    (!given.is_empty()).then(|| {
        format!(
            "CPUs {given} are kept free here, and slurmctld may give them to jobs, which then run on fewer \
             CPUs than Slurm counts; name them in CpuSpecList= of slurm.conf, by Slurm's numbers"
        )
    })
}

#[cfg(test)]
mod tests {
    use berth_placement::Numbering;
    use berth_placement::controller::select::CoreSet;

    use super::*;

    #[test]
    fn what_slurmctld_may_give_away_is_noted() {
        // Cores 0 and 1 have CPUs 0,4 and 1,5.
        let machine = Machine::regular(1, 4, 2, Numbering::ThreadsLast).unwrap();
        let note = |free: &str, special| {
            let free = CpuSet::from_list(free).unwrap();
            advice(&free, &special, &machine, SocketKind::Package)
        };
        let cores = |count| Specialised::Cores(CoreSet::first(count));
        assert_eq!(note("0,4", cores(1)), None);
        assert_eq!(note("0", cores(1)), None);
        let some = note("0-1,4-5", cores(1)).unwrap();
        assert!(some.starts_with("CPUs 1,5 are kept free"), "{some}");
        let all = note("0", Specialised::None).unwrap();
        assert!(all.starts_with("CPUs 0 are kept free"), "{all}");
        let counted = note("0", Specialised::Count(1)).unwrap();
        assert!(counted.contains("CoreSpecCount=1"), "{counted}");
    }
}
