//! The texts and job files that `berth check` reads: what anybody may have written there does no harm.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::run::{berth, command, output};
use serde_json::Value;

/// Runs it in a folder, and ends it if it waits.
fn within(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = command()
        .arg("check")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    assert!(ended.is_some(), "{arguments:?} waits");
    child.wait_with_output().unwrap()
}

#[test]
fn what_is_no_job_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    fs::create_dir(path("folder")).unwrap();
    symlink(path("loop"), path("loop")).unwrap();
    symlink("/dev/zero", path("zero")).unwrap();
    fs::write(path("large"), vec![b'#'; 5 << 20]).unwrap();
    for (name, why) in [
        ("pipe", "no regular file"),
        ("folder", "no regular file"),
        ("zero", "no regular file"),
        ("loop", "Too many levels of symbolic links"),
        ("large", "more than 4194304 bytes"),
    ] {
        let done = within(folder.path(), &[&format!("sbatch -n4 {name}")]);
        let stderr = String::from_utf8(done.stderr).unwrap();
        assert!(
            stderr.contains(&format!("{name} was not read: ")) && stderr.contains(why),
            "{stderr}"
        );
        assert_eq!(done.status.code(), Some(0), "{name}");
    }
    fs::write(path("nul"), b"#!/bin/sh\n#SBATCH -n4\0-c2\nsrun \0 ./a\n").unwrap();
    let nul = within(folder.path(), &["sbatch nul"]);
    assert!(nul.status.code().is_some());
    let endless = within(folder.path(), &["zero"]);
    assert_eq!(endless.status.code(), Some(2));
}

#[test]
fn hostile_texts_end() {
    let long = "x".repeat(100_000);
    let many = |text: &str, times: usize| text.repeat(times);
    for text in [
        format!("srun -n4 {long} ./a"),
        format!("sbatch <<{long}\nsrun ./a\n{long}\n"),
        format!("sbatch <<E\nsrun -n4 {long} srun\nE\n"),
        many("cat <<E ", 10_000),
        many("sbatch <<E\n#SBATCH -n4\nsrun srun ./a\nE\n", 100),
        many("sbatch <<E\n", 5_000),
        many("bash <<E\n", 5_000) + "srun -n4 srun ./a\n",
        many("sbatch job.sh\n", 10_000),
        many("cat > f <<E\nsbatch f\nE\nsbatch f\n", 2_000),
        "sbatch <<E\nsrun -n4 srun \0 ./a\0\nE\0\nE\n".into(),
        "sbatch <<\nsrun\n".into(),
        "sbatch <<''\nsrun -n2 srun ./a\n\nsrun ./b".into(),
        "sbatch <<E\\\nF\nsrun -n2 srun a\nEF\n".into(),
        "cat > f <<E; sbatch f\nsrun srun\nE".into(),
    ] {
        let mut check = command();
        check.args(["check", "--slurm=22.05", "--format=script", "-"]);
        let done = output(&mut check, text.as_bytes());
        assert!(done.status.code().is_some(), "{text:.60}");
    }
}

/// Also where the last line has no end.
#[test]
fn other_bytes_stay() {
    let folder = tempfile::tempdir().unwrap();
    for (script, expected) in [
        (
            &b"# gr\xfc\xdfe \x1b[31m\r\nsrun -n2 --cpu-bind=rank ./app \xff\r\n"[..],
            &b"# gr\xfc\xdfe \x1b[31m\r\nsrun -n2 --cpu-bind=threads ./app \xff\r\n"[..],
        ),
        (
            b"#!/bin/sh\r\n#SBATCH -n2\r\nsrun ./a\r \r\n",
            b"#!/bin/sh\n#SBATCH -n2\nsrun ./a\r \n",
        ),
        (
            b"srun -n2 --cpu-bind=rank ./app",
            b"srun -n2 --cpu-bind=threads ./app",
        ),
    ] {
        fs::write(folder.path().join("job.sh"), script).unwrap();
        let words = ["--slurm=24.11", "--format=script", "job.sh"];
        assert_eq!(within(folder.path(), &words).stdout, expected);
    }
}

/// sbatch takes a script of 4 MiB, and so do berth plan and berth check.
#[test]
fn a_large_script_is_read_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("job.sh");
    let place = ["plan", "--machine=pack:2 core:4 pu:2", "--format=json"];
    let line = format!("sbatch -n2 {}", script.display());
    for (comments, is_read) in [(2 << 16, true), (5 << 16, false)] {
        let text = format!(
            "#!/bin/sh\n{}srun ./a\n",
            "# 16 bytes long\n".repeat(comments)
        );
        fs::write(&script, text).unwrap();
        let done = berth(&[&place[..], &[&line]].concat(), "");
        let plan: Value = serde_json::from_str(&done.stdout).unwrap();
        let steps = plan["job"]["steps"].as_array().map_or(0, Vec::len);
        assert_eq!(steps, usize::from(is_read), "{}", done.stderr);
        let stderr = berth(&["check", &line], "").stderr;
        assert_eq!(stderr.contains("was not read"), !is_read, "{stderr}");
    }
}
