//! For tests: a folder that looks like the cgroup below which Slurm keeps a node's jobs, with programs that are named
//! as slurmstepd's.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use std::{fs, io, thread};

use super::{Folder, Place};

/// A copy of a program with the name of slurmstepd, as a node runs it.
pub(super) fn program(dir: &Path) -> Child {
    program_named(dir, "slurmstepd", 0)
}

pub(super) fn program_named(dir: &Path, name: &str, uid: u32) -> Child {
    let program = dir.join(name);
    if !program.exists() {
        fs::copy("/bin/sleep", &program).unwrap();
    }
    // A child that another test forks meanwhile has the copy open for a moment.
    let started = (0..100).find_map(|_| {
        let started = Command::new(&program).arg("60").uid(uid).spawn();
        let is_busy = |why: &io::Error| why.kind() == io::ErrorKind::ExecutableFileBusy;
        match started.as_ref().err().is_some_and(is_busy) {
            true => {
                thread::sleep(Duration::from_millis(10));
                None
            }
            false => Some(started.unwrap()),
        }
    });
    started.unwrap()
}

/// A folder with files `PATH TEXT; …`, and ` / ` between the lines of a text; `nothing` is an empty folder.
pub(crate) fn folder(files: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files.split("; ").filter(|file| *file != "nothing") {
        match file.split_once(' ') {
            Some((path, text)) => write(dir.path(), path, &(text.replace(" / ", "\n") + "\n")),
            None => write(dir.path(), file, ""),
        }
    }
    dir
}

/// The place of such a folder.
pub(super) fn place(dir: &Path) -> Place {
    Place::made_up(dir)
}

pub(super) fn open(dir: &Path) -> Folder {
    place(dir).open().unwrap()
}

pub(super) fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Writes a file of a cgroup, and makes the folders above it.
pub(super) fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
