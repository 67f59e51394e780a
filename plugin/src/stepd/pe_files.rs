//! `--binding=pe:`: prepares the files of [`crate::stepd::pe_texts`] in slurmstepd, before the
//! fork, and lets the node's first task write them. [`crate::stepd::pe_hooks`] says when.

use std::ffi::{CString, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use berth_host::reachable;
use berth_placement::sets::limits::{NODE_LIST, PE_FILE, PE_NODES};
use berth_placement::{Chosen, CoreIdx, CpuSet, Machine};
use berth_srun::node_lists::{Most, each_node, expand};

use crate::site::node::machine_file;
use crate::step::names;
use crate::stepd::first_task::{FirstTask, StackLine};
use crate::stepd::job_env::Spank;
use crate::stepd::pe_texts::{Hosts, Texts};
use crate::stepd::pe_writer::{HOSTFILE, Place, RANKFILE};

/// Grid Engine's own name for the file's path.
const ENV_HOSTFILE: &str = "PE_HOSTFILE";

/// The chosen cores of a step that requested files.
pub(crate) struct FilesRequest {
    chosen: Chosen,
    /// The CPUs of each of the node's cores, in hwloc's order.
    cores: Vec<CpuSet>,
    /// Whether the machine is this system; the kernel does not know the CPUs of a pretended one.
    this_system: bool,
}

/// All that the first task needs.
pub(crate) struct Prepared {
    place: Place,
    texts: Texts,
    /// The CPUs of each of the node's cores; none on a pretended machine.
    cores: Vec<CpuSet>,
    /// All of them together, in the kernel's form.
    cpus: Vec<u64>,
    /// Where the tasks meet, if there are several.
    first: Option<FirstTask>,
}

/// The files for the chosen cores, on the machine that slurmd found.
pub(crate) fn request(chosen: &Chosen, node_name: &str) -> Result<FilesRequest, String> {
    let found = machine_file(node_name)?;
    Ok(FilesRequest {
        chosen: chosen.clone(),
        cores: cores(&found.machine),
        this_system: found.this_system,
    })
}

fn cores(machine: &Machine) -> Vec<CpuSet> {
    let count = machine.core_count() as u32;
    let cpus = |core| machine.pus_of(CoreIdx(core)).iter().copied().collect();
    (0..count).map(cpus).collect()
}

/// In slurmstepd, before the first fork: what the first task will write, and the variables that
/// say where. No file is touched here.
pub(crate) fn prepare(spank: &Spank<'_>, request: &FilesRequest) -> Result<Prepared, String> {
    let prepared = prepared(spank, request)?;
    for (variable, name) in [(ENV_HOSTFILE, HOSTFILE), (names::RANKFILE, RANKFILE)] {
        let path = [prepared.place.folder.to_bytes(), b"/", name.to_bytes()].concat();
        let path = OsString::from_vec(path);
        let set = spank.setenv(variable, path, true);
        set.map_err(|why| format!("{variable}: {why}"))?;
    }
    Ok(prepared)
}

fn prepared(spank: &Spank<'_>, request: &FilesRequest) -> Result<Prepared, String> {
    // One byte more than a list may have shows its reader that it is too long.
    let env = |name: &str| spank.env_beginning(name, NODE_LIST + 1);
    let queue = first(&["SLURM_JOB_PARTITION"], env)?.unwrap_or_else(|| "slurm".into());
    let texts = Texts::new(hosts(env)?, queue, &request.chosen, &request.cores);
    texts.check()?;
    let number = |found: Result<u32, _>| found.map_or_else(|_| "0".into(), |id| id.to_string());
    // No dash: Open MPI 5.0 takes no path with one for its rank file.
    let name = format!(
        "berth.{}.{}.{}",
        number(spank.job_id()),
        number(spank.job_stepid()),
        std::process::id()
    );
    let alone = spank.job_local_task_count().is_ok_and(|tasks| tasks == 1);
    let first = match alone {
        true => None,
        false => Some(
            FirstTask::new()
                .map_err(|why| format!("berth gets no page of shared memory: {why}"))?,
        ),
    };
    let cores = if request.this_system {
        request.cores.clone()
    } else {
        Vec::new()
    };
    let cpus: CpuSet = cores.iter().flat_map(CpuSet::iter).collect();
    // A path that is cut here is longer than the kernel takes.
    let tmpdir = spank.env_bytes("TMPDIR", libc::PATH_MAX as usize);
    Ok(Prepared {
        place: place(tmpdir.map(OsString::from_vec), &name)?,
        texts,
        cores,
        cpus: cpus.to_words(),
        first,
    })
}

/// The step's nodes and their tasks, as the environment names them: the files are the user's own.
fn hosts(env: impl Fn(&str) -> Option<String>) -> Result<Hosts, String> {
    let names = first(&["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"], &env)?;
    let names = names.unwrap_or_default();
    let tasks = first(&["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"], &env)?;
    let tasks = tasks.unwrap_or_default();
    let most = Most {
        names: PE_NODES,
        bytes: PE_FILE,
    };
    let names = expand(&names, most)
        .map_err(|why| format!("the list of the job's nodes cannot be read: {why}"))?;
    let tasks = each_node(&tasks).unwrap_or_default();
    let hosts: Hosts = names.into_iter().zip(tasks.each()).collect();
    if hosts.is_empty() {
        return Err("the numbers of the job's tasks on its nodes are unknown".into());
    }
    Ok(hosts)
}

/// The first of these variables that is set. `env` gives one byte more of a value than it may have.
fn first(names: &[&str], env: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    let mut values = names.iter().filter_map(|name| Some((name, env(name)?)));
    match values.next() {
        Some((name, value)) if value.len() > NODE_LIST => Err(format!(
            "{name} in the job's environment has more than {NODE_LIST} bytes"
        )),
        found => Ok(found.map(|(_, value)| value)),
    }
}

/// The folder of the files: TMPDIR if a path in it can be used, else /tmp.
fn place(tmpdir: Option<OsString>, name: &str) -> Result<Place, String> {
    let length = |parent: &[u8]| parent.len() + name.len() + HOSTFILE.to_bytes().len() + 3;
    let usable = |path: &[u8]| path.starts_with(b"/") && length(path) <= libc::PATH_MAX as usize;
    let parent = tmpdir.as_ref().map(|path| path.as_bytes());
    let parent = parent.filter(|path| usable(path)).unwrap_or(b"/tmp");
    let folder = [parent, b"/", name.as_bytes()].concat();
    let path = |bytes: Vec<u8>| CString::new(bytes).map_err(|why| why.to_string());
    Ok(Place {
        parent: path(parent.to_vec())?,
        folder: path(folder)?,
    })
}

impl Prepared {
    /// In the node's first task, between fork and exec.
    pub(crate) fn write(&self) {
        self.renumber();
        if let Err(failed) = self.place.write(&self.texts) {
            self.place.complaint(failed).send();
        }
        if let Some(first) = &self.first {
            first.done();
        }
    }

    /// In the other tasks: until the first one has written.
    pub(crate) fn wait(&self) {
        if self.first.as_ref().is_some_and(|first| !first.wait()) {
            let mut line = StackLine::new();
            let _ = line.write_str(
                "berth: error: --binding=pe: this task starts before its node's first task has written \
                 the host file and the rank file; see TMPDIR in the job's environment\n",
            );
            line.send();
        }
    }

    /// If a cgroup confines this task, Open MPI sees and numbers only the cores in it.
    fn renumber(&self) {
        if self.cpus.is_empty() {
            return;
        }
        match reachable(&self.cpus) {
            Ok(seen) => {
                let sees = |core: &CpuSet| core.iter().any(|cpu| seen.has(cpu));
                self.texts
                    .renumber(|core| self.cores.get(core).is_some_and(sees));
            }
            Err(errno) => {
                let mut line = StackLine::new();
                let _ = writeln!(
                    line,
                    "berth: error: --binding=pe: the rank file numbers the cores of the whole node, since the \
                     kernel does not say which of them this task may use (error {errno})"
                );
                line.send();
            }
        }
    }
}

#[cfg(test)]
#[path = "pe_files_tests.rs"]
mod tests;
