//! Real-time tasks do not hide from slurmd in folders of their own. Slurm 22.05 gives the folder of a task to its user, who
//! can make others there, by any name and as deep as he likes; the kernel lets him move nobody there, for the list of the
//! processes in the task's folder is root's.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::fences::open_to_users;
use crate::job::start_as_user;
use crate::program;
use crate::scenes::Scene;
use crate::{Here, Told};

pub(crate) const SCENES: &[Scene] = &[Scene::of(&["realtime"], "hidden in its job", hidden)];

/// What a user would try.
const NAMES: [&[u8]; 4] = [b"plain", b".dot", b"\xff", b"one/two/three/four/five/six"];
/// What the kernel said of each.
const SAID: [&str; 3] = ["no folder", "nobody moved", "moved"];

/// The role: makes folders in the task's own, and moves a child that works into each. Writes down what the kernel said.
pub(crate) fn hide(threads: u32, folder: &Path) {
    let own = fs::read_to_string("/proc/self/cgroup").expect("a cgroup");
    let path = own.trim().strip_prefix("0::/").unwrap_or_default();
    let own = Path::new("/sys/fs/cgroup").join(path);
    let (mut text, told) = (String::new(), folder.join("children"));
    fs::create_dir(&told).expect("a folder");
    for name in NAMES {
        let place = own.join(OsStr::from_bytes(name));
        let said = SAID[moved(&place, threads, &told)];
        // A String takes everything.
        let _ = writeln!(text, "{said}: {}", place.display());
    }
    fs::write(folder.join("hidden"), text).expect("a file");
    program::tell(folder);
    std::thread::sleep(Duration::from_secs(3600));
}

/// How far it came.
fn moved(place: &Path, threads: u32, folder: &Path) -> usize {
    if fs::create_dir_all(place).is_err() {
        return 0;
    }
    let me = std::env::current_exe().expect("this program's path");
    let mut spin = Command::new(me);
    spin.arg("spin").arg(threads.to_string()).arg(folder);
    let mut child = spin.spawn().expect("a child");
    match fs::write(place.join("cgroup.procs"), child.id().to_string()) {
        Ok(()) => 2,
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            1
        }
    }
}

fn hidden(here: &Here) -> Told {
    open_to_users(here);
    let job = start_as_user(&here.cluster, &["-pmulti8", "-D/"], ("hide", 1, 1))?;
    let text = fs::read_to_string(job.told.join("hidden")).unwrap_or_default();
    text.lines().for_each(|line| println!("  {line}"));
    let of = |said: &str| text.lines().filter(|line| line.starts_with(said)).count();
    match SAID.map(of) {
        [without, alone, 0] if without + alone == NAMES.len() => Ok(()),
        _ => Err("a task of a pool is in a folder that its user has made".into()),
    }
}
