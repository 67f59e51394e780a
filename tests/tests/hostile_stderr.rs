//! A user chooses what a job's stderr is: a full pipe that nobody reads must not hold slurmstepd,
//! which is root and has something to say there.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use berth_tests::hostile::{self, Attacker, Victim};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// A pipe with a name that takes nothing any more, as long as the file is kept.
fn full_pipe(attacker: &Attacker<'_>, name: &str) -> std::fs::File {
    let path = attacker.folder().join(name);
    mkfifo(&path, Mode::from_bits_truncate(0o666)).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let mut pipe = options.custom_flags(0o4000).open(&path).unwrap();
    while pipe.write(&[b'x'; 4096]).is_ok() {}
    pipe
}

#[test]
fn a_full_pipe_as_stderr_holds_nobody() {
    let victim = Victim::start(hostile::berth(""));
    let attacker = Attacker::new(victim.cluster());
    let _step = full_pipe(&attacker, "step0");
    let _script = full_pipe(&attacker, "script");
    let folder = attacker.folder().to_string_lossy().into_owned();
    let start = Instant::now();
    // A note on stderr reports a binding that fails; a strict one keeps a script from starting.
    let step = attacker.run(
        "srun",
        &[
            "-n1",
            "-e",
            &format!("{folder}/step%t"),
            "--binding=explicit:9,9",
            "true",
        ],
        &[],
    );
    assert!(step.ok(), "{step:#?}");
    let script = attacker.run(
        "sbatch",
        &[
            "--wait",
            "-n1",
            "-o",
            "/dev/null",
            "-e",
            &format!("{folder}/script"),
            "--binding=strict:explicit:9,9",
            "--wrap=true",
        ],
        &[],
    );
    assert!(!script.ok(), "{script:#?}");
    let took = start.elapsed();
    victim.stands();
    assert!(took < Duration::from_secs(30), "{took:?}");
}
