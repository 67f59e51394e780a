//! The discovering child: what it is given, how long it may take, and a text for
//! each way it can go wrong. Small shell scripts stand for the command.
//! Of this process's children only that one is waited for.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_host::discover_child::{ChildError, Discovery};
use nix::sys::signal::{SigSet, Signal};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(20);

/// Signals 32 and 33: glibc's own, which it ignores in every child it spawns.
const OF_THE_C_LIBRARY: u64 = 0x1_8000_0000;

/// A script may not be open for writing while it is started, and a process that
/// another test starts holds all descriptors for a moment.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Stage {
    dir: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    fn new() -> Self {
        let alone = ONE_AT_A_TIME.lock();
        Self {
            dir: tempfile::tempdir().unwrap(),
            _alone: alone.unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn output(&self) -> PathBuf {
        self.dir.path().join("machine.json")
    }

    fn script(&self, body: &str) -> PathBuf {
        self.script_for("/bin/sh", body)
    }

    fn script_for(&self, interpreter: &str, body: &str) -> PathBuf {
        let path = self.dir.path().join("berth");
        fs::write(&path, format!("#!{interpreter}\n{body}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn run(&self, body: &str, limit: Duration) -> Result<(), ChildError> {
        run(&self.script(body), &self.output(), limit)
    }
}

fn run(command: &Path, output: &Path, limit: Duration) -> Result<(), ChildError> {
    Discovery::start(command, output)?.finish(limit)
}

fn lines_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(String::from).collect()
}

#[test]
fn it_gets_the_arguments_and_a_clean_environment() {
    let stage = Stage::new();
    stage
        .run("{ echo \"$@\"; env | cut -d= -f1; cat; } > \"$3\"", LONG)
        .unwrap();
    let lines = lines_of(&stage.output());
    let arguments = format!("discover --output {}", stage.output().display());
    assert_eq!(lines[0], arguments);
    // The shell sets some itself; the last says that slurmd's open files are none of the child's.
    let own = [
        "PATH",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "BERTH_CLOSE_INHERITED",
    ];
    for name in &lines[1..] {
        let expected = own.contains(&name.as_str()) || name.starts_with("HWLOC_");
        assert!(expected, "{name} was passed on");
    }
}

#[test]
fn it_gets_default_signals_and_a_group_of_its_own() {
    let stage = Stage::new();
    // Shells unblock signals themselves, and gawk ignores SIGPIPE: what is blocked is asked of awk,
    // what is ignored of a shell's child.
    let awk = stage.script_for(
        "/usr/bin/awk -f",
        "BEGIN { while ((getline line < \"/proc/self/status\") > 0) print line > ARGV[3]\n\
         getline line < \"/proc/self/stat\"; print line > ARGV[3] }",
    );
    let lines = told_with_signals_blocked(&stage, &awk);
    assert_eq!(signals(&lines, "SigBlk:"), 0, "{lines:?}");
    // Fields of stat(5): pid, name, state, parent, process group.
    let stat: Vec<_> = lines.last().unwrap().split(' ').collect();
    assert_eq!(stat[0], stat[4], "{stat:?}");

    let shell = stage.script("cat /proc/self/status > \"$3\"");
    let lines = told_with_signals_blocked(&stage, &shell);
    let ours = fs::read_to_string("/proc/self/status").unwrap();
    let ours: Vec<_> = ours.lines().map(String::from).collect();
    assert_ne!(
        signals(&ours, "SigIgn:"),
        0,
        "Rust's programs ignore SIGPIPE"
    );
    assert_eq!(signals(&lines, "SigIgn:"), 0, "{lines:?}");
}

/// Runs a script from a thread that has signals blocked, as slurmd's have.
fn told_with_signals_blocked(stage: &Stage, script: &Path) -> Vec<String> {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTERM);
    blocked.add(Signal::SIGCHLD);
    blocked.thread_block().unwrap();
    let ran = run(script, &stage.output(), LONG);
    blocked.thread_unblock().unwrap();
    ran.unwrap();
    lines_of(&stage.output())
}

/// A mask of status(5), without the C library's own signals.
fn signals(status: &[String], mask: &str) -> u64 {
    let line = status.iter().find(|line| line.starts_with(mask)).unwrap();
    let bits = line.trim_start_matches(mask).trim();
    u64::from_str_radix(bits, 16).unwrap() & !OF_THE_C_LIBRARY
}

#[test]
fn one_that_takes_too_long_is_killed_with_all_it_started() {
    let stage = Stage::new();
    let began = Instant::now();
    let body = "echo first words >&2; sleep 60 & echo $! > \"$3\"; wait";
    let why = stage.run(body, Duration::from_secs(1)).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(matches!(why, ChildError::TimedOut { .. }), "{why}");
    let told = why.to_string();
    for part in ["more than 1 s", "first words", "command="] {
        assert!(told.contains(part), "{told}");
    }
    let sleeper = &lines_of(&stage.output())[0];
    assert!(is_gone(sleeper), "process {sleeper} still runs");
}

#[test]
fn one_that_is_not_waited_for_goes_on() {
    let stage = Stage::new();
    let script = stage.script("sleep 1; echo done > \"$3\"");
    let mut discovery = Discovery::start(&script, &stage.output()).unwrap();
    assert!(discovery.wait(Duration::from_millis(100)).is_none());
    assert!(!stage.output().exists());
    discovery.finish(LONG).unwrap();
    assert_eq!(lines_of(&stage.output()), ["done"]);
}

/// Killed processes of a dead parent disappear when init gets to them.
fn is_gone(pid: &str) -> bool {
    let state = format!("/proc/{pid}/stat");
    let runs = || fs::read_to_string(&state).is_ok_and(|text| !text.contains(") Z "));
    for _ in 0..100 {
        if !runs() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_hold_us() {
    let stage = Stage::new();
    let began = Instant::now();
    stage.run("sleep 5 & echo done > \"$3\"", LONG).unwrap();
    assert!(began.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_failure_tells_status_and_first_line() {
    let stage = Stage::new();
    let body = "echo >&2; printf 'bad \\033[1mXML\\nsecond\\n' >&2; exit 3";
    let told = stage.run(body, LONG).unwrap_err().to_string();
    assert!(
        told.contains("exited with status 3: \"bad  [1mXML\""),
        "{told}"
    );
    assert!(!told.contains("second"), "{told}");
    let told = stage.run("kill -SEGV $$", LONG).unwrap_err().to_string();
    assert!(told.contains("was killed by SIGSEGV"), "{told}");
}

#[test]
fn one_that_talks_without_end_neither_blocks_nor_fills_memory() {
    let stage = Stage::new();
    let body = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo > \"$3\"";
    stage.run(body, LONG).unwrap();
    let why = stage
        .run("yes >&2", Duration::from_millis(300))
        .unwrap_err();
    assert!(why.to_string().len() < 1000, "{why}");
}

#[test]
fn success_without_a_new_file_is_none() {
    let stage = Stage::new();
    let why = stage.run("exit 0", LONG).unwrap_err();
    assert!(matches!(why, ChildError::NoFile { .. }), "{why}");
    fs::write(stage.output(), "old").unwrap();
    let why = stage.run("exit 0", LONG).unwrap_err();
    assert!(why.to_string().contains("wrote no"), "{why}");
    let put = "echo new > \"$3.new\"; mv \"$3.new\" \"$3\"";
    stage.run(put, LONG).unwrap();
}

#[test]
fn only_its_own_child_is_waited_for() {
    let stage = Stage::new();
    let mut other = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
    stage.run("sleep 0.2; echo > \"$3\"", LONG).unwrap();
    assert_eq!(other.wait().unwrap().code(), Some(7));
}

#[test]
fn commands_that_cannot_or_must_not_run_are_told_apart() {
    let stage = Stage::new();
    let missing = run(Path::new("/no/berth"), &stage.output(), LONG);
    let told = missing.unwrap_err().to_string();
    assert!(
        told.contains("is not there") && told.contains("command="),
        "{told}"
    );

    let script = stage.script("echo > \"$3\"");
    fs::set_permissions(&script, Permissions::from_mode(0o644)).unwrap();
    let why = run(&script, &stage.output(), LONG).unwrap_err();
    assert!(matches!(why, ChildError::Start { .. }), "{why}");

    fs::set_permissions(&script, Permissions::from_mode(0o777)).unwrap();
    let why = run(&script, &stage.output(), LONG).unwrap_err();
    assert!(why.to_string().contains("must not be run"), "{why}");
    assert!(!stage.output().exists(), "it was run");
}

#[test]
fn nobody_else_can_exchange_the_command() {
    let stage = Stage::new();
    let folder = stage.dir.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let command = folder.join("berth");
    fs::copy(stage.script("echo > \"$3\""), &command).unwrap();
    let tried = || run(&command, &stage.output(), LONG);
    tried().unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let told = tried().unwrap_err();
    assert!(matches!(told, ChildError::Untrusted(_)), "{told}");
    let folder = folder.display().to_string();
    assert!(told.to_string().contains(&folder), "{told}");
}
