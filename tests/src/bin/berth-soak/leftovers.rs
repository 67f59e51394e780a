//! What must not be there once every step has ended: processes, and files of ended steps in the state folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use berth_tests::process::{find, signal};
use nix::sys::signal::Signal;

use crate::killer;
use crate::work::Soak;

/// Files of a node that are there as long as slurmd serves it, or for the slurmd that follows.
const FIXED: [&str; 10] = [
    "cpusets.held",
    "key",
    "living",
    "machine.json",
    "metrics.1",
    "pools.held",
    "slurmd.json",
    "steps.lock",
    "topology",
    "off",
];
/// The files of an ended job stay for its epilog, for ten minutes.
const EPILOGS: Duration = Duration::from_secs(660);
/// The node serves again by then.
const NODE: Duration = Duration::from_secs(180);
/// A process that was killed is gone by then.
const PROCESSES: Duration = Duration::from_secs(60);

/// What is left of steps; slurmd is restarted for it, which tidies up.
pub fn look(soak: &Soak) -> Vec<String> {
    let state = soak.cluster.folder().join("run/berth");
    let mut wrong = processes(soak);
    // The last slurmstepds have renewed their jobs' files.
    let before = files(&state);
    before.iter().for_each(|path| make_old(path));
    soak.cluster.restart_slurmd();
    wrong.extend(wait_idle(soak));
    let after = files(&state);
    let other: Vec<_> = after
        .iter()
        .filter(|path| !is_fixed(path))
        .map(|path| path.display().to_string())
        .collect();
    println!(
        "{} files in the state folder at the last step's end; {} once slurmd had started again after the epilogs' time",
        before.len(),
        after.len()
    );
    if !other.is_empty() {
        let shown = other.iter().take(10).cloned().collect::<Vec<_>>();
        wrong.push(format!(
            "{} files are left in the state folder: {}",
            other.len(),
            shown.join(" ")
        ));
    }
    wrong
}

/// A slurmstepd that was killed last may have put the node out of service meanwhile. What is wrong if it does not come back.
fn wait_idle(soak: &Soak) -> Option<String> {
    let end = Instant::now() + NODE;
    loop {
        soak.nurse_nodes();
        match soak.cluster.sinfo_state() {
            state if state == "idle" => return None,
            state if Instant::now() > end => {
                return Some(format!("the node is {state:?} at the end, and stays so"));
            }
            _ => std::thread::sleep(Duration::from_secs(1)),
        }
    }
}

/// Slurmstepds and tasks of this cluster.
fn processes(soak: &Soak) -> Vec<String> {
    let folder = soak.cluster.folder().to_string_lossy().into_owned();
    let end = Instant::now() + PROCESSES;
    loop {
        let stepds = find("slurmstepd", &folder);
        let tasks = find(&killer::task(), &format!("{folder}/cores"));
        if stepds.is_empty() && tasks.is_empty() {
            return vec![];
        }
        if Instant::now() > end && !kill_unreachable(soak, &stepds) {
            return vec![format!(
                "processes are left: slurmstepds {stepds:?}, tasks {tasks:?}"
            )];
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// A slurmctld that was killed may give a job's number again, and slurmd may have both jobs' steps. The step that ends
/// first removes the other's socket too, so that nobody can resume or kill that one any more: an administrator kills
/// its slurmstepd, and so does this. Whether there was one.
fn kill_unreachable(soak: &Soak, stepds: &[i32]) -> bool {
    let spool = files(&soak.cluster.folder().join("spool"));
    let unreachable: Vec<_> = stepds
        .iter()
        .filter_map(|pid| Some((*pid, step_of(*pid)?)))
        .filter(|(_, step)| {
            let socket = format!("_{step}");
            !spool
                .iter()
                .any(|path| path.to_string_lossy().ends_with(&socket))
        })
        .collect();
    for (pid, step) in &unreachable {
        println!(
            "slurmstepd {pid} of step {step}, whose socket another job of its number removed, is killed"
        );
        signal(*pid, Signal::SIGKILL);
    }
    !unreachable.is_empty()
}

/// The step in the title that a slurmstepd has given itself.
fn step_of(pid: i32) -> Option<String> {
    let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let (_, rest) = title.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn is_fixed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    FIXED.contains(&&*name)
}

/// As if its job had ended, or the process that was killed while it wrote had died, a while ago.
fn make_old(path: &Path) {
    let mut folders = path.ancestors().skip(1).take(2);
    let in_jobs = folders.any(|folder| folder.ends_with("jobs"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_temporary = name.starts_with('.');
    if !in_jobs && !is_temporary {
        return;
    }
    if let Ok(file) = fs::File::options().write(true).open(path) {
        let _ = file.set_modified(SystemTime::now() - EPILOGS);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tidied_by_its_age_is_made_old_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir_all(state.path().join("jobs/1000")).unwrap();
        let old = |name: &str| {
            let path = state.path().join(name);
            fs::write(&path, "").unwrap();
            make_old(&path);
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            changed.elapsed().is_ok_and(|age| age >= EPILOGS)
        };
        assert!(old("jobs/7.node") && old("jobs/1000/7.node"));
        assert!(old(".topology.22991.1820796174"), "of a killed writer");
        assert!(!old("topology") && !old("jobs.old"));
    }
}
