//! `--binding=pe:`: what a parallel environment reads. A pe_hostfile with Grid Engine's fourth
//! column (section 3.2.1 of its specification) and a rankfile for Open MPI, written as the user
//! into the job's temporary directory, before the tasks start; removed when the step ends.
//! Other nodes' ledgers are unknown here: they are taken to be empty and like this one.

use std::fmt::Write;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use berth_placement::Chosen;
use berth_placement::chosen::{ChosenCore, places};
use nix::unistd::{Gid, Uid, setfsgid, setfsuid};
use slurm_spank::SpankHandle;
use slurm_sys::Symbols;

use crate::submission::each_node;

/// Grid Engine's own name for the file's path.
pub(crate) const ENV_HOSTFILE: &str = "PE_HOSTFILE";
pub(crate) const ENV_RANKFILE: &str = "BERTH_RANKFILE";

/// What was chosen, for a step that asked for files.
static ASKED: OnceLock<Chosen> = OnceLock::new();
/// What was written, to be removed, and whose it is.
static WRITTEN: Mutex<Option<(PathBuf, Uid, Gid)>> = Mutex::new(None);

/// In slurmstepd, before the user's hook.
pub(crate) fn ask(chosen: &Chosen) {
    let _ = ASKED.set(chosen.clone());
}

/// SPANK's `user_init`: in slurmstepd, as the user, before the first fork.
pub(crate) fn user_init(spank: &SpankHandle<'_>) {
    let Some(chosen) = ASKED.get() else { return };
    if let Err(why) = write(spank, chosen) {
        log::error!(
            "--binding=pe: the host file and the rank file could not be written: {why}; see TMPDIR \
             in the job's environment"
        );
    }
}

fn write(spank: &SpankHandle<'_>, chosen: &Chosen) -> Result<(), String> {
    let env = |name: &str| spank.getenv(name).ok().flatten();
    let either = |step: &str, job: &str| env(step).or_else(|| env(job));
    let hosts = either("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST").unwrap_or_default();
    let tasks = either("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE").unwrap_or_default();
    let hosts: Vec<(String, u32)> = Symbols::get()
        .host_names(&hosts)
        .into_iter()
        .zip(each_node(&tasks).unwrap_or_default())
        .collect();
    if hosts.is_empty() {
        return Err("the job's nodes are unknown".into());
    }
    let queue = env("SLURM_JOB_PARTITION").unwrap_or_else(|| "slurm".into());
    let base = env("TMPDIR").filter(|path| Path::new(path).is_absolute());
    let number = |found: Result<u32, _>| found.map_or_else(|_| "0".into(), |id| id.to_string());
    let name = format!(
        "berth-{}.{}-{}",
        number(spank.job_id()),
        number(spank.job_stepid()),
        std::process::id()
    );
    let folder = PathBuf::from(base.unwrap_or_else(|| "/tmp".into())).join(name);
    let told = |why: io::Error| format!("{}: {why}", folder.display());
    // One that is there already is somebody else's.
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(told)?;
    *WRITTEN.lock().unwrap_or_else(PoisonError::into_inner) =
        Some((folder.clone(), Uid::effective(), Gid::effective()));
    for (variable, name, text) in [
        (
            ENV_HOSTFILE,
            "pe_hostfile",
            hostfile(&hosts, chosen, &queue),
        ),
        (ENV_RANKFILE, "rankfile", rankfile(&hosts, chosen)),
    ] {
        let file = folder.join(name);
        fs::write(&file, text).map_err(told)?;
        let path = file.to_string_lossy().into_owned();
        spank
            .setenv(variable, path, true)
            .map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// The step has ended. As the user, so that nothing but the user's own goes.
pub(crate) fn remove() {
    let written = WRITTEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some((folder, uid, gid)) = written else {
        return;
    };
    // These two are the calling thread's alone.
    let (old_gid, old_uid) = (setfsgid(gid), setfsuid(uid));
    for name in ["pe_hostfile", "rankfile"] {
        let _ = fs::remove_file(folder.join(name));
    }
    let _ = fs::remove_dir(&folder);
    setfsuid(old_uid);
    setfsgid(old_gid);
}

/// One line a host: name, slots, queue, and the cores of all its tasks.
fn hostfile(hosts: &[(String, u32)], chosen: &Chosen, queue: &str) -> String {
    let mut text = String::new();
    for (host, tasks) in hosts {
        let cores: Vec<_> = match chosen.0.as_slice() {
            [shared] => vec![places(shared)],
            each => each
                .iter()
                .take(*tasks as usize)
                .map(|task| places(task))
                .collect(),
        };
        let _ = writeln!(text, "{host} {tasks} {queue}@{host} {}", cores.join(":"));
    }
    text
}

/// One line a rank, in the order of nodes: Open MPI's `slot=SOCKET:CORE,…`.
fn rankfile(hosts: &[(String, u32)], chosen: &Chosen) -> String {
    let slot = |core: &ChosenCore| format!("{}:{}", core.place.socket, core.place.core);
    let mut text = String::new();
    if hosts.len() > 1 {
        text.push_str(
            "# Holds for whole, equal nodes: the cores are those of the node that wrote it.\n",
        );
    }
    let mut rank = 0;
    for (host, tasks) in hosts {
        for task in 0..*tasks {
            let cores = chosen.of_task(task as usize);
            let slots: Vec<_> = cores.iter().map(slot).collect();
            // A node with more tasks than this one has: Open MPI chooses there.
            if !slots.is_empty() {
                let _ = writeln!(text, "rank {rank}={host} slot={}", slots.join(","));
            }
            rank += 1;
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so")]
mod tests {
    use super::*;

    #[test]
    fn two_hosts() {
        let hosts = [("n1".to_string(), 2), ("n2".to_string(), 1)];
        let each: Chosen = "0,0=0:0,1=1;1,0=2:1,1=3".parse().unwrap();
        assert_eq!(
            hostfile(&hosts, &each, "all"),
            "n1 2 all@n1 0,0:0,1:1,0:1,1\nn2 1 all@n2 0,0:0,1\n"
        );
        assert_eq!(
            rankfile(&hosts, &each),
            "# Holds for whole, equal nodes: the cores are those of the node that wrote it.\n\
             rank 0=n1 slot=0:0,0:1\nrank 1=n1 slot=1:0,1:1\nrank 2=n2 slot=0:0,0:1\n"
        );
        let shared: Chosen = "0,0=0:0,1=1".parse().unwrap();
        assert_eq!(
            hostfile(&hosts, &shared, "all"),
            "n1 2 all@n1 0,0:0,1\nn2 1 all@n2 0,0:0,1\n"
        );
    }
}
