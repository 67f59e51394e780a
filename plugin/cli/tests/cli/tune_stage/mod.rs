//! A stand-in for srun, a program, and the job around them, for tests of `berth tune`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::run::Done;
use serde_json::Value;
use tempfile::TempDir;

/// A stand-in for srun: it runs `./app` with its own options in `OPTIONS`. A task of `berth report` says nothing.
const SRUN: &str = r#"#!/bin/sh
for word; do case $word in */berth) exit 0;; --version) echo slurm 26.05.0; exit 0;; esac; done
OPTIONS="$*" exec ./app
"#;

/// A folder in which a program is tuned.
pub struct Stage(TempDir);

impl Stage {
    /// A folder with srun and a program.
    pub fn new(app: &str) -> Self {
        let stage = Self(TempDir::new().unwrap());
        stage.script("srun", SRUN);
        stage.script("app", &format!("#!/bin/sh\n{app}\n"));
        stage
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn script(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `berth tune` with the words of a line.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
        command.arg("tune").args(shlex::split(line).unwrap());
        self.around(&mut command);
        command
    }

    /// Has a command run in a job, with the stand-ins.
    pub fn around(&self, command: &mut Command) {
        let path = format!("{}:/usr/bin:/bin", self.path().display());
        command
            .env_clear()
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8");
        command
            .env("SLURM_JOB_ID", "7")
            .env("BERTH_STATE_DIR", "/nonexistent")
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub fn tune(&self, line: &str) -> Done {
        Done::of(self.command(line).output().unwrap())
    }

    /// Starts it, and waits until so many runs are kept.
    pub fn started(&self, line: &str, runs: usize) -> Child {
        let child = self.command(line).spawn().unwrap();
        let by = Instant::now() + Duration::from_secs(30);
        while self.runs().len() < runs && Instant::now() < by {
            sleep(Duration::from_millis(10));
        }
        child
    }

    /// The lines of the runs that are kept.
    pub fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path().join("f/runs.jsonl")).unwrap_or_default();
        text.lines()
            .skip(1)
            .filter(|line| !line.is_empty())
            .map(String::from)
            .collect()
    }

    pub fn result(&self) -> Value {
        let text = fs::read(self.path().join("f/result.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

impl Done {
    /// Whether it ended with this exit code, and shows these parts.
    pub fn shows(&self, code: i32, parts: &[&str]) -> &Self {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert_eq!(self.code, code, "{self:#?}");
        // Text is folded where a line ends.
        let all: Vec<_> = all.split_whitespace().collect();
        let all = all.join(" ");
        for part in parts {
            assert!(all.contains(part), "{part}: {self:#?}");
        }
        self
    }
}
