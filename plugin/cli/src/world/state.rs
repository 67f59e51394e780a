//! The state directory of the slurmd that runs here, for every subcommand: the user names it, or `state_dir=` in the
//! plugstack.conf of the cluster does. The nodes that keep their state there, and the one that berth serves here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_answer::world::BerthNode;
use berth_host::plugstack::read;
use berth_host::state::DEFAULT_BASE;
use berth_host::{OnlineCpus, StateDir, announcement, kernel_text, machine_file};
use berth_placement::Machine;
use berth_srun::conf::text::last_value;

use crate::Failure;
use crate::slurmd::{parent_of_roots, processes};

pub(crate) use berth_host::plugstack::line;

/// The variable that names it.
pub(crate) const VARIABLE: &str = "BERTH_STATE_DIR";

/// Where slurm.conf is if nothing says so; a node without the file gets it from slurmctld.
const USUAL: [&str; 3] = [
    "/etc/slurm/slurm.conf",
    "/run/slurm/conf/slurm.conf",
    "/usr/local/etc/slurm.conf",
];

/// The directory to use: the one given, the variable's, the one of the cluster that `SLURM_CONF`
/// names, of a slurmd that runs here, or of the usual slurm.conf; else the default.
pub(crate) fn base(given: Option<&Path>) -> PathBuf {
    if let Some(given) = given {
        return given.into();
    }
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return named.into();
    }
    let default = PathBuf::from(DEFAULT_BASE);
    let mut bases = confs().filter_map(|path| state_dir(&path));
    let has_nodes = |base: &PathBuf| !nodes_of(base, None).is_empty();
    // A configuration without state_dir= has the default.
    bases.find(has_nodes).unwrap_or(default)
}

/// The files that may be the slurm.conf of this node, the best first; the one that `SLURM_CONF` names alone.
pub(super) fn confs() -> impl Iterator<Item = PathBuf> {
    let named = std::env::var_os("SLURM_CONF").map(PathBuf::from);
    let found = || of_slurmds().into_iter().chain(USUAL.map(PathBuf::from));
    let found = named.is_none().then(found);
    named.into_iter().chain(found.into_iter().flatten())
}

