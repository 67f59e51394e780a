//! Counts of a node since it booted, in a text file that monitoring reads: the format of
//! Prometheus, as node_exporter's textfile collector takes it. Written when a step has ended and
//! when one was refused, never while one is launched.
//! In: what happened. Out: `berth.prom` in the node's state directory.

use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};

use crate::atomic_file;
use crate::state::StateDir;

/// Its name in the state directory.
pub const NAME: &str = "berth.prom";
const MODE: u32 = 0o644;
const PAUSE: Duration = Duration::from_millis(1);

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Steps and batch scripts that ran here with berth.
    pub launches: u64,
    /// Tasks that were bound.
    pub bound: u64,
    /// Tasks that were left unbound, as asked or because it failed.
    pub unbound: u64,
    /// Steps and scripts that were refused.
    pub refused: u64,
    /// Tasks for which the kernel had something else than was planned.
    pub differences: u64,
}

/// Names and meanings, in the order of the file.
const KINDS: [(&str, &str); 5] = [
    (
        "berth_launches_total",
        "Steps and batch scripts that ran with berth.",
    ),
    ("berth_tasks_bound_total", "Tasks that were bound."),
    ("berth_tasks_unbound_total", "Tasks that were left unbound."),
    (
        "berth_refused_total",
        "Steps and batch scripts that were refused.",
    ),
    (
        "berth_readback_differences_total",
        "Tasks for which the kernel had something else than was planned.",
    ),
];

impl Counters {
    fn values(&self) -> [u64; 5] {
        [
            self.launches,
            self.bound,
            self.unbound,
            self.refused,
            self.differences,
        ]
    }

    fn plus(&self, more: &Self) -> Self {
        let sum = |one: u64, other: u64| one.saturating_add(other);
        Self {
            launches: sum(self.launches, more.launches),
            bound: sum(self.bound, more.bound),
            unbound: sum(self.unbound, more.unbound),
            refused: sum(self.refused, more.refused),
            differences: sum(self.differences, more.differences),
        }
    }

    /// Reads the file's text; what it does not have is 0.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let line = text
                .lines()
                .find(|line| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']));
            let last = line.and_then(|line| line.rsplit(' ').next());
            last.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        let [launches, bound, unbound, refused, differences] = KINDS.map(|(name, _)| value(name));
        Self {
            launches,
            bound,
            unbound,
            refused,
            differences,
        }
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self, node: &str) -> String {
        let mut text = String::new();
        for ((name, help), value) in KINDS.iter().zip(self.values()) {
            // A String takes everything.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            let _ = writeln!(text, "{name}{{node=\"{node}\"}} {value}");
        }
        text
    }
}

/// Adds to the counts of a node, waiting no longer than `patience` for others who count.
///
/// # Errors
/// A directory that cannot be locked in time or written; the event is then not counted.
pub fn add(dir: &StateDir, node: &str, more: &Counters, patience: Duration) -> io::Result<()> {
    let _turn = lock(dir, patience)?;
    let path = dir.path().join(NAME);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let text = Counters::parse(&before).plus(more).text(node);
    atomic_file::replace(&path, text.as_bytes(), MODE).map_err(|failed| failed.why)
}

/// The directory itself is the lock: there is no further file to be left behind.
fn lock(dir: &StateDir, patience: Duration) -> io::Result<Flock<File>> {
    let until = Instant::now() + patience;
    let mut file = File::open(dir.path())?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((_, why)) if Instant::now() >= until => return Err(why.into()),
            Err((again, _)) => file = again,
        }
        sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_count_at_once() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        fs::create_dir(dir.path()).unwrap();
        let one = Counters {
            launches: 1,
            bound: 3,
            ..Counters::default()
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..10).for_each(|_| add(&dir, "n1", &one, Duration::from_secs(9)).unwrap())
                });
            }
        });
        let text = fs::read_to_string(dir.path().join(NAME)).unwrap();
        let all = Counters::parse(&text);
        assert_eq!((all.launches, all.bound, all.refused), (40, 120, 0));
        assert!(
            text.contains("berth_tasks_bound_total{node=\"n1\"} 120\n"),
            "{text}"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn any_text_is_read() {
        for text in [
            "",
            "berth_launches_total",
            "berth_launches_total{node=\"a b\"} x",
            "\n\n{",
        ] {
            assert_eq!(Counters::parse(text), Counters::default(), "{text}");
        }
        let some = Counters {
            launches: u64::MAX,
            differences: 2,
            ..Counters::default()
        };
        assert_eq!(Counters::parse(&some.text("n 1")), some);
        assert_eq!(some.plus(&some).launches, u64::MAX);
    }
}
