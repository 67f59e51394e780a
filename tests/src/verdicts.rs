//! How the scenes of a program for the machines of `ci/vm` ended: one line for each, and the totals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The totals.
#[derive(Debug, Default)]
pub struct Verdicts {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl Verdicts {
    /// Plays a scene, which fails by a panic and may return why it proves nothing here. Returns whether it did not fail.
    pub fn judge(&mut self, name: &str, play: impl FnOnce() -> Option<String>) -> bool {
        let (count, line) = match catch_unwind(AssertUnwindSafe(play)) {
            Ok(None) => (&mut self.passed, format!("pass {name}")),
            Ok(Some(why)) => (&mut self.skipped, format!("skip {name}: {why}")),
            Err(_) => (&mut self.failed, format!("FAIL {name}")),
        };
        *count += 1;
        println!("{line}");
        !line.starts_with("FAIL")
    }

    /// Prints the totals. A program none of whose scenes passed has proved nothing.
    #[must_use]
    pub fn end(&self, scenes: &str) -> ExitCode {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        println!("{passed} {scenes} passed, {failed} failed, {skipped} skipped");
        match (passed, failed) {
            (1.., 0) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_counted_and_nothing_played_is_none() {
        let mut all = Verdicts::default();
        let is = |all: &Verdicts, code| format!("{:?}", all.end("scenes")) == format!("{code:?}");
        assert!(is(&all, ExitCode::FAILURE));
        assert!(all.judge("skips", || Some("not here".into())));
        assert!(is(&all, ExitCode::FAILURE));
        assert!(all.judge("passes", || None));
        assert!(is(&all, ExitCode::SUCCESS));
        assert!(!all.judge("fails", || std::panic::resume_unwind(Box::new(()))));
        assert!(is(&all, ExitCode::FAILURE));
        assert_eq!((all.passed, all.failed, all.skipped), (1, 1, 1));
    }
}
