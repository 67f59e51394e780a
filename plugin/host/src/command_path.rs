//! Finds the command `berth` if no setting names it: beside the plugin's own
//! installation first, because that is the same release.
//! In: the path of the plugin object. Out: the command's path, or the paths that were tried.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// There is no command in any of the usual places.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the command berth was not found (tried {tried}); install it in one of these, or set command= in \
     plugstack.conf", tried = listed(.0)
)]
pub struct NoCommand(pub Vec<PathBuf>);

/// The first that exists of `<prefix>/bin/berth` for an object in
/// `<prefix>/lib…`, `/usr/local/bin/berth` and `/usr/bin/berth`.
///
/// # Errors
/// [`NoCommand`] lists the paths tried.
pub fn default_command(object: &Path) -> Result<PathBuf, NoCommand> {
    let tried = candidates(object);
    match tried.iter().find(|path| path.is_file()) {
        Some(found) => Ok(found.clone()),
        None => Err(NoCommand(tried)),
    }
}

fn candidates(object: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = prefix_of(object)
        .map(|prefix| prefix.join("bin/berth"))
        .into_iter()
        .collect();
    for usual in ["/usr/local/bin/berth", "/usr/bin/berth"] {
        if !paths.iter().any(|path| path == Path::new(usual)) {
            paths.push(usual.into());
        }
    }
    paths
}

/// The path before the innermost `lib`, `lib64` or `lib32`.
fn prefix_of(object: &Path) -> Option<&Path> {
    let is_lib = |name: &OsStr| ["lib", "lib64", "lib32"].iter().any(|lib| name == *lib);
    object
        .ancestors()
        .find(|above| above.file_name().is_some_and(is_lib))
        .and_then(Path::parent)
        .filter(|prefix| prefix.is_absolute())
}

fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_prefix_comes_first() {
        for (object, first) in [
            ("/opt/slurm/lib/slurm/task_berth.so", "/opt/slurm/bin/berth"),
            (
                "/opt/slurm/lib64/slurm/task_berth.so",
                "/opt/slurm/bin/berth",
            ),
            (
                "/usr/lib/x86_64-linux-gnu/slurm-wlm/task_berth.so",
                "/usr/bin/berth",
            ),
            ("/srv/plugins/task_berth.so", "/usr/local/bin/berth"),
            ("lib/task_berth.so", "/usr/local/bin/berth"),
        ] {
            let tried = candidates(Path::new(object));
            assert_eq!(tried[0], Path::new(first), "{object}");
            let mut twice = tried.clone();
            twice.dedup();
            assert_eq!(twice, tried);
        }
    }

    #[test]
    fn the_installed_one_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("lib/slurm/task_berth.so");
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        let command = dir.path().join("bin/berth");
        fs::write(&command, "").unwrap();
        assert_eq!(default_command(&object).unwrap(), command);
    }

    #[test]
    fn the_text_lists_what_was_tried() {
        let told = NoCommand(candidates(Path::new("/opt/a/lib/x.so"))).to_string();
        for part in ["/opt/a/bin/berth", "/usr/bin/berth", "command="] {
            assert!(told.contains(part), "{told}");
        }
    }
}