/// The slurm.conf of each slurmd of root's that runs here, as its command line gives it.
fn of_slurmds() -> Vec<PathBuf> {
    let found = processes().filter_map(|pid| {
        let name = kernel_text::read(format!("/proc/{pid}/comm")).ok()?;
        parent_of_roots(pid).filter(|_| is_slurmd(name.trim_end()))?;
        of_command_line(&fs::read(format!("/proc/{pid}/cmdline")).ok()?)
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.dedup();
    found
}

/// Debian calls the file `slurmd-wlm`.
fn is_slurmd(name: &str) -> bool {
    name == "slurmd" || name.starts_with("slurmd-")
}

/// `slurmd -f FILE -N node`
fn of_command_line(line: &[u8]) -> Option<PathBuf> {
    let mut words = line.split(|byte| *byte == 0).skip(1);
    while let Some(word) = words.next() {
        let path = match word {
            b"-f" => words.next()?,
            _ => word.strip_prefix(b"-f").unwrap_or_default(),
        };
        if !path.is_empty() {
            let path = Path::new(OsStr::from_bytes(path));
            return path.is_absolute().then(|| path.into());
        }
    }
    None
}

/// The node asked for if it has a folder, or all that have written something.
pub(crate) fn nodes_of(state_dir: &Path, requested: Option<&str>) -> Vec<String> {
    if let Some(node) = requested {
        let has_folder = state_dir.join(node).is_dir();
        return has_folder.then(|| node.into()).into_iter().collect();
    }
    let Ok(entries) = std::fs::read_dir(state_dir) else {
        return Vec::new();
    };
    let is_node = |path: &Path| {
        [machine_file::NAME, announcement::NAME]
            .iter()
            .any(|name| path.join(name).exists())
    };
    let mut nodes: Vec<_> = entries
        .flatten()
        .filter(|entry| is_node(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    nodes.sort();
    nodes
}

/// The node of this host that berth serves: slurmd's announcement and its machine, as every user may read them. Files that
/// somebody else than root could have written do not count.
pub(super) fn served_node() -> Option<BerthNode> {
    let base = base(None);
    let own = std::env::var("SLURMD_NODENAME").ok();
    let nodes = nodes_of(&base, None);
    let name = own.filter(|own| nodes.contains(own));
    let name = name.or_else(|| nodes.first().cloned())?;
    let dir = StateDir::new(&base, &name).ok()?;
    let words = announcement::read(&dir).ok()?;
    Some(BerthNode {
        others: nodes.into_iter().filter(|node| *node != name).collect(),
        rules: words.site_rules(),
        machine: machine(&dir),
        words,
        name,
    })
}

/// slurmd's machine: the whole node, also for a user whose cgroup shows a part of it. A variable of
/// hwloc's asks for another machine.
fn machine(dir: &StateDir) -> Option<Arc<Machine>> {
    let is_pretended = |name| std::env::var_os(name).is_some();
    if ["HWLOC_SYNTHETIC", "HWLOC_XMLFILE"]
        .into_iter()
        .any(is_pretended)
    {
        return None;
    }
    let file = machine_file::read(dir.machine_path()).ok()?;
    let online = OnlineCpus::open().ok();
    let same = |online: OnlineCpus| online.unchanged(&file.proof.online);
    let is_fresh = !file.this_system || online.is_none_or(same);
    is_fresh.then(|| Arc::new(file.machine))
}

/// The directory and the nodes of a command's options.
///
/// # Errors
/// There are none.
pub(crate) fn dir_and_nodes(
    dir: Option<&Path>,
    node: Option<&str>,
) -> Result<(PathBuf, Vec<String>), Failure> {
    let dir = base(dir);
    let nodes = nodes_of(&dir, node);
    if nodes.is_empty() {
        let name = node.map(|node| format!(" {node}")).unwrap_or_default();
        return Err(format!(
            "no node{name} keeps its state in {}; check that slurmd runs with berth, and give \
         --state-dir if state_dir= is another directory",
            dir.display()
        )
        .into());
    }
    Ok((dir, nodes))
}

/// `state_dir=` of the line for task_berth.so; `None` without such a line or word.
pub(crate) fn state_dir(slurm_conf: &Path) -> Option<PathBuf> {
    let conf = read(slurm_conf)?;
    let folder = slurm_conf.parent()?;
    let mut included =
        |name: &str| read(&folder.join(name)).ok_or_else(|| "it cannot be read".into());
    let named = last_value("slurm.conf", &conf, "plugstackconfig", &mut included);
    let line = line(&place(named.as_deref().map(Path::new), folder))?;
    let mut words = line.words.iter().rev();
    let last = words.find_map(|word| word.strip_prefix("state_dir="));
    last.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The plugstack.conf of a slurm.conf in a folder: the one that it names, or the one beside it.
pub(crate) fn place(named: Option<&Path>, folder: &Path) -> PathBuf {
    folder.join(named.unwrap_or(Path::new("plugstack.conf")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_file_of_a_command_line() {
        let of = |line: &str| of_command_line(line.replace(' ', "\0").as_bytes());
        assert_eq!(
            of("slurmd -f /etc/s.conf -N n1"),
            Some("/etc/s.conf".into())
        );
        assert_eq!(of("slurmd -D -f/etc/s.conf"), Some("/etc/s.conf".into()));
        assert_eq!(of("slurmd -N n1"), None);
        assert_eq!(of("slurmd -f relative"), None);
        assert_eq!(of("slurmd -f"), None);
    }

    #[test]
    fn the_two_words_are_found_also_in_included_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let conf = at("slurm.conf");
        fs::write(&conf, "ClusterName=a\n").unwrap();
        assert_eq!(state_dir(&conf), None);
        fs::write(
            at("plugstack.conf"),
            "# optional task_berth.so state_dir=/no\noptional other.so state_dir=/other\n\
             optional /usr/lib/task_berth.so compat=berth state_dir=/var/lib/berth # a comment\n",
        )
        .unwrap();
        assert_eq!(state_dir(&conf), Some("/var/lib/berth".into()));
        let other = at("other.conf");
        fs::write(&other, "required task_berth.so state_dir=relative\n").unwrap();
        let text = format!("plugstackconfig = {} # here\n", other.display());
        fs::write(&conf, text).unwrap();
        assert_eq!(state_dir(&conf), None);
        fs::write(&other, "required task_berth.so state_dir=/run/b\n").unwrap();
        assert_eq!(state_dir(&conf), Some("/run/b".into()));
        fs::write(at("more.conf"), fs::read(&conf).unwrap()).unwrap();
        fs::write(&conf, "ClusterName=a\nInclude more.conf\n").unwrap();
        assert_eq!(state_dir(&conf), Some("/run/b".into()));
    }
}
