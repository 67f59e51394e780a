//! Where the installed Slurm keeps its plugins: asked of slurmd, which is linked with the library
//! that lies beside them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where daemons are when `PATH` is a user's.
const MORE: &str = "/usr/sbin:/usr/local/sbin:/sbin";

/// The installed slurmd.
#[must_use]
pub fn slurmd() -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    [path.as_str(), MORE]
        .into_iter()
        .flat_map(|list| list.split(':'))
        .map(|folder| Path::new(folder).join("slurmd"))
        .find(|file| file.is_file())
}

/// The folder of Slurm's library and plugins; none where no Slurm is installed.
#[must_use]
pub fn plugin_dir() -> Option<PathBuf> {
    let said = Command::new("ldd").arg(slurmd()?).output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = said.lines().find(|line| line.contains("libslurmfull.so"))?;
    let file = line.split_whitespace().find(|word| word.starts_with('/'))?;
    Some(Path::new(file).parent()?.to_owned())
}
