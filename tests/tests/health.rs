//! `berth doctor` and the counters of a node, while a user tries to mislead them or to hold them up, beside a
//! real slurmd. `requests/health.txt` has what they report without such a user.

use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use berth_tests::{Cluster, command};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Somebody who is nobody in particular.
const USER: u32 = 65534;

fn cluster() -> Option<Cluster> {
    berth_tests::two_cpus().then(|| Cluster::builder().plugstack(Some("")).up())
}

/// What doctor says of slurmd: the verdict and the text.
fn slurmd_by_doctor(cluster: &Cluster) -> (String, String) {
    let done = Command::new(command())
        .args(["doctor", "--format=json", "--state-dir"])
        .arg(cluster.folder().join("run/berth"))
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let of_slurmd: Vec<_> = checks
        .iter()
        .filter(|check| check["what"] == "slurmd")
        .collect();
    assert_eq!(of_slurmd.len(), 1, "{checks:#?}");
    let text = |name: &str| of_slurmd[0][name].as_str().unwrap().to_owned();
    (text("verdict"), text("text"))
}

/// The process number and the command line of the cluster's slurmd.
fn slurmd(cluster: &Cluster) -> Option<(i32, Vec<u8>)> {
    let folder = cluster.folder().as_os_str().as_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = pids.filter_map(|pid| {
        let exe = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let name = exe.file_name()?.to_string_lossy().into_owned();
        let is_slurmd = name.starts_with("slurmd") && !name.starts_with("slurmstepd");
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let here = [&environment, &line]
            .iter()
            .any(|text| text.windows(folder.len()).any(|part| part == folder));
        (is_slurmd && here).then_some((pid, line))
    });
    found.next()
}

/// A user's process with slurmd's command line.
struct Impostor(Child);

impl Impostor {
    /// With `mode` 04755 the program has root's rights, as many that users may start.
    fn start(folder: &Path, line: &[u8], mode: u32) -> Self {
        let (code, program) = (folder.join("i.c"), PathBuf::from("/tmp"));
        let program = program.join(format!("berth-impostor-{mode:o}-{}", std::process::id()));
        fs::write(&code, "#include <unistd.h>\nint main(void) { pause(); }\n").unwrap();
        let built = Command::new("cc")
            .arg("-o")
            .args([&program, &code])
            .status();
        assert!(built.unwrap().success());
        fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        let words: Vec<_> = line.split(|byte| *byte == 0).collect();
        let words: Vec<_> = words[..words.len() - 1]
            .iter()
            .map(|word| std::ffi::OsStr::from_bytes(word))
            .collect();
        let child = Command::new(&program)
            .arg0(words[0])
            .args(&words[1..])
            .uid(USER)
            .gid(USER)
            .spawn();
        let impostor = Impostor(child.unwrap());
        let cmdline = format!("/proc/{}/cmdline", impostor.0.id());
        while fs::read(&cmdline).unwrap() != line {
            std::thread::yield_now();
        }
        let _ = fs::remove_file(program);
        impostor
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nobody_else_passes_for_slurmd() {
    let Some(cluster) = cluster() else { return };
    let (pid, line) = slurmd(&cluster).expect("a slurmd runs");
    let is_ok = |what: &str| {
        let (verdict, text) = slurmd_by_doctor(&cluster);
        assert_eq!(verdict, "ok", "{what}: {text}");
        assert!(text.contains(&format!("process {pid} ")), "{what}: {text}");
    };
    is_ok("before any launch");
    let older = [0o755, 0o4755].map(|mode| Impostor::start(cluster.folder(), &line, mode));
    is_ok("beside an impostor");
    cluster.srun(&["true"]).expect_ok();
    is_ok("after a launch, beside an impostor");

    // slurmd dies; who looks like it does not hide that.
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    cluster.wait_for("slurmd's end", || slurmd(&cluster).is_none().then_some(()));
    let (verdict, text) = slurmd_by_doctor(&cluster);
    assert_eq!(verdict, "wrong", "{text}");
    assert!(text.contains("not running; last seen as"), "{text}");
    drop(older);
    let (verdict, _) = slurmd_by_doctor(&cluster);
    assert_eq!(verdict, "wrong");

    // Started again, it is the new one that is meant.
    cluster.restart_slurmd();
    cluster.wait_idle();
    let (again, _) = slurmd(&cluster).expect("a slurmd runs");
    let (verdict, text) = slurmd_by_doctor(&cluster);
    assert_eq!(verdict, "ok", "{text}");
    assert!(text.contains(&format!("process {again} ")), "{text}");
}

fn node_dir(cluster: &Cluster) -> PathBuf {
    let node = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).stdout;
    cluster.folder().join("run/berth").join(node.trim())
}

#[test]
fn no_lock_of_a_users_holds_up_the_counters() {
    let Some(cluster) = cluster() else { return };
    cluster.srun(&["true"]).expect_ok();
    cluster.wait_for("the first step to be counted", || {
        cluster.metric("launches").filter(|count| *count == 1)
    });
    // Everything below the state directory that a user can open.
    let base = cluster.folder().join("run/berth");
    let entries = fs::read_dir(node_dir(&cluster)).unwrap().flatten();
    let files = entries.map(|entry| entry.path());
    let is_public = |path: &PathBuf| fs::metadata(path).unwrap().mode() & 0o004 != 0;
    let opened: Vec<File> = files
        .chain([node_dir(&cluster), base])
        .filter(is_public)
        .map(|path| File::open(path).unwrap())
        .collect();
    assert!(opened.len() >= 4, "{opened:?}");
    for file in &opened {
        // SAFETY: the descriptor is open, and the call touches no memory of ours.
        let held = unsafe { nix::libc::flock(file.as_raw_fd(), nix::libc::LOCK_EX) };
        assert_eq!(held, 0);
    }
    let since = Instant::now();
    for _ in 0..3 {
        cluster.srun(&["true"]).expect_ok();
    }
    cluster.wait_for("the next steps to be counted", || {
        cluster.metric("launches").filter(|count| *count == 4)
    });
    assert!(!cluster.srun(&["--cpu-bind=map_cpu:77", "true"]).ok());
    cluster.wait_for("the refusal to be counted", || {
        cluster.metric("refused").filter(|count| *count == 1)
    });
    assert!(since.elapsed() < Duration::from_secs(20));
}
