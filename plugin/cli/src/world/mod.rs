//! Where does the user stand: in a job, on a node with berth, or anywhere else? A dry run finds out
//! before it assumes. Everything is looked up once, and only if an answer depends on it.

pub(crate) mod cluster;
pub(crate) mod job;
pub(crate) mod job_record;
pub(crate) mod slurm_commands;
pub(crate) mod state;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use berth_answer::topo::Known;
use berth_answer::world::{BerthNode, Context, GpusOfJob, LIVE, OwnJob, ScriptFile, World};
use berth_discover::{Discovered, Source, discover};
use berth_host::script_file::{MOST, content};
use berth_host::site_file;
use berth_placement::Machine;
use berth_site::cpusets::{Site, SiteCpusets};
use berth_srun::Release;

use crate::args::Devices;
use crate::{Failure, Unreadable, discover};

/// The node of this host that berth serves, if any; with several slurmds the one of this job, or the
/// first by name.
pub(crate) fn node() -> Option<Arc<BerthNode>> {
    static NODE: LazyLock<Option<Arc<BerthNode>>> =
        LazyLock::new(|| state::served_node().map(Arc::new));
    NODE.clone()
}

/// The job that this process runs in, if any.
pub(crate) fn job() -> Option<Arc<OwnJob>> {
    static JOB: LazyLock<Option<Arc<OwnJob>>> =
        LazyLock::new(|| job::find(node().as_deref()).map(Arc::new));
    JOB.clone()
}

/// The variables of this process.
fn environment() -> Arc<HashMap<String, String>> {
    static ALL: LazyLock<Arc<HashMap<String, String>>> = LazyLock::new(|| {
        let texts = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Arc::new(texts.collect())
    });
    ALL.clone()
}

/// This host, for the questions of `berth plan` and `berth tune`: they are about the place where they are typed.
pub(crate) static HOST: Host = Host {
    is_here: true,
    folder: None,
};

/// The world as this host shows it.
pub(crate) struct Host {
    is_here: bool,
    /// A folder in which scripts are sought first.
    folder: Option<PathBuf>,
}

impl Host {
    /// The world for a script, which is for a job to come, wherever it is checked. Scripts that it names are sought
    /// beside it.
    pub(crate) fn beside(script: &str) -> Self {
        Self {
            is_here: false,
            folder: Path::new(script).parent().map(PathBuf::from),
        }
    }
}

impl World for Host {
    fn context(&self, machine: &str, cluster: Option<&str>) -> Context {
        let is_live = machine == LIVE && cluster.is_none();
        let is_here = self.is_here && is_live;
        let named = cluster.map(cluster::named);
        let node = is_live.then(node).flatten();
        let is_alone = is_live && node.is_none();
        Context {
            is_here,
            is_synthetic: matches!(Source::parse(machine), Ok(Source::Synthetic(_))),
            environment: environment(),
            config_of_node: node.as_ref().and_then(|_| cluster::of_this_node()),
            node,
            job: is_here.then(job).flatten(),
            plugstack: named.as_ref().and_then(|named| named.plugstack.clone()),
            cluster: named.map(|named| named.config),
            installed: is_alone.then(installed).flatten(),
        }
    }

    fn machine(&self, machine: &str, with_devices: bool) -> Result<Machine, Failure> {
        let mut found = discovered(machine)?;
        if with_devices {
            found = discover::add(found, Devices::Sysfs);
        }
        Ok(found.machine)
    }

    fn gpus(&self, job: &OwnJob) -> Result<GpusOfJob, String> {
        static GPUS: OnceLock<Result<GpusOfJob, String>> = OnceLock::new();
        let gpus = GPUS.get_or_init(|| job::gpus(job, node().as_deref()));
        gpus.clone()
    }

    fn script(&self, name: &str) -> ScriptFile {
        let beside = self.folder.as_ref().map(|folder| folder.join(name));
        let beside = beside.filter(|path| path.exists());
        let path = beside.unwrap_or_else(|| PathBuf::from(name));
        match content(&path, MOST) {
            Ok(text) => ScriptFile::Text(text),
            Err(why) if is_unreadable(name) => ScriptFile::Missing(why),
            Err(why) => ScriptFile::Unread(why),
        }
    }

    fn hosts(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(path).map_err(|why| why.to_string())
    }

    fn cpusets(&self, path: &Path, site: &Site<'_>) -> Result<SiteCpusets, String> {
        site_file::cpusets(path, site).map_err(|why| why.to_string())
    }
}

/// The machine of a text. A part of a known machine's name proposes it.
///
/// # Errors
/// A machine that cannot be read.
pub(crate) fn discovered(machine: &str) -> Result<Discovered, Failure> {
    let found = Source::parse(machine).and_then(|source| discover(&source));
    found.map_err(|why| match Known::proposed(machine) {
        names if names.is_empty() => why.into(),
        names => Unreadable(format!("{why}{names}")).into(),
    })
}

/// The release line of the Slurm that is installed here. slurmd answers without a configuration too.
fn installed() -> Option<Release> {
    static INSTALLED: LazyLock<Option<Release>> = LazyLock::new(|| {
        let versions = [("srun", "--version"), ("slurmd", "-V")].into_iter();
        let texts = versions.filter_map(|(program, option)| {
            slurm_commands::output(program, &[option], slurm_commands::MOST_OF_A_WORD).ok()
        });
        texts.into_iter().find_map(|text| release_in(&text))
    });
    *INSTALLED
}

/// The release line in `slurm 24.11.5` or `slurm-wlm 22.05.8`.
fn release_in(text: &str) -> Option<Release> {
    text.split_whitespace().find_map(|word| word.parse().ok())
}

/// Whether sbatch cannot read a script either, which it seeks in the working directory, then in `PATH`. It
/// does read a pipe, and at some sites more than we do.
fn is_unreadable(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut others = std::env::split_paths(&path);
    let is_elsewhere = !name.contains('/') && others.any(|folder| folder.join(name).exists());
    let is_none = fs::metadata(name).map_or(true, |found| {
        found.is_dir() || (found.is_file() && found.len() <= MOST)
    });
    is_none && !is_elsewhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_in_versions() {
        assert_eq!(release_in("slurm-wlm 22.05.8\n"), Some(Release::V22_05));
        assert_eq!(release_in("slurm 24.11.5"), Some(Release::V24_11));
        assert_eq!(release_in("srun: error"), None);
    }
}
