//! A cluster's configuration for a dry run: a slurm.conf with its included files, or what scontrol
//! shows of the cluster that it reaches.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_answer::world::{ClusterConfig, LIVE};
use berth_host::script_file;
use berth_site::read_settings::PlugstackLine;
use berth_srun::Config;

use super::{slurm_commands, state};

/// Ten thousand nodes have less.
const MOST: u64 = 64 << 20;

thread_local! {
    /// Those that were read: a file of requests asks one cluster many times.
    static READ: RefCell<HashMap<String, NamedCluster>> = RefCell::default();
}

/// A cluster that `--cluster` names.
#[derive(Clone)]
pub(super) struct NamedCluster {
    pub config: ClusterConfig,
    /// berth's line in its plugstack.conf, if this user may read one.
    pub plugstack: Option<Arc<PlugstackLine>>,
}

/// Reads it, once.
pub(super) fn named(text: &str) -> NamedCluster {
    if let Some(known) = READ.with_borrow(|read| read.get(text).cloned()) {
        return known;
    }
    let config = match text {
        LIVE => shown(),
        path => of_file(Path::new(path)),
    };
    let found = NamedCluster {
        plugstack: config
            .as_ref()
            .ok()
            .and_then(|config| plugstack(text, config)),
        config,
    };
    READ.with_borrow_mut(|read| read.insert(text.into(), found.clone()));
    found
}

fn plugstack(text: &str, config: &Config) -> Option<Arc<PlugstackLine>> {
    let named = config.plug_stack_config.as_deref().map(Path::new);
    let path = match text {
        LIVE => place_shown(named, config)?,
        path => state::place(named, Path::new(path).parent()?),
    };
    state::line(&path).map(Arc::new)
}

/// scontrol shows the whole path of a file that slurm.conf names. Without one it is beside slurm.conf: where slurmctld has
/// that, or where this machine has its own.
fn place_shown(named: Option<&Path>, config: &Config) -> Option<PathBuf> {
    if named.is_some_and(Path::is_absolute) {
        return named.map(PathBuf::from);
    }
    let shown = config.slurm_conf.iter().map(PathBuf::from);
    let beside = shown.chain(state::confs());
    let mut places = beside.filter_map(|conf| Some(state::place(None, conf.parent()?)));
    places.find(|path| path.is_file())
}

/// The cluster of the slurmd that runs here, if this user may read its configuration.
pub(crate) fn of_this_node() -> Option<Arc<Config>> {
    state::confs().find_map(|path| named(path.to_str()?).config.ok())
}

fn of_file(path: &Path) -> ClusterConfig {
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    let text = read(path)?;
    let mut included = |name: &str| read(&folder.join(name));
    let config = Config::read(&path.to_string_lossy(), &text, &mut included);
    let mut config = config.map_err(|why| why.to_string())?;
    let beside = folder.join("cgroup.conf");
    if beside.exists() {
        let text = read(&beside)?;
        let added = config.add_cgroup_conf(&beside.to_string_lossy(), &text);
        added.map_err(|why| why.to_string())?;
    }
    Ok(Arc::new(config))
}

fn read(path: &Path) -> Result<String, String> {
    script_file::text(path, MOST).map_err(|why| format!("{}: {why}", path.display()))
}

fn shown() -> ClusterConfig {
    let show = |words: &[&str]| slurm_commands::output("scontrol", words, MOST);
    let (config, nodes) = (show(&["show", "config"])?, show(&["-o", "show", "nodes"])?);
    let partitions = show(&["-o", "show", "partition"])?;
    let config = Config::shown(&config, &nodes, &partitions);
    config.map(Arc::new).map_err(|why| why.to_string())
}
