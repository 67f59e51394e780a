//! Brings a process into a job's extern step, as pam_slurm_adopt does. Source: `stepd_connect` and
//! `stepd_add_extern_pid` in src/common/stepd_api.c.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::Cluster;
use crate::srun_lines::release;

/// `REQUEST_ADD_EXTERN_PID`, on every release line.
const ADD_EXTERN_PID: i32 = 22;

/// Has the extern step adopt a process. `job` is the end of `NODE_JOB`, from its underline on or with the node.
///
/// # Panics
/// If the step does not answer, or on a release line whose protocol is not known.
pub fn adopt(cluster: &Cluster, job: &str, pid: i32) {
    let spool = cluster.folder().join("spool");
    let end = format!("{job}.4294967292");
    let path = cluster.wait_for("the extern step", || socket(&spool, &end));
    // The releases of Slurm count their protocols.
    let protocol = match release(cluster).name() {
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
    assert_eq!(ask(&[ADD_EXTERN_PID, pid]), 0, "it is not adopted");
}

fn socket(folder: &Path, end: &str) -> Option<PathBuf> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                return Some(path);
            }
        }
    }
    None
}
