//! What a daemon says before it has opened its log, and what the kernel says of those that died. slurmd gives a
//! slurmstepd no standard error, so its first errors go to syslog alone, which nobody else serves in these machines.

use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// The socket of syslog (3).
const SYSLOG: &str = "/dev/log";
/// More than the kernel has to say of one scene.
const LINES: usize = 40;
/// Words of the kernel's lines about processes that it ended.
const ENDS: [&str; 4] = ["segfault", "traps:", "Out of memory", "oom-kill"];

/// The lines that came to syslog.
pub struct Syslog(Receiver<String>);

impl Syslog {
    /// Serves it, unless somebody else does. Each line is taken at once: who sends one waits for that.
    pub fn serve() -> Self {
        let (sender, lines) = channel();
        if let Ok(socket) = UnixDatagram::bind(SYSLOG) {
            thread::spawn(move || {
                let mut line = [0; 1024];
                while let Ok(length) = socket.recv(&mut line) {
                    let text = String::from_utf8_lossy(line.get(..length).unwrap_or_default());
                    let _ = sender.send(text.into_owned());
                }
            });
        }
        Self(lines)
    }

    /// Forgets what came in a scene that passed, and prints it for one that failed.
    pub fn end_scene(&self, failed: bool) {
        let lines: Vec<String> = self.0.try_iter().collect();
        if failed {
            println!("--- syslog\n{}", lines.join("\n"));
            println!("--- the kernel\n{}", ended());
        }
    }
}

/// The kernel's last lines about processes that it ended.
fn ended() -> String {
    let printed = Command::new("dmesg").output();
    let text = printed.map_or_else(
        |why| format!("dmesg: {why}"),
        |done| String::from_utf8_lossy(&done.stdout).into_owned(),
    );
    let lines = text.lines().rev();
    let ends = lines.filter(|line| ENDS.iter().any(|word| line.contains(word)));
    let mut last: Vec<&str> = ends.take(LINES).collect();
    last.reverse();
    last.join("\n")
}
