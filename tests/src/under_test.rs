//! Which files are tested, and the list of tests that could not run.
//! `ci/test` sets the variables; without them the release build's files are meant.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The built `task_berth.so`: `BERTH_OBJECT`, else the release build's.
pub fn object() -> PathBuf {
    built("BERTH_OBJECT", "libtask_berth.so")
}

/// The debug build of the object, in which a test can plant a panic.
pub fn debug_object() -> PathBuf {
    let path = workspace().join("target/debug/libtask_berth.so");
    assert!(
        path.is_file(),
        "{} is not there; build it (cargo build -p task_berth)",
        path.display()
    );
    path
}

/// The built command `berth`: `BERTH_COMMAND`, else the release build's.
pub fn command() -> PathBuf {
    built("BERTH_COMMAND", "berth")
}

/// The client that sends what srun would not: `BERTH_HOSTILE_CLIENT`, else the release build's.
pub fn hostile_client() -> PathBuf {
    built("BERTH_HOSTILE_CLIENT", "libberth_hostile.so")
}

fn built(variable: &str, name: &str) -> PathBuf {
    let path = match std::env::var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => workspace().join("target/release").join(name),
    };
    assert!(
        path.is_file(),
        "{} is not there; build it (cargo build --release --workspace) or set {variable}",
        path.display()
    );
    path
}

/// The top folder of the source tree.
pub(crate) fn workspace() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests/ lies in the workspace")
}

/// Says that the calling test does not run here, and why; the test then returns.
/// `ci/test` counts and lists these from the file named by `BERTH_SKIP_FILE`.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let why = why.lines().next().unwrap_or_default();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped {line}");
    if let Some(file) = std::env::var_os("BERTH_SKIP_FILE") {
        // One short write in append mode: tests in parallel do not mix their lines.
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(&file)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|error| panic!("BERTH_SKIP_FILE {}: {error}", file.display()));
    }
}

/// Whether a program is installed here; if not, the calling test says that it skips a part.
pub fn program(name: &str, what: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()));
    if !found {
        skip(&format!("needs {what}"));
    }
    found
}

/// Whether this machine has the two CPUs that nearly every fact about binding needs. If not, the
/// calling test counts as skipped.
pub fn two_cpus() -> bool {
    let enough = std::thread::available_parallelism().map_or(1, usize::from) >= 2;
    if !enough {
        skip("needs two CPUs");
    }
    enough
}

/// Whether the kernel has memory policies. If not, the calling test counts as skipped.
pub fn memory_policies() -> bool {
    let there = Path::new("/proc/self/numa_maps").exists();
    if !there {
        skip("this kernel has no memory policies");
    }
    there
}

/// Whether Slurm's cgroups can have cpusets. If not, the calling test counts as skipped.
pub fn cgroup_cpusets() -> bool {
    let v2 = std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    let there = v2.split_whitespace().any(|one| one == "cpuset")
        || Path::new("/sys/fs/cgroup/cpuset/cpuset.cpus").exists();
    if !there {
        skip("there are no cgroups with cpusets");
    }
    there
}
