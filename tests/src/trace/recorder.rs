//! Records events of the kernel's scheduler by tracefs, in an instance of its own. Events that the kernel had no room
//! for are an error, so that no trace with holes is ever taken for a whole one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const MOUNT: &str = "/sys/kernel/tracing";
const EVENTS: [&str; 4] = [
    "sched_switch",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
];
/// What `per_cpu/cpuN/stats` counts of events that are not there.
const LOSSES: [&str; 3] = ["overrun", "commit overrun", "dropped events"];

/// A trace that goes on until the value is dropped.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
}

/// Events that the kernel had no room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(pub String);

impl Recorder {
    /// Begins to trace these threads and all that they start, with so much room on each CPU.
    ///
    /// # Errors
    /// A kernel without these events, or one that gives no room.
    pub fn start(name: &str, kib: u32, threads: &[i32]) -> io::Result<Self> {
        if !Path::new(MOUNT).join("instances").exists() {
            let done = Command::new("mount")
                .args(["-t", "tracefs", "tracefs", MOUNT])
                .status()?;
            if !done.success() {
                return Err(io::Error::other("this kernel has no tracefs"));
            }
        }
        let folder = Path::new(MOUNT).join("instances").join(name);
        fs::create_dir(&folder)?;
        let recorder = Self { folder };
        recorder.put("tracing_on", "0")?;
        recorder.put("buffer_size_kb", &kib.to_string())?;
        // What comes when there is no room is dropped, and counted.
        recorder.put("options/overwrite", "0")?;
        recorder.put("options/event-fork", "1")?;
        recorder.put("trace_clock", "global")?;
        let threads: Vec<_> = threads.iter().map(ToString::to_string).collect();
        recorder.put("set_event_pid", &threads.join(" "))?;
        for event in EVENTS {
            recorder.put(&format!("events/sched/{event}/enable"), "1")?;
        }
        recorder.put("tracing_on", "1")?;
        Ok(recorder)
    }

    /// Another event of these threads, such as `cgroup/cgroup_unfreeze`.
    ///
    /// # Errors
    /// A kernel without it.
    pub fn add(&self, event: &str) -> io::Result<()> {
        self.put(&format!("events/{event}/enable"), "1")
    }

    /// The lines since the last call, in order.
    ///
    /// # Errors
    /// Events were lost.
    ///
    /// # Panics
    /// Where tracefs cannot be read.
    pub fn take(&self) -> Result<String, Lost> {
        self.put("tracing_on", "0").expect("the trace stops");
        let text = fs::read(self.folder.join("trace")).expect("the trace");
        let lost = self.lost();
        self.put("trace", "").expect("the trace is emptied");
        self.put("tracing_on", "1").expect("the trace goes on");
        match lost {
            None => Ok(String::from_utf8_lossy(&text).into_owned()),
            Some(lost) => Err(lost),
        }
    }

    /// The first loss of any CPU.
    fn lost(&self) -> Option<Lost> {
        let cpus = fs::read_dir(self.folder.join("per_cpu")).expect("the CPUs of the trace");
        let stats = cpus.flatten().map(|cpu| cpu.path().join("stats"));
        let mut count = 0;
        let found = stats.filter_map(|file| {
            count += 1;
            let text = fs::read_to_string(&file).expect("a CPU's numbers");
            let losses = LOSSES.iter().filter_map(|name| {
                let value = text
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                let value: u64 = value
                    .and_then(|value| value.trim().parse().ok())
                    .expect("a number");
                (value > 0).then(|| format!("{}: {name} {value}", file.display()))
            });
            losses.map(Lost).next()
        });
        let found: Vec<_> = found.collect();
        assert!(count > 0, "a trace without CPUs");
        found.into_iter().next()
    }

    fn put(&self, file: &str, value: &str) -> io::Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, value)
            .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", path.display())))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.put("tracing_on", "0");
        // It may still be open somewhere.
        let _ = fs::remove_dir(&self.folder);
    }
}
