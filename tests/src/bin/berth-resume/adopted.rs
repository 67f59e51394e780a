//! A process that is adopted into a job's extern step, as pam_slurm_adopt does it, while the job's cpuset moves.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use berth_tests::process;
use berth_tests::srun_lines::release;

use crate::scenes::{ANY, Scene};
use crate::site::{Job, Site, is_frozen, leaf};

pub const SCENES: [Scene; 1] = [("adopted-processes-follow", follows)];

/// A slurmstepd is asked so to adopt a process (`REQUEST_ADD_EXTERN_PID`), on every release line.
const ADD_EXTERN_PID: i32 = 22;
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that a login would be.
struct Login(Child);

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follows(site: &Site) {
    let job = site.job(ANY);
    assert_eq!(masks(&job), ["0-1", "2-3"]);
    let sleep = Command::new("taskset")
        .args(["-c", "15", "sleep", "600"])
        .spawn();
    let login = Login(sleep.expect("taskset"));
    let pid = login.0.id() as i32;
    adopt(site, &job, pid);
    let place = || {
        let mask = process::status(pid, "Cpus_allowed_list").unwrap_or_default();
        (mask, leaf(pid, "cpuset.cpus.effective"))
    };
    assert_eq!(place(), ("0-3".into(), "0-3".into()));
    site.suspend(&job);
    site.cluster
        .wait_for("the frozen login", || is_frozen(pid).then_some(()));
    site.other(8);
    site.resume(&job);
    let start = Instant::now();
    // It does not run before it is where its job is.
    while leaf(pid, "cgroup.freeze") == "1" {
        assert!(start.elapsed() < PATIENCE, "it stays frozen");
    }
    assert_eq!(place(), ("8-11".into(), "8-11".into()));
    println!(
        "  it runs {:.1} s after scontrol resume",
        start.elapsed().as_secs_f64()
    );
    site.wait_running(&job.tasks);
    assert_eq!(masks(&job), ["8-9", "10-11"]);
}

fn masks(job: &Job) -> Vec<String> {
    let seen = job.tasks.seen().into_iter();
    seen.map(|seen| seen.mask).collect()
}

/// Brings a process into a job's extern step.
fn adopt(site: &Site, job: &Job, pid: i32) {
    let spool = site.cluster.folder().join("spool");
    let path = site
        .cluster
        .wait_for("the extern step", || socket(&spool, &job.id));
    let line = release(&site.cluster);
    // The releases of Slurm count their protocols.
    let protocol = match line.name() {
        "22.05" => 38,
        "24.11" => 42,
        "26.05" => 45,
        other => panic!("how slurmstepds of {other} are asked is not known"),
    } << 8;
    let mut stream = UnixStream::connect(path).expect("the extern step's socket");
    let mut ask = |numbers: &[i32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_ne_bytes()).collect();
        stream.write_all(&bytes).expect("a request");
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).expect("an answer");
        i32::from_ne_bytes(answer)
    };
    assert!(ask(&[protocol]) >= protocol);
    assert_eq!(ask(&[ADD_EXTERN_PID, pid]), 0);
}

/// The socket of a job's extern step.
fn socket(folder: &Path, job: &str) -> Option<PathBuf> {
    let end = format!("_{job}.4294967292");
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(&end) {
                return Some(path);
            }
        }
    }
    None
}
