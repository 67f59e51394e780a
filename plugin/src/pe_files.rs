//! `--binding=pe:`: the files of [`crate::pe_texts`], written as the user into the job's temporary
//! directory, before the tasks start; removed when the step ends.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use berth_host::{StateDir, machine_file};
use berth_placement::{Chosen, CoreIdx, CpuSet, Machine};
use nix::unistd::{Gid, Uid, setfsgid, setfsuid};
use slurm_spank::SpankHandle;
use slurm_sys::Symbols;

use crate::node_counts::each_node;
use crate::pe_texts::{Hosts, hostfile, rankfile};
use crate::settings;

/// Grid Engine's own name for the file's path.
pub(crate) const ENV_HOSTFILE: &str = "PE_HOSTFILE";
pub(crate) const ENV_RANKFILE: &str = "BERTH_RANKFILE";

/// What was chosen, for a step that asked for files.
struct Asked {
    chosen: Chosen,
    /// The CPUs of each of the node's cores, in hwloc's order.
    cores: Vec<CpuSet>,
    /// Where the machine is a pretended one the kernel knows nothing of its CPUs.
    this_system: bool,
}

/// What was written, to be removed, and whose it is.
struct Written {
    folder: PathBuf,
    uid: Uid,
    gid: Gid,
    hosts: Hosts,
}

static ASKED: OnceLock<Asked> = OnceLock::new();
static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);

fn written() -> MutexGuard<'static, Option<Written>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In slurmstepd, before the user's hook.
pub(crate) fn ask(chosen: &Chosen, node_name: &str) {
    let dir = StateDir::new(&settings::current().state_dir, node_name);
    let found = dir
        .map_err(|why| why.to_string())
        .and_then(|dir| machine_file::read(dir.machine_path()).map_err(|why| why.to_string()));
    match found {
        Ok(found) => {
            let _ = ASKED.set(Asked {
                chosen: chosen.clone(),
                cores: cores(&found.machine),
                this_system: found.this_system,
            });
        }
        Err(why) => log::error!("--binding=pe: no host file and no rank file: {why}"),
    }
}

fn cores(machine: &Machine) -> Vec<CpuSet> {
    let count = machine.core_count() as u32;
    let cpus = |core| machine.pus_of(CoreIdx(core)).iter().copied().collect();
    (0..count).map(cpus).collect()
}

/// SPANK's `user_init`: in slurmstepd, as the user, before the first fork.
pub(crate) fn user_init(spank: &SpankHandle<'_>) {
    let Some(asked) = ASKED.get() else { return };
    if let Err(why) = write(spank, asked) {
        log::error!(
            "--binding=pe: the host file and the rank file could not be written: {why}; see TMPDIR \
             in the job's environment"
        );
    }
}

fn write(spank: &SpankHandle<'_>, asked: &Asked) -> Result<(), String> {
    let env = |name: &str| spank.getenv(name).ok().flatten();
    let either = |step: &str, job: &str| env(step).or_else(|| env(job));
    let hosts = either("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST").unwrap_or_default();
    let tasks = either("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE").unwrap_or_default();
    let hosts: Hosts = Symbols::get()
        .host_names(&hosts)
        .into_iter()
        .zip(each_node(&tasks).unwrap_or_default().each())
        .collect();
    if hosts.is_empty() {
        return Err("the job's nodes are unknown".into());
    }
    let queue = env("SLURM_JOB_PARTITION").unwrap_or_else(|| "slurm".into());
    let base = env("TMPDIR").filter(|path| Path::new(path).is_absolute());
    let number = |found: Result<u32, _>| found.map_or_else(|_| "0".into(), |id| id.to_string());
    // No dash: Open MPI 5.0 takes no path with one for its rank file.
    let name = format!(
        "berth.{}.{}.{}",
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
    let texts = [
        (
            ENV_HOSTFILE,
            "pe_hostfile",
            hostfile(&hosts, &asked.chosen, &queue),
        ),
        (
            ENV_RANKFILE,
            "rankfile",
            rankfile(&hosts, &asked.chosen, &asked.cores),
        ),
    ];
    *written() = Some(Written {
        folder: folder.clone(),
        uid: Uid::effective(),
        gid: Gid::effective(),
        hosts,
    });
    for (variable, name, text) in texts {
        let file = folder.join(name);
        fs::write(&file, text).map_err(told)?;
        let path = file.to_string_lossy().into_owned();
        spank
            .setenv(variable, path, true)
            .map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// In the parent, as root, when the first task has its cgroup and not yet its program: where that
/// confines it, Open MPI sees and numbers the cores in it alone.
pub(crate) fn post_fork(spank: &SpankHandle<'_>) {
    let (Some(asked), Ok(0), Ok(pid)) = (ASKED.get(), spank.task_id(), spank.task_pid()) else {
        return;
    };
    let written = written();
    let Some(written) = written.as_ref().filter(|_| asked.this_system) else {
        return;
    };
    let all: CpuSet = asked.cores.iter().flat_map(CpuSet::iter).collect();
    let told = match berth_host::reachable_from(pid, &all) {
        Ok(seen) if seen == all => return,
        Ok(seen) => written.as_user(|| {
            let seen = asked.cores.iter().filter(|core| core.intersects(&seen));
            let seen: Vec<_> = seen.cloned().collect();
            let text = rankfile(&written.hosts, &asked.chosen, &seen);
            fs::write(written.folder.join("rankfile"), text).map_err(|why| why.to_string())
        }),
        Err(why) => Err(why.to_string()),
    };
    if let Err(why) = told {
        log::error!("--binding=pe: the rank file numbers the cores of the whole node: {why}");
    }
}

/// The step has ended. As the user, so that nothing but the user's own goes.
pub(crate) fn remove() {
    let Some(written) = written().take() else {
        return;
    };
    written.as_user(|| {
        for name in ["pe_hostfile", "rankfile"] {
            let _ = fs::remove_file(written.folder.join(name));
        }
        let _ = fs::remove_dir(&written.folder);
    });
}

impl Written {
    /// With the owner's rights on files; they are the calling thread's alone.
    fn as_user<T>(&self, work: impl FnOnce() -> T) -> T {
        let _root_again = Rights(setfsgid(self.gid), setfsuid(self.uid));
        work()
    }
}

/// A thread's rights on files, to be had again whatever happens.
struct Rights(Gid, Uid);

impl Drop for Rights {
    fn drop(&mut self) {
        setfsuid(self.1);
        setfsgid(self.0);
    }
}
